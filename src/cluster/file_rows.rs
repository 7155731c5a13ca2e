//! Rows of files, cut into chunks as sums want them: from the first row of each file, whatever batches they come in.

use super::column_cells::write_cells;
use crate::training::{CHUNK_ROWS, Chunk, PassSums, PassTask, TrainError};
use arrow_array::RecordBatch;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use std::fs::File;
use std::path::PathBuf;

/// Rows of a batch of a Parquet file.
const BATCH_ROWS: usize = 4_096;

/// One file of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileOfTable {
    /// What the split of the rows depends on.
    pub name: String,
    /// Where it is.
    pub path: PathBuf,
}

/// Adds all rows of a Parquet file; returns how many there were. `tick` takes the share of the file that is done.
pub fn add_file(
    file: &FileOfTable,
    task: &PassTask,
    sums: &mut PassSums,
    tick: &dyn Fn(f64) -> Result<(), TrainError>,
) -> Result<u64, TrainError> {
    let refuse = |reason: &dyn std::fmt::Display| TrainError::Data(format!("file '{}': {reason}", file.name));
    let opened = File::open(&file.path).map_err(|error| refuse(&error))?;
    let builder = ParquetRecordBatchReaderBuilder::try_new(opened).map_err(|error| refuse(&error))?;
    let stated = builder.metadata().file_metadata().num_rows();
    let mut places = Vec::new();
    for name in task.columns() {
        let place = builder.schema().fields().iter().position(|field| field.name() == name);
        places.push(place.ok_or_else(|| refuse(&format!("there is no column '{name}'")))?);
    }
    let mask = ProjectionMask::roots(builder.parquet_schema(), places);
    let reader = builder.with_projection(mask).with_batch_size(BATCH_ROWS).build().map_err(|error| refuse(&error))?;
    let mut rows = FileRows::new(&file.name, task, sums);
    for batch in reader {
        tick(rows.first as f64 / stated.max(1) as f64)?;
        rows.add(&batch.map_err(|error| refuse(&error))?)?;
    }
    rows.finish()
}

/// The rows of one file on their way into sums.
pub(super) struct FileRows<'s, 't> {
    file: &'s str,
    task: &'s PassTask,
    sums: &'s mut PassSums<'t>,
    /// Rows before those in `cells`.
    first: u64,
    cells: Vec<f64>,
}

impl<'s, 't> FileRows<'s, 't> {
    pub(super) fn new(file: &'s str, task: &'s PassTask, sums: &'s mut PassSums<'t>) -> Self {
        Self { file, task, sums, first: 0, cells: Vec::new() }
    }

    /// Adds the rows of a batch, which must have the columns of the task.
    pub(super) fn add(&mut self, batch: &RecordBatch) -> Result<(), TrainError> {
        let width = self.task.columns().len();
        let mut offset = 0;
        while offset < batch.num_rows() {
            let held = self.cells.len() / width;
            let count = (CHUNK_ROWS - held).min(batch.num_rows() - offset);
            self.cells.resize((held + count) * width, f64::NAN);
            for (at, name) in self.task.columns().iter().enumerate() {
                let refuse = |detail: String| TrainError::Data(format!("file '{}': {detail}", self.file));
                let Some(column) = batch.column_by_name(name) else {
                    return Err(refuse(format!("there is no column '{name}'")));
                };
                let cells = &mut self.cells[held * width + at..];
                write_cells(&column.slice(offset, count), cells, width).map_err(|(row, what)| {
                    let row = self.first + (held + row) as u64 + 1;
                    refuse(format!("row {row}, column '{name}' {what}"))
                })?;
            }
            offset += count;
            if held + count == CHUNK_ROWS {
                self.hand_over()?;
            }
        }
        Ok(())
    }

    /// Adds what is left and returns the number of rows of the file.
    pub(super) fn finish(mut self) -> Result<u64, TrainError> {
        if !self.cells.is_empty() {
            self.hand_over()?;
        }
        Ok(self.first)
    }

    fn hand_over(&mut self) -> Result<(), TrainError> {
        self.sums.add(&Chunk { file: self.file, first: self.first, cells: &self.cells })?;
        self.first += (self.cells.len() / self.task.columns().len()) as u64;
        self.cells.clear();
        Ok(())
    }
}
