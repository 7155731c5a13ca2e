//! Rows held in memory, so that reading them is not part of what is measured; the target in the last column.

use bochner::dataset::Rows;

pub(crate) struct InMemory {
    /// Row by row.
    pub(crate) cells: Vec<f64>,
    pub(crate) columns: usize,
}

impl Rows for InMemory {
    fn row_count(&self) -> usize {
        self.cells.len() / self.columns
    }

    fn column_count(&self) -> usize {
        self.columns
    }

    fn read(&self, first: usize, cells: &mut [f64]) -> std::io::Result<()> {
        let start = first * self.columns;
        cells.copy_from_slice(&self.cells[start..start + cells.len()]);
        Ok(())
    }
}
