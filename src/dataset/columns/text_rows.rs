//! Rows of texts, wherever they come from.

use crate::dataset::formats::records::Records;
use crate::dataset::{Column, ColumnKind, DatasetError, PlaceUnit, Rows, Schema, Table, format_instant};

/// Rows of named cells, read one after the other.
pub(in crate::dataset) trait TextRows {
    /// Moves to the next row; false at the end.
    fn advance(&mut self) -> Result<bool, DatasetError>;

    /// Where the current row stands: its line, or its number.
    fn line(&self) -> u64;

    /// What `line` counts.
    fn unit(&self) -> PlaceUnit;

    /// Whether the option `decimal` applies to them.
    fn take_decimal_option(&self) -> bool;

    /// A cell of the current row, without blanks around it.
    fn cell(&self, column: usize) -> Result<&str, DatasetError>;
}

impl TextRows for Records {
    fn advance(&mut self) -> Result<bool, DatasetError> {
        Self::advance(self)
    }

    fn line(&self) -> u64 {
        Self::line(self)
    }

    fn unit(&self) -> PlaceUnit {
        Self::unit(self)
    }

    fn take_decimal_option(&self) -> bool {
        self.is_delimited()
    }

    fn cell(&self, column: usize) -> Result<&str, DatasetError> {
        Self::cell(self, column)
    }
}

/// Rows read at once from a stored table.
const BLOCK: usize = 1024;

/// The rows of a stored table as texts, so that they can be read in another way.
pub(in crate::dataset) struct StoredRows<'a> {
    table: &'a Table,
    columns: &'a [Column],
    /// Cells of the current block, and the row of the table after it.
    block: Vec<f64>,
    next_block: usize,
    /// One-based number of the current row.
    row: usize,
    texts: Vec<String>,
}

impl<'a> StoredRows<'a> {
    pub(in crate::dataset) fn new(table: &'a Table, schema: &'a Schema) -> Self {
        let texts = vec![String::new(); schema.columns.len()];
        Self { table, columns: &schema.columns, block: Vec::new(), next_block: 0, row: 0, texts }
    }
}

impl TextRows for StoredRows<'_> {
    fn advance(&mut self) -> Result<bool, DatasetError> {
        let width = self.columns.len();
        if self.row == self.table.row_count() {
            return Ok(false);
        }
        if self.row == self.next_block {
            let rows = BLOCK.min(self.table.row_count() - self.row);
            self.block.resize(rows * width, 0.0);
            self.table.read(self.row, &mut self.block)?;
            self.next_block += rows;
        }
        let first = self.next_block - self.block.len() / width;
        let cells = &self.block[(self.row - first) * width..][..width];
        for ((text, column), code) in self.texts.iter_mut().zip(self.columns).zip(cells) {
            *text = written(column, *code);
        }
        self.row += 1;
        Ok(true)
    }

    fn line(&self) -> u64 {
        self.row as u64
    }

    fn unit(&self) -> PlaceUnit {
        PlaceUnit::Row
    }

    fn take_decimal_option(&self) -> bool {
        false
    }

    fn cell(&self, column: usize) -> Result<&str, DatasetError> {
        Ok(&self.texts[column])
    }
}

/// The text of a stored cell; empty if it is missing or was not kept.
fn written(column: &Column, code: f64) -> String {
    match column.kind {
        _ if code.is_nan() => String::new(),
        ColumnKind::Numeric => code.to_string(),
        ColumnKind::Boolean => (code != 0.0).to_string(),
        ColumnKind::Date | ColumnKind::Datetime => format_instant(code),
        ColumnKind::Categorical => column.levels.get(code as usize).cloned().unwrap_or_default(),
        ColumnKind::Text => String::new(),
    }
}
