//! Row blocks of one part of a data set.

use super::cost::BLOCK_ROWS;
use crate::dataset::{Part, Rows};
use std::io;

/// The rows of a data set with the part each belongs to.
pub(super) struct PartedRows<'a> {
    rows: &'a dyn Rows,
    target: usize,
    parts: Vec<Part>,
}

/// The rows of one part within one block: codes of the inputs, and targets.
#[derive(Default)]
pub(super) struct RowBlock {
    cells: Vec<f64>,
    /// Input codes, row by row.
    codes: Vec<f64>,
    width: usize,
    pub(super) targets: Vec<f64>,
}

impl RowBlock {
    /// The input codes of each row.
    pub(super) fn inputs(&self) -> std::slice::ChunksExact<'_, f64> {
        self.codes.chunks_exact(self.width.max(1))
    }
}

/// Which rows have a target, in one pass over the table.
pub(super) fn labelled(rows: &dyn Rows, target: usize) -> io::Result<Vec<bool>> {
    let columns = rows.column_count();
    let mut labelled = Vec::with_capacity(rows.row_count());
    let mut cells = Vec::new();
    for first in (0..rows.row_count()).step_by(BLOCK_ROWS) {
        let count = BLOCK_ROWS.min(rows.row_count() - first);
        cells.resize(count * columns, 0.0);
        rows.read(first, &mut cells)?;
        labelled.extend(cells.chunks_exact(columns).map(|row| !row[target].is_nan()));
    }
    Ok(labelled)
}

impl<'a> PartedRows<'a> {
    pub(super) fn new(rows: &'a dyn Rows, target: usize, parts: Vec<Part>) -> Self {
        Self { rows, target, parts }
    }

    /// Rows of a part.
    pub(super) fn count(&self, part: Part) -> usize {
        self.parts.iter().filter(|candidate| **candidate == part).count()
    }

    /// Blocks of the whole table; a block holds the rows of a part that lie within it.
    pub(super) fn block_count(&self) -> usize {
        self.rows.row_count().div_ceil(BLOCK_ROWS)
    }

    /// Reads the rows of `part` in block number `index`.
    pub(super) fn read(&self, index: usize, part: Part, block: &mut RowBlock) -> io::Result<()> {
        let columns = self.rows.column_count();
        let first = index * BLOCK_ROWS;
        let parts = &self.parts[first..self.parts.len().min(first + BLOCK_ROWS)];
        block.cells.resize(parts.len() * columns, 0.0);
        self.rows.read(first, &mut block.cells)?;
        block.codes.clear();
        block.targets.clear();
        block.width = columns - 1;
        for (row, _) in block.cells.chunks_exact(columns).zip(parts).filter(|(_, candidate)| **candidate == part) {
            block.codes.extend_from_slice(&row[..self.target]);
            block.codes.extend_from_slice(&row[self.target + 1..]);
            block.targets.push(row[self.target]);
        }
        Ok(())
    }
}
