//! A table without a file.

use super::Rows;
use std::io;

/// Rows of raw cells in memory.
#[derive(Debug, Clone, PartialEq)]
pub struct RowsInMemory {
    /// Row by row.
    pub cells: Vec<f64>,
    /// Cells per row, the targets among them.
    pub columns: usize,
}

impl Rows for RowsInMemory {
    fn row_count(&self) -> usize {
        self.cells.len() / self.columns
    }

    fn column_count(&self) -> usize {
        self.columns
    }

    fn read(&self, first: usize, cells: &mut [f64]) -> io::Result<()> {
        let start = first * self.columns;
        cells.copy_from_slice(&self.cells[start..start + cells.len()]);
        Ok(())
    }
}
