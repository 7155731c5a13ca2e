//! The formats of uploads: their names, their media types, and how a file without either is recognised.

/// A format that a table can be uploaded in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UploadFormat {
    /// Cells with commas between, or with another delimiter.
    Csv,
    /// Cells with tabs between.
    Tsv,
    /// One JSON object per line.
    Ndjson,
    /// A JSON list of objects, or a JSON object of lists.
    Json,
    /// An Apache Arrow IPC stream.
    ArrowStream,
    /// An Apache Arrow IPC file, also called Feather version 2.
    ArrowFile,
    /// Apache Parquet.
    Parquet,
    /// A label and `index:value` pairs on each line.
    Libsvm,
}

/// A compression that a file may have, recognised by its first bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FileCompression {
    Gzip,
    Zstd,
}

impl FileCompression {
    pub(crate) fn of(first_bytes: &[u8]) -> Option<Self> {
        match first_bytes {
            [0x1f, 0x8b, ..] => Some(Self::Gzip),
            [0x28, 0xb5, 0x2f, 0xfd, ..] => Some(Self::Zstd),
            _ => None,
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Gzip => "gzip",
            Self::Zstd => "zstd",
        }
    }
}

impl UploadFormat {
    /// Every format, in the order that error messages list them.
    pub const ALL: [Self; 8] = [
        Self::Csv,
        Self::Tsv,
        Self::Ndjson,
        Self::Json,
        Self::ArrowStream,
        Self::ArrowFile,
        Self::Parquet,
        Self::Libsvm,
    ];

    /// The media type that stands for it.
    pub fn media_type(self) -> &'static str {
        match self {
            Self::Csv => "text/csv",
            Self::Tsv => "text/tab-separated-values",
            Self::Ndjson => "application/x-ndjson",
            Self::Json => "application/json",
            Self::ArrowStream => "application/vnd.apache.arrow.stream",
            Self::ArrowFile => "application/vnd.apache.arrow.file",
            Self::Parquet => "application/vnd.apache.parquet",
            Self::Libsvm => "text/x-libsvm",
        }
    }

    /// The format of a media type without parameters, in lower case.
    pub fn of_media_type(media_type: &str) -> Option<Self> {
        match media_type {
            "application/jsonl" | "application/ndjson" => Some(Self::Ndjson),
            "application/parquet" | "application/x-parquet" => Some(Self::Parquet),
            "text/tsv" => Some(Self::Tsv),
            other => Self::ALL.into_iter().find(|format| format.media_type() == other),
        }
    }

    /// The format of a file by its extension, such as `.csv` or `.csv.gz`.
    pub fn of_file_name(name: &str) -> Option<Self> {
        let name = name.to_ascii_lowercase();
        let name = name.strip_suffix(".gz").or_else(|| name.strip_suffix(".zst")).unwrap_or(&name);
        match name.rsplit_once('.')?.1 {
            "csv" => Some(Self::Csv),
            "tsv" | "tab" => Some(Self::Tsv),
            "ndjson" | "jsonl" => Some(Self::Ndjson),
            "json" => Some(Self::Json),
            "arrows" => Some(Self::ArrowStream),
            "arrow" | "feather" | "ipc" => Some(Self::ArrowFile),
            "parquet" | "pq" => Some(Self::Parquet),
            "libsvm" | "svm" | "svmlight" => Some(Self::Libsvm),
            _ => None,
        }
    }

    /// The format of a file by its first bytes, if they can only be of that one.
    pub(crate) fn of_magic(first_bytes: &[u8]) -> Option<Self> {
        match first_bytes {
            [b'P', b'A', b'R', b'1', ..] => Some(Self::Parquet),
            [b'A', b'R', b'R', b'O', b'W', b'1', ..] => Some(Self::ArrowFile),
            [0xff, 0xff, 0xff, 0xff, ..] => Some(Self::ArrowStream),
            _ => None,
        }
    }

    /// The most likely format of text by its beginning.
    pub(crate) fn of_text(beginning: &[u8]) -> Self {
        let text = beginning.strip_prefix(super::csv::BYTE_ORDER_MARK).unwrap_or(beginning).trim_ascii_start();
        match text.first() {
            Some(b'[') => Self::Json,
            Some(b'{') if first_member_is_list(text) => Self::Json,
            Some(b'{') => Self::Ndjson,
            _ => {
                let first_line = text.split(|byte| matches!(byte, b'\n' | b'\r')).next().unwrap_or_default();
                if is_libsvm_line(first_line) {
                    Self::Libsvm
                } else if first_line.contains(&b'\t') && !first_line.contains(&b',') {
                    Self::Tsv
                } else {
                    Self::Csv
                }
            }
        }
    }

    /// Whether it is text with a delimiter between cells.
    pub(crate) fn is_delimited(self) -> bool {
        matches!(self, Self::Csv | Self::Tsv)
    }

    /// Whether errors of this format count rows; the others count lines.
    pub(crate) fn counts_rows(self) -> bool {
        match self {
            Self::Csv | Self::Tsv | Self::Ndjson | Self::Libsvm => false,
            Self::Json | Self::ArrowStream | Self::ArrowFile | Self::Parquet => true,
        }
    }

    /// What a file of this format is called.
    pub fn title(self) -> &'static str {
        match self {
            Self::Csv => "CSV",
            Self::Tsv => "tab-separated values",
            Self::Ndjson => "JSON lines",
            Self::Json => "JSON",
            Self::ArrowStream => "an Arrow stream",
            Self::ArrowFile => "an Arrow file",
            Self::Parquet => "a Parquet file",
            Self::Libsvm => "LIBSVM",
        }
    }
}

/// Whether a JSON object begins with a member that is a list, as a table of columns does.
fn first_member_is_list(text: &[u8]) -> bool {
    let Some(name_start) = text.iter().position(|byte| *byte == b'"') else { return false };
    let mut escaped = false;
    for (index, byte) in text.iter().enumerate().skip(name_start + 1) {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => {
                let rest = text[index + 1..].trim_ascii_start();
                return rest.strip_prefix(b":").is_some_and(|value| value.trim_ascii_start().starts_with(b"["));
            }
            _ => {}
        }
    }
    false
}

/// Whether a line is a number followed by pairs of a whole number and a number.
fn is_libsvm_line(line: &[u8]) -> bool {
    let Ok(line) = std::str::from_utf8(line) else { return false };
    let mut words = line.split('#').next().unwrap_or_default().split_ascii_whitespace();
    let label = words.next().is_some_and(|word| word.parse::<f64>().is_ok());
    let pair = |word: &str| {
        word.split_once(':').is_some_and(|(index, value)| index.parse::<u32>().is_ok() && value.parse::<f64>().is_ok())
    };
    label && words.next().is_some_and(pair) && words.take(8).all(pair)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_media_types_and_first_bytes_lead_to_a_format() {
        for format in UploadFormat::ALL {
            assert_eq!(UploadFormat::of_media_type(format.media_type()), Some(format));
        }
        for (name, format) in [
            ("a.CSV", Some(UploadFormat::Csv)),
            ("a.b.tsv.gz", Some(UploadFormat::Tsv)),
            ("x.jsonl.zst", Some(UploadFormat::Ndjson)),
            ("x.parquet", Some(UploadFormat::Parquet)),
            ("x.feather", Some(UploadFormat::ArrowFile)),
            ("x", None),
            ("x.docx", None),
        ] {
            assert_eq!(UploadFormat::of_file_name(name), format, "{name}");
        }
        assert_eq!(UploadFormat::of_magic(b"PAR1\x15"), Some(UploadFormat::Parquet));
        assert_eq!(UploadFormat::of_magic(b"ARROW1\0\0"), Some(UploadFormat::ArrowFile));
        assert_eq!(UploadFormat::of_magic(b"a,b\n"), None);
    }

    #[test]
    fn text_is_told_apart_by_its_beginning() {
        for (text, format) in [
            ("a,b\n1,2\n", UploadFormat::Csv),
            ("a\tb\n1\t2\n", UploadFormat::Tsv),
            ("a\tb,c\n", UploadFormat::Csv),
            ("\u{feff} [{\"a\":1}]", UploadFormat::Json),
            ("{\"a\\\"\": [1,2]}", UploadFormat::Json),
            ("{\"a\": 1}\n{\"a\": 2}", UploadFormat::Ndjson),
            ("+1 1:0.5 3:2 # x\n", UploadFormat::Libsvm),
            ("1 2\n3 4\n", UploadFormat::Csv),
            ("", UploadFormat::Csv),
        ] {
            assert_eq!(UploadFormat::of_text(text.as_bytes()), format, "{text}");
        }
    }
}
