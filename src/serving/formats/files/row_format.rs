//! The format of the rows of a request: one that is read as it arrives, or one of files.

use crate::dataset::{ColumnarFormat, FileCompression, UploadFormat};
use crate::serving::Refusal;
use crate::serving::formats::Format;

/// A format of rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowFormat {
    /// Read as it arrives; answers have these formats too.
    Streamed(Format),
    /// Read by a child process when it has arrived: Parquet, or an Arrow file.
    File(ColumnarFormat),
}

/// A format, and what stands between cells if it is CSV.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Guess {
    /// Of the rows.
    pub format: RowFormat,
    /// A comma unless the rows say otherwise.
    pub delimiter: u8,
}

impl Guess {
    /// A format that is known.
    pub fn of(format: RowFormat) -> Self {
        Self { format, delimiter: b',' }
    }
}

impl RowFormat {
    /// The most likely format of a body that begins like this. An object is a request in JSON, unless another object
    /// follows it on a line of its own.
    pub fn guess(beginning: &[u8]) -> Result<Guess, Refusal> {
        if let Some(compression) = FileCompression::of(beginning) {
            let name = compression.name();
            return Err(Refusal::invalid("", format!("the body is compressed: send it with content-encoding {name}")));
        }
        let format = UploadFormat::of_magic(beginning).unwrap_or_else(|| UploadFormat::of_text(beginning));
        let streamed = |format| Ok(Guess::of(Self::Streamed(format)));
        match format {
            UploadFormat::Parquet => Ok(Guess::of(Self::File(ColumnarFormat::Parquet))),
            UploadFormat::ArrowFile => Ok(Guess::of(Self::File(ColumnarFormat::ArrowFile))),
            UploadFormat::ArrowStream => streamed(Format::Arrow),
            UploadFormat::Ndjson if has_two_objects(beginning) => streamed(Format::Ndjson),
            UploadFormat::Ndjson | UploadFormat::Json => streamed(Format::Json),
            // An empty body is left to the JSON decoder, which refuses it.
            UploadFormat::Csv if beginning.trim_ascii().is_empty() => streamed(Format::Json),
            UploadFormat::Csv => streamed(Format::Csv),
            UploadFormat::Tsv => Ok(Guess { format: Self::Streamed(Format::Csv), delimiter: b'\t' }),
            UploadFormat::Libsvm => {
                let detail =
                    format!("this looks like LIBSVM, which is for uploads alone: send {}", Self::media_types());
                Err(Refusal::invalid("", detail))
            }
        }
    }

    /// The format of a media type.
    pub fn named(media_type: &str) -> Option<Self> {
        let of_file = || match UploadFormat::of_media_type(&media_type.to_ascii_lowercase()) {
            Some(UploadFormat::Parquet) => Some(Self::File(ColumnarFormat::Parquet)),
            Some(UploadFormat::ArrowFile) => Some(Self::File(ColumnarFormat::ArrowFile)),
            _ => None,
        };
        Format::named(media_type).map(Self::Streamed).or_else(of_file)
    }

    /// The media types of all formats, for errors.
    pub fn media_types() -> String {
        let files = [UploadFormat::Parquet, UploadFormat::ArrowFile].map(UploadFormat::media_type);
        Format::ALL.map(Format::media_type).into_iter().chain(files).collect::<Vec<_>>().join(", ")
    }

    /// The format of the answer unless the request asks for another: columns are answered with columns.
    pub fn answer(self) -> Format {
        match self {
            Self::Streamed(format) => format,
            Self::File(_) => Format::Arrow,
        }
    }

    /// Refuses a body whose first bytes belong to another format, with the type to send.
    pub fn check_beginning(self, first_bytes: &[u8]) -> Result<(), Refusal> {
        let own = match self {
            Self::File(ColumnarFormat::Parquet) => Some(UploadFormat::Parquet),
            Self::File(ColumnarFormat::ArrowFile) => Some(UploadFormat::ArrowFile),
            Self::Streamed(Format::Arrow) | Self::File(ColumnarFormat::ArrowStream) => Some(UploadFormat::ArrowStream),
            Self::Streamed(Format::Json | Format::Ndjson | Format::Csv) => None,
        };
        match (UploadFormat::of_magic(first_bytes), own) {
            (Some(found), own) if Some(found) != own => {
                let detail = format!("this is {}: send it as {}", found.title(), found.media_type());
                Err(Refusal::invalid("", detail))
            }
            (None, Some(own @ (UploadFormat::Parquet | UploadFormat::ArrowFile))) => {
                let detail = format!("this is not {}: its first bytes are different", own.title());
                Err(Refusal::invalid("", detail))
            }
            (None, _) if self == Self::Streamed(Format::Csv) && begins_json(first_bytes) => {
                Err(Refusal::invalid("", "this looks like JSON: send it as application/json"))
            }
            _ => Ok(()),
        }
    }
}

/// Whether a text begins like an object or a list of rows, and hardly like a header.
fn begins_json(text: &[u8]) -> bool {
    let text: Vec<u8> = text.iter().copied().filter(|byte| !byte.is_ascii_whitespace()).take(2).collect();
    [&b"{\""[..], b"[{", b"[["].contains(&text.as_slice())
}

/// Whether an object ends and another begins on a later line, with nothing in between: one JSON text cannot have that.
fn has_two_objects(text: &[u8]) -> bool {
    let after_end = |end: usize| {
        let rest = &text[end + 1..];
        let blank = rest.len() - rest.trim_ascii_start().len();
        rest[..blank].contains(&b'\n') && rest.get(blank) == Some(&b'{')
    };
    let ends = text.iter().enumerate().filter(|(_, byte)| **byte == b'}');
    ends.map(|(end, _)| end).any(after_end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_bytes_tell_formats_apart() {
        let words = |format: RowFormat, bytes: &[u8]| match format.check_beginning(bytes) {
            Err(Refusal::Invalid(problems)) => problems[0].detail.clone(),
            Err(other) => panic!("{other:?}"),
            Ok(()) => String::new(),
        };
        let parquet = RowFormat::named("application/VND.apache.parquet").unwrap();
        let json = RowFormat::Streamed(Format::Json);
        assert_eq!((words(parquet, b"PAR1...."), words(json, b"{\"rows\":")), (String::new(), String::new()));
        assert_eq!(words(json, b"PAR1"), "this is a Parquet file: send it as application/vnd.apache.parquet");
        let file = "this is an Arrow file: send it as application/vnd.apache.arrow.file";
        assert_eq!(words(RowFormat::Streamed(Format::Arrow), b"ARROW1\0\0"), file);
        assert_eq!(words(parquet, b"a,b\n"), "this is not a Parquet file: its first bytes are different");
        assert_eq!(RowFormat::named("text/html"), None);
        assert_eq!(
            words(RowFormat::Streamed(Format::Csv), b" {\"rows\""),
            "this looks like JSON: send it as application/json"
        );
    }

    #[test]
    fn a_body_without_a_type_is_recognised() {
        let streamed = |format| Some(Guess::of(RowFormat::Streamed(format)));
        for (body, guess) in [
            (&b"PAR1\x15"[..], Some(Guess::of(RowFormat::File(ColumnarFormat::Parquet)))),
            (b"\xff\xff\xff\xff\x10", streamed(Format::Arrow)),
            (b"{\"strict\": true, \"rows\": [[1]]}", streamed(Format::Json)),
            (b"{\"records\": [\n{\"a\": 1},\n{\"a\": 2}\n]}", streamed(Format::Json)),
            (b"[[1, 2]]", streamed(Format::Json)),
            (b"", streamed(Format::Json)),
            (b"{\"a\": {\"b\": 1}}\r\n{\"a\"", streamed(Format::Ndjson)),
            (b"area,rooms\n1,2\n", streamed(Format::Csv)),
            (b"area\trooms\n1\t2\n", Some(Guess { delimiter: b'\t', ..Guess::of(RowFormat::Streamed(Format::Csv)) })),
            (b"1 1:0.5 3:2\n", None),
            (b"\x1f\x8b\x08", None),
        ] {
            assert_eq!(RowFormat::guess(body).ok(), guess, "{}", String::from_utf8_lossy(body));
        }
    }
}
