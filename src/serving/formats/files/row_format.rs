//! The format of the rows of a request: one that is read as it arrives, or one of files.

use crate::dataset::{ColumnarFormat, UploadFormat};
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

impl RowFormat {
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
            _ => Ok(()),
        }
    }
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
    }
}
