//! The rows of an upload as text cells, whatever its format.

use super::columnar::{ColumnarFormat, ColumnarTable};
use super::csv::{CsvOptions, CsvTable};
use super::json::columns::JsonColumns;
use super::json::objects::{Arrangement, JsonRecords};
use super::libsvm::LibsvmTable;
use super::upload_format::UploadFormat;
use crate::dataset::{DatasetError, PlaceUnit, UploadLimits};
use std::collections::HashSet;
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// How an uploaded file is to be read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FileReading<'a> {
    pub(crate) format: UploadFormat,
    /// For delimited text.
    pub(crate) csv: CsvOptions,
    pub(crate) limits: UploadLimits,
    /// This program, which reads Parquet and Arrow in a child process.
    pub(crate) program: Option<&'a Path>,
}

/// A table, read row by row.
pub(crate) struct Records {
    source: Source,
    row: u64,
    cell_limit: u64,
    unit: PlaceUnit,
    /// Names of the columns.
    pub(crate) names: Vec<String>,
}

enum Source {
    Delimited(Box<CsvTable<File>>),
    JsonRecords(Box<JsonRecords>),
    JsonColumns(JsonColumns),
    Libsvm(LibsvmTable),
    Columnar(Box<ColumnarTable>),
}

impl Records {
    /// Opens a file and finds its columns.
    pub(crate) fn open(path: &Path, reading: FileReading) -> Result<Self, DatasetError> {
        let file = File::open(path)?;
        let columns = reading.limits.columns;
        let columnar = |format| ColumnarTable::open(File::open(path)?, format, reading.program, columns);
        let source = match reading.format {
            UploadFormat::Csv | UploadFormat::Tsv => {
                Source::Delimited(Box::new(CsvTable::new(file, reading.csv, columns)?))
            }
            UploadFormat::Ndjson => {
                Source::JsonRecords(Box::new(JsonRecords::open(file, Arrangement::Lines, columns)?))
            }
            UploadFormat::Json if begins_with_list(path)? => {
                Source::JsonRecords(Box::new(JsonRecords::open(file, Arrangement::List, columns)?))
            }
            UploadFormat::Json => Source::JsonColumns(JsonColumns::open(file, columns)?),
            UploadFormat::Libsvm => Source::Libsvm(LibsvmTable::open(file, columns)?),
            UploadFormat::Parquet => Source::Columnar(Box::new(columnar(ColumnarFormat::Parquet)?)),
            UploadFormat::ArrowFile => Source::Columnar(Box::new(columnar(ColumnarFormat::ArrowFile)?)),
            UploadFormat::ArrowStream => Source::Columnar(Box::new(columnar(ColumnarFormat::ArrowStream)?)),
        };
        let names = source.names();
        if !matches!(source, Source::Delimited(_)) {
            check_names(&names)?;
        }
        let unit = if reading.format.counts_rows() { PlaceUnit::Row } else { PlaceUnit::Line };
        Ok(Self { source, row: 0, unit, cell_limit: reading.limits.cells as u64, names })
    }

    /// Moves to the next row; false at the end.
    pub(crate) fn advance(&mut self) -> Result<bool, DatasetError> {
        let more = match &mut self.source {
            Source::Delimited(table) => return table.advance(),
            Source::JsonRecords(table) => table.advance()?,
            Source::JsonColumns(table) => table.advance()?,
            Source::Libsvm(table) => table.advance()?,
            Source::Columnar(table) => table.advance()?,
        };
        self.row += u64::from(more);
        // A few bytes of these formats may stand for very many cells.
        let columns = self.names.len() as u64;
        if self.row.saturating_mul(columns) > self.cell_limit {
            let (rows, limit) = (self.row, self.cell_limit);
            let detail = format!(
                "{rows} rows of {columns} columns or more are too many cells; the limit is {limit}; send fewer rows or columns"
            );
            return Err(DatasetError::Table { detail });
        }
        Ok(more)
    }

    /// Line of the current row, or its number in formats without lines.
    pub(crate) fn line(&self) -> u64 {
        match &self.source {
            Source::Delimited(table) => table.line(),
            Source::JsonRecords(table) => table.line(),
            Source::JsonColumns(table) => table.line(),
            Source::Libsvm(table) => table.line(),
            Source::Columnar(_) => self.row,
        }
    }

    /// Whether the cells are written with delimiters between them.
    pub(crate) fn is_delimited(&self) -> bool {
        matches!(self.source, Source::Delimited(_))
    }

    /// What `line` counts.
    pub(crate) fn unit(&self) -> PlaceUnit {
        self.unit
    }

    /// The text of one cell of the current row, without spaces around it.
    pub(crate) fn cell(&self, column: usize) -> Result<&str, DatasetError> {
        let bytes = match &self.source {
            Source::Delimited(table) => return table.cell(column),
            Source::Columnar(table) => return table.cell(column),
            Source::JsonRecords(table) => table.cell(column),
            Source::JsonColumns(table) => table.cell(column),
            Source::Libsvm(table) => table.cell(column),
        };
        std::str::from_utf8(bytes.trim_ascii())
            .map_err(|_| DatasetError::at(self.line(), self.names.get(column).map(String::as_str), "not valid UTF-8"))
    }

    /// Refuses a table of one column. Of delimited text, the delimiter is often a different one.
    pub(crate) fn refuse_single_column(&self, delimiter: u8) -> Result<(), DatasetError> {
        match &self.source {
            Source::Delimited(table) => table.refuse_single_column(delimiter),
            _ if self.names.len() > 1 => Ok(()),
            _ => Err(DatasetError::table("found only one column; a dataset needs at least one input and a target")),
        }
    }
}

impl Source {
    /// Without spaces around them, as in delimited text.
    fn names(&self) -> Vec<String> {
        let names = match self {
            Self::Delimited(table) => &table.names,
            Self::JsonRecords(table) => table.names(),
            Self::JsonColumns(table) => table.names(),
            Self::Libsvm(table) => table.names(),
            Self::Columnar(table) => table.names(),
        };
        names.iter().map(|name| name.trim_ascii().to_owned()).collect()
    }
}

fn check_names(names: &[String]) -> Result<(), DatasetError> {
    let mut known = HashSet::with_capacity(names.len());
    for (index, name) in names.iter().enumerate() {
        if name.is_empty() {
            return Err(DatasetError::table(format!("column {} has no name", index + 1)));
        }
        if !known.insert(name) {
            return Err(DatasetError::column(name, "two columns have this name"));
        }
    }
    Ok(())
}

/// Whether a JSON text is a list rather than an object.
fn begins_with_list(path: &Path) -> Result<bool, DatasetError> {
    let mut beginning = Vec::new();
    File::open(path)?.take(1 << 12).read_to_end(&mut beginning)?;
    let text = beginning.strip_prefix(super::csv::BYTE_ORDER_MARK).unwrap_or(&beginning);
    Ok(text.trim_ascii_start().first() == Some(&b'['))
}
