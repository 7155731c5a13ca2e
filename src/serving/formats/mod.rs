//! Request formats and answer formats, one file each.

/// Members of a JSON object: duplicates, small values, skipped values.
mod members;

/// The native JSON request.
mod json;

/// Rows of JSON, one list for each column.
mod column_lists;

/// Rows of JSON, one by one.
mod json_rows;

/// Column names of a model, for records.
mod names;

/// A JSON list of rows before its column order is known.
mod cell_grid;

/// Rows of numbers, scanned while the body arrives.
mod row_scan;

/// Numbers of JSON rows, one by one and in runs.
mod json_numbers;

/// Decimal fractions read with AVX2.
#[cfg(target_arch = "x86_64")]
mod fraction_vectors;

/// The JSON request of MLflow's scoring server.
mod scoring_request;

/// CSV, usually with a header.
mod csv;

/// JSON lines.
mod ndjson;

/// Arrow IPC streams.
mod arrow;

/// Parquet and Arrow files.
mod files;

pub use files::row_format::{Guess, RowFormat};
pub use json::{JsonRequest, read_request};
pub use members::{Once, read_small, skip};
pub use row_scan::RowScan;
pub use scoring_request::ScoringRequest;

use super::answer::RowAnswer;
use super::request_rows::RequestRows;
use super::{Answer, Refusal};
use crate::dataset::{ColumnarFormat, CsvOptions};
use crate::model::FittedModel;
use arrow::{ArrowRows, ArrowWriter};
use csv::CsvRows;
use files::columnar_rows::ColumnarRows;
use ndjson::NdjsonRows;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;

/// Rows of one block of a streamed table.
const BLOCK_ROWS: usize = 4096;

/// A format of tables and of answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// One object, read whole.
    Json,
    /// JSON lines: one value per line.
    Ndjson,
    /// CSV, with a header unless the request says otherwise.
    Csv,
    /// Apache Arrow IPC stream.
    Arrow,
}

impl Format {
    /// Every format, in the order that error messages list them.
    pub const ALL: [Self; 4] = [Self::Json, Self::Ndjson, Self::Csv, Self::Arrow];

    /// The format of a media type; JSON lines have three.
    pub fn named(media_type: &str) -> Option<Self> {
        let is = |name: &str| media_type.eq_ignore_ascii_case(name);
        if is("application/jsonl") || is("application/ndjson") {
            return Some(Self::Ndjson);
        }
        Self::ALL.into_iter().find(|format| is(format.media_type()))
    }

    /// The media type that answers carry.
    pub fn media_type(self) -> &'static str {
        match self {
            Self::Json => "application/json",
            Self::Ndjson => "application/x-ndjson",
            Self::Csv => "text/csv",
            Self::Arrow => "application/vnd.apache.arrow.stream",
        }
    }
}

/// Reads a table block by block.
pub enum RowReader<'m, R: Read> {
    /// From CSV.
    Csv(Box<CsvRows<'m, R>>),
    /// From JSON lines.
    Ndjson(NdjsonRows<'m, R>),
    /// From an Arrow stream.
    Arrow(Box<ArrowRows<'m, R>>),
    /// From a file that a child process reads.
    File(Box<ColumnarRows<'m>>),
}

impl<'m, R: Read> RowReader<'m, R> {
    /// Opens a table; none for JSON, which is one value and read whole.
    pub fn open(format: Format, source: R, csv: CsvOptions, model: &'m FittedModel) -> Result<Option<Self>, Refusal> {
        Ok(match format {
            Format::Json => None,
            Format::Csv => Some(Self::Csv(Box::new(CsvRows::open(source, csv, model)?))),
            Format::Ndjson => Some(Self::Ndjson(NdjsonRows::new(source, model))),
            Format::Arrow => Some(Self::Arrow(Box::new(ArrowRows::new(source, model)))),
        })
    }

    /// Opens a Parquet or Arrow file, which `program` reads in a child process.
    pub fn open_file(
        file: File,
        format: ColumnarFormat,
        program: Option<&Path>,
        model: &'m FittedModel,
    ) -> Result<Self, Refusal> {
        Ok(Self::File(Box::new(ColumnarRows::open(file, format, program, model)?)))
    }

    /// The next rows; none at the end.
    pub fn next_block(&mut self) -> Result<Option<RequestRows>, Refusal> {
        match self {
            Self::Csv(rows) => rows.next_block(),
            Self::Ndjson(rows) => rows.next_block(),
            Self::Arrow(rows) => rows.next_block(),
            Self::File(rows) => rows.next_block(),
        }
    }
}

/// Writes an answer block by block.
pub struct AnswerWriter<W: Write> {
    output: FormatWriter<W>,
    /// Rows written so far.
    pub rows: usize,
}

enum FormatWriter<W: Write> {
    Json(W),
    Ndjson(W),
    Csv(W),
    Arrow(Box<ArrowWriter<W>>),
}

impl<W: Write> AnswerWriter<W> {
    /// Begins an answer of a version of a model.
    pub fn begin(format: Format, mut target: W, model: &str, version: u32) -> io::Result<Self> {
        let output = match format {
            Format::Json => {
                target.write_all(b"{\"model\":\"")?;
                target.write_all(model.as_bytes())?; // a model name has nothing to escape
                target.write_all(b"\",\"version\":")?;
                serde_json::to_writer(&mut target, &version)?;
                target.write_all(b",\"predictions\":[")?;
                FormatWriter::Json(target)
            }
            Format::Ndjson => FormatWriter::Ndjson(target),
            Format::Csv => FormatWriter::Csv(target),
            Format::Arrow => FormatWriter::Arrow(Box::new(ArrowWriter::new(target))),
        };
        Ok(Self { output, rows: 0 })
    }

    /// Writes the next block.
    pub fn write(&mut self, answer: Answer) -> io::Result<()> {
        let is_first = self.rows == 0;
        self.rows += answer.predictions.values.nrows();
        match &mut self.output {
            FormatWriter::Json(target) => {
                for row in 0..answer.predictions.values.nrows() {
                    if row > 0 || !is_first {
                        target.write_all(b",")?;
                    }
                    serde_json::to_writer(&mut *target, &RowAnswer { answer, row })?;
                }
                Ok(())
            }
            FormatWriter::Ndjson(target) => ndjson::write(answer, target),
            FormatWriter::Csv(target) => csv::write(answer, is_first, target),
            FormatWriter::Arrow(writer) => writer.write(answer),
        }
    }

    /// Ends the answer and returns the target.
    pub fn finish(self) -> io::Result<W> {
        match self.output {
            FormatWriter::Json(mut target) => {
                target.write_all(b"]}")?;
                Ok(target)
            }
            FormatWriter::Ndjson(target) | FormatWriter::Csv(target) => Ok(target),
            FormatWriter::Arrow(writer) => writer.finish(),
        }
    }
}
