//! Rows that a child process reads from a file, as it does for uploads.

use crate::dataset::{ColumnarFormat, ColumnarTable, DatasetError};
use crate::model::FittedModel;
use crate::serving::formats::BLOCK_ROWS;
use crate::serving::formats::csv::SPARE_COLUMNS;
use crate::serving::request_rows::{Layout, RequestRows};
use crate::serving::{Refusal, RowLocations};
use std::fs::File;
use std::path::Path;

/// Reads the rows of a model from a Parquet or Arrow file.
pub struct ColumnarRows<'m> {
    table: ColumnarTable,
    layout: Layout,
    model: &'m FittedModel,
    /// Rows read so far.
    rows: usize,
}

impl<'m> ColumnarRows<'m> {
    /// Starts `program`, which is this one, on a file, and finds the model's columns.
    pub(in crate::serving::formats) fn open(
        file: File,
        format: ColumnarFormat,
        program: Option<&Path>,
        model: &'m FittedModel,
    ) -> Result<Self, Refusal> {
        let limit = model.inputs.encoding.columns.len() + SPARE_COLUMNS;
        let table = ColumnarTable::open(file, format, program, limit).map_err(refused)?;
        let layout = Layout::named(model, table.names(), "/schema")?;
        Ok(Self { table, layout, model, rows: 0 })
    }

    pub(in crate::serving::formats) fn next_block(&mut self) -> Result<Option<RequestRows>, Refusal> {
        let mut block = RequestRows::of(self.model);
        block.locations = RowLocations::Rows { start: self.rows };
        while block.len() < BLOCK_ROWS && self.table.advance().map_err(refused)? {
            block.begin_row();
            for (column, &position) in self.layout.positions.iter().enumerate() {
                let text = self.table.cell(position).map_err(refused)?;
                block.set_text_at(self.model, block.len() - 1, column, text).map_err(|error| {
                    let row = format!("/rows/{}", self.rows);
                    error.at(&row, &self.model.inputs.encoding.columns[column])
                })?;
            }
            self.rows += 1;
        }
        Ok(Some(block).filter(|block| !block.is_empty()))
    }
}

/// What the child says about the file is about its content, not about the connection.
fn refused(error: DatasetError) -> Refusal {
    match error {
        DatasetError::Table { detail } => Refusal::invalid("", detail),
        other => other.into(),
    }
}
