//! CSV records with their line numbers.

use super::DatasetError;
use csv::{ByteRecord, Reader, ReaderBuilder, Trim};
use std::fs::File;
use std::path::Path;

/// How a CSV body is to be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CsvOptions {
    /// Between cells.
    pub delimiter: u8,
    /// Whether the first line names the columns; `None` expects names and refuses numbers.
    pub header: Option<bool>,
}

/// A delimiter as given by a user: one ASCII character or its name.
pub fn parse_delimiter(text: &str) -> Result<u8, DatasetError> {
    match text {
        "tab" | "\\t" => Ok(b'\t'),
        "comma" => Ok(b','),
        "semicolon" => Ok(b';'),
        "pipe" => Ok(b'|'),
        "space" => Ok(b' '),
        _ => match text.as_bytes() {
            [byte] if byte.is_ascii() && !byte.is_ascii_alphanumeric() && !matches!(byte, b'"' | b'\n' | b'\r') => {
                Ok(*byte)
            }
            _ => Err(DatasetError::Option {
                option: "delimiter",
                detail: format!(
                    "'{text}' is not one ASCII punctuation character, nor comma, semicolon, tab, pipe or space"
                ),
            }),
        },
    }
}

/// A CSV file opened at its first row, with the names of its columns.
pub(super) struct CsvTable {
    reader: Reader<File>,
    record: ByteRecord,
    /// The first record when it is data, not names.
    pending: bool,
    pub(super) names: Vec<String>,
}

impl CsvTable {
    /// Reads the names, or makes them up where there is no header.
    pub(super) fn open(path: &Path, options: CsvOptions, column_limit: usize) -> Result<Self, DatasetError> {
        let reader = ReaderBuilder::new()
            .delimiter(options.delimiter)
            .has_headers(false)
            .flexible(true) // ragged lines are refused here, with a better message
            .trim(Trim::All)
            .from_reader(File::open(path)?);
        let mut table = Self { reader, record: ByteRecord::new(), pending: false, names: Vec::new() };
        if !table.read_record()? {
            return Err(DatasetError::Empty);
        }
        let count = table.record.len();
        if count > column_limit {
            return Err(DatasetError::table(format!("the table has {count} columns; the limit is {column_limit}")));
        }
        if options.header == Some(false) {
            table.names = (1..=count).map(|number| format!("column_{number}")).collect();
            table.pending = true;
        } else {
            table.names = table.header_names(options.header.is_none())?;
        }
        table.refuse_single_column(options.delimiter)?;
        Ok(table)
    }

    /// Moves to the next row; false at the end.
    pub(super) fn advance(&mut self) -> Result<bool, DatasetError> {
        if std::mem::take(&mut self.pending) {
            return Ok(true);
        }
        if !self.read_record()? {
            return Ok(false);
        }
        if self.record.len() != self.names.len() {
            let detail = format!("{} cells where the first line has {}", self.record.len(), self.names.len());
            return Err(DatasetError::at(self.line(), None, detail));
        }
        Ok(true)
    }

    /// Line of the current row.
    pub(super) fn line(&self) -> u64 {
        self.record.position().map_or(0, csv::Position::line)
    }

    /// The text of one cell of the current row.
    pub(super) fn cell(&self, column: usize) -> Result<&str, DatasetError> {
        let bytes = self.record.get(column).unwrap_or_default();
        std::str::from_utf8(bytes)
            .map_err(|_| DatasetError::at(self.line(), self.names.get(column).map(String::as_str), "not valid UTF-8"))
    }

    fn read_record(&mut self) -> Result<bool, DatasetError> {
        self.reader.read_byte_record(&mut self.record).map_err(|error| match error.into_kind() {
            csv::ErrorKind::Io(error) => DatasetError::Storage(error),
            other => DatasetError::table(format!("not readable as CSV: {other:?}")),
        })
    }

    fn header_names(&self, refuse_numbers: bool) -> Result<Vec<String>, DatasetError> {
        let mut names: Vec<String> = Vec::new();
        for column in 0..self.record.len() {
            let name = self.cell(column)?;
            if name.is_empty() {
                let detail = format!("column {} has no name (a data frame's index? write it without one)", column + 1);
                return Err(DatasetError::at(self.line(), None, detail));
            }
            if names.iter().any(|earlier| earlier == name) {
                return Err(DatasetError::at(self.line(), Some(name), "two columns have this name"));
            }
            names.push(name.to_owned());
        }
        if refuse_numbers && names.iter().all(|name| name.parse::<f64>().is_ok()) {
            let detail =
                "the first line holds only numbers; say header=false if it is data, header=true if these are names";
            return Err(DatasetError::at(self.line(), None, detail));
        }
        Ok(names)
    }

    /// One column is no table; often the delimiter is another one.
    fn refuse_single_column(&self, delimiter: u8) -> Result<(), DatasetError> {
        let [only] = self.names.as_slice() else { return Ok(()) };
        let first_line = self.record.get(0).and_then(|bytes| std::str::from_utf8(bytes).ok()).unwrap_or(only);
        let other = [',', ';', '\t', '|'].into_iter().find(|&c| c as u8 != delimiter && first_line.contains(c));
        Err(DatasetError::table(match other {
            Some(other) => {
                format!("only one column was found, but its name contains '{}'; set delimiter", other.escape_default())
            }
            None => "only one column was found; a data set needs at least one input and a target".to_owned(),
        }))
    }
}
