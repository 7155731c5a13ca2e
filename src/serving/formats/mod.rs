//! Tables in and answers out: one file per format.

/// Members of a JSON request.
mod members;

/// JSON read cell by cell.
mod json;

/// Columns by name.
mod names;

/// A table of JSON cells.
mod grid;

/// Rows of numbers alone.
mod row_scan;

/// Runs of decimal fractions.
mod number_run;

/// Decimal fractions by vector instructions.
#[cfg(target_arch = "x86_64")]
mod fraction_vectors;

/// Numbers of JSON as doubles.
mod decimal;

/// The JSON of MLflow.
mod scoring_request;

/// CSV with a header.
mod csv;

/// One JSON value a line.
mod ndjson;

/// Arrow streams.
mod arrow;

pub use json::{JsonRequest, read_request};
pub use members::{Once, read_small, skip};
pub use row_scan::RowScan;
pub use scoring_request::ScoringRequest;

use super::answer::RowAnswer;
use super::request_rows::RequestRows;
use super::{Answer, Refusal};
use crate::dataset::CsvOptions;
use crate::model::FittedModel;
use arrow::{ArrowRows, ArrowWriter};
use csv::CsvRows;
use ndjson::NdjsonRows;
use std::io::{self, Read, Write};

/// Rows made ready at once.
const BLOCK_ROWS: usize = 4096;

/// A format that tables and answers come in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// One object.
    Json,
    /// One JSON value a line.
    Ndjson,
    /// With a header.
    Csv,
    /// Apache Arrow IPC stream.
    Arrow,
}

impl Format {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Json, Self::Ndjson, Self::Csv, Self::Arrow];

    /// The format of a media type; JSON lines go by several names.
    pub fn named(media_type: &str) -> Option<Self> {
        let is = |name: &str| media_type.eq_ignore_ascii_case(name);
        if is("application/jsonl") || is("application/ndjson") {
            return Some(Self::Ndjson);
        }
        Self::ALL.into_iter().find(|format| is(format.media_type()))
    }

    /// Its media type.
    pub fn media_type(self) -> &'static str {
        match self {
            Self::Json => "application/json",
            Self::Ndjson => "application/x-ndjson",
            Self::Csv => "text/csv",
            Self::Arrow => "application/vnd.apache.arrow.stream",
        }
    }
}

/// Rows that stream in, a block at a time.
pub enum RowReader<'m, R: Read> {
    /// From CSV.
    Csv(Box<CsvRows<'m, R>>),
    /// From JSON lines.
    Ndjson(NdjsonRows<'m, R>),
    /// From an Arrow stream.
    Arrow(Box<ArrowRows<'m, R>>),
}

impl<'m, R: Read> RowReader<'m, R> {
    /// Begins to read a table for a model; none for JSON, which is one value and read whole.
    pub fn open(format: Format, source: R, csv: CsvOptions, model: &'m FittedModel) -> Result<Option<Self>, Refusal> {
        Ok(match format {
            Format::Json => None,
            Format::Csv => Some(Self::Csv(Box::new(CsvRows::open(source, csv, model)?))),
            Format::Ndjson => Some(Self::Ndjson(NdjsonRows::new(source, model))),
            Format::Arrow => Some(Self::Arrow(Box::new(ArrowRows::new(source, model)))),
        })
    }

    /// The next rows; none at the end.
    pub fn next_block(&mut self) -> Result<Option<RequestRows>, Refusal> {
        match self {
            Self::Csv(rows) => rows.next_block(),
            Self::Ndjson(rows) => rows.next_block(),
            Self::Arrow(rows) => rows.next_block(),
        }
    }
}

/// Answers that stream out, a block at a time.
pub struct AnswerWriter<W: Write> {
    output: Destination<W>,
    /// Rows written.
    pub rows: usize,
}

enum Destination<W: Write> {
    Json(W),
    Ndjson(W),
    Csv(W),
    Arrow(Box<ArrowWriter<W>>),
}

impl<W: Write> AnswerWriter<W> {
    /// Begins an answer by a version of a model.
    pub fn begin(format: Format, mut target: W, model: &str, version: u32) -> io::Result<Self> {
        let output = match format {
            Format::Json => {
                target.write_all(b"{\"model\":\"")?;
                target.write_all(model.as_bytes())?; // nothing in a name is to be escaped
                target.write_all(b"\",\"version\":")?;
                serde_json::to_writer(&mut target, &version)?;
                target.write_all(b",\"predictions\":[")?;
                Destination::Json(target)
            }
            Format::Ndjson => Destination::Ndjson(target),
            Format::Csv => Destination::Csv(target),
            Format::Arrow => Destination::Arrow(Box::new(ArrowWriter::new(target))),
        };
        Ok(Self { output, rows: 0 })
    }

    /// Writes some rows.
    pub fn write(&mut self, answer: Answer) -> io::Result<()> {
        let is_first = self.rows == 0;
        self.rows += answer.predictions.values.nrows();
        match &mut self.output {
            Destination::Json(target) => {
                for row in 0..answer.predictions.values.nrows() {
                    if row > 0 || !is_first {
                        target.write_all(b",")?;
                    }
                    serde_json::to_writer(&mut *target, &RowAnswer { answer, row })?;
                }
                Ok(())
            }
            Destination::Ndjson(target) => ndjson::write(answer, target),
            Destination::Csv(target) => csv::write(answer, is_first, target),
            Destination::Arrow(writer) => writer.write(answer),
        }
    }

    /// Ends the answer and gives back what it was written to.
    pub fn finish(self) -> io::Result<W> {
        match self.output {
            Destination::Json(mut target) => {
                target.write_all(b"]}")?;
                Ok(target)
            }
            Destination::Ndjson(target) | Destination::Csv(target) => Ok(target),
            Destination::Arrow(writer) => writer.finish(),
        }
    }
}
