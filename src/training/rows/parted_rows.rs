//! Row blocks of one part of a dataset.

use crate::dataset::{Part, Roles, Rows};
use crate::solver::checkpoint;
use crate::training::spec::memory::BLOCK_ROWS;
use ndarray::ArrayView2;
use std::io;
use std::ops::Range;

/// The rows of a dataset with the part each belongs to.
pub(crate) struct PartedRows<'a> {
    rows: &'a dyn Rows,
    roles: Roles,
    parts: Vec<Part>,
}

/// The rows of one part within one block: codes of the inputs, targets, weights.
#[derive(Default)]
pub(crate) struct RowBlock {
    cells: Vec<f64>,
    /// Input codes, row by row.
    codes: Vec<f64>,
    input_width: usize,
    /// Target cells, row by row.
    targets: Vec<f64>,
    target_width: usize,
    /// One a row, or none at all.
    weights: Vec<f64>,
}

impl RowBlock {
    /// The input codes of each row.
    pub(crate) fn inputs(&self) -> std::slice::ChunksExact<'_, f64> {
        self.codes.chunks_exact(self.input_width.max(1))
    }

    /// The target cells, rows×k.
    pub(crate) fn targets(&self) -> ArrayView2<'_, f64> {
        let shape = (self.row_count(), self.target_width);
        ArrayView2::from_shape(shape, &self.targets).expect("every row has its targets")
    }

    /// How much one row counts.
    pub(crate) fn weight(&self, row: usize) -> f64 {
        self.weights.get(row).copied().unwrap_or(1.0)
    }

    /// How much each row counts, unless all count the same.
    pub(crate) fn weights(&self) -> Option<&[f64]> {
        (self.weights.len() == self.row_count()).then_some(&self.weights)
    }

    /// Multiplies the weights by those of the classes that the targets are.
    pub(crate) fn weigh_classes(&mut self, class_weights: &[f64]) {
        self.weights.resize(self.row_count(), 1.0);
        for (weight, class) in self.weights.iter_mut().zip(self.targets.iter().step_by(self.target_width.max(1))) {
            *weight *= class_weights[*class as usize];
        }
    }

    pub(crate) fn row_count(&self) -> usize {
        self.targets.len() / self.target_width.max(1)
    }
}

/// The group of each row for the split, in one pass over the table: its class, or 0 where the target is a
/// number; none where a target is missing.
pub(crate) fn groups(rows: &dyn Rows, roles: &Roles, by_class: bool) -> io::Result<Vec<Option<u32>>> {
    let columns = rows.column_count();
    let mut groups = Vec::with_capacity(rows.row_count());
    let mut cells = Vec::new();
    for first in (0..rows.row_count()).step_by(BLOCK_ROWS) {
        checkpoint();
        let count = BLOCK_ROWS.min(rows.row_count() - first);
        cells.resize(count * columns, 0.0);
        rows.read(first, &mut cells)?;
        let group = |row: &[f64]| {
            let labelled = roles.targets.iter().all(|&target| !row[target].is_nan());
            labelled.then(|| if by_class { row[roles.targets[0]] as u32 } else { 0 })
        };
        groups.extend(cells.chunks_exact(columns).map(group));
    }
    Ok(groups)
}

impl<'a> PartedRows<'a> {
    pub(crate) fn new(rows: &'a dyn Rows, roles: Roles, parts: Vec<Part>) -> Self {
        Self { rows, roles, parts }
    }

    /// The design rows alone, as the rows of a training of their own. With `validated`, every fourth of them measures
    /// what the others fit.
    pub(crate) fn design(&self, validated: bool) -> Self {
        const EVERY: usize = 4;
        let mut seen = 0;
        let part = |part: &Part| match part {
            Part::Design => {
                seen += 1;
                if validated && seen % EVERY == 0 { Part::Validation } else { Part::Training }
            }
            // Not even as rows without a target: those take part in scaling.
            Part::Training | Part::Validation | Part::Calibration | Part::Unlabelled | Part::Ignored => Part::Ignored,
        };
        Self { rows: self.rows, roles: self.roles.clone(), parts: self.parts.iter().map(part).collect() }
    }

    /// Some of the training rows for trials: every fourth measures what the others fit. Rows without a target stay what
    /// they are, and all other rows are left alone.
    pub(crate) fn for_trials(&self, rows: impl Iterator<Item = Range<usize>>) -> Self {
        const EVERY: usize = 4;
        let aside = |part: &Part| if *part == Part::Unlabelled { Part::Unlabelled } else { Part::Ignored };
        let mut parts: Vec<Part> = self.parts.iter().map(aside).collect();
        let training = rows.flatten().filter(|row| self.parts[*row] == Part::Training);
        for (seen, row) in training.enumerate() {
            parts[row] = if seen % EVERY == EVERY - 1 { Part::Validation } else { Part::Training };
        }
        Self { rows: self.rows, roles: self.roles.clone(), parts }
    }

    /// Target columns.
    pub(crate) fn target_count(&self) -> usize {
        self.roles.targets.len()
    }

    /// Rows of a part.
    pub(crate) fn count(&self, part: Part) -> usize {
        self.parts.iter().filter(|candidate| **candidate == part).count()
    }

    /// Rows of a part within block number `index`.
    pub(crate) fn count_in_block(&self, index: usize, part: Part) -> usize {
        self.count_in(&self.block(index), part)
    }

    /// Rows of a part among some.
    pub(crate) fn count_in(&self, rows: &Range<usize>, part: Part) -> usize {
        self.parts[rows.clone()].iter().filter(|candidate| **candidate == part).count()
    }

    /// The places in the table of the rows of a part within block number `index`, as `read` gives them.
    pub(crate) fn places_in_block(&self, index: usize, part: Part) -> impl Iterator<Item = usize> {
        self.block(index).filter(move |place| self.parts[*place] == part)
    }

    /// Whether a column says how much each row counts.
    pub(crate) fn is_weighted(&self) -> bool {
        self.roles.weight.is_some()
    }

    /// Rows of the whole table.
    pub(crate) fn row_count(&self) -> usize {
        self.parts.len()
    }

    /// Blocks of the whole table; a block holds the rows of a part that lie within it.
    pub(crate) fn block_count(&self) -> usize {
        self.row_count().div_ceil(BLOCK_ROWS)
    }

    fn block(&self, index: usize) -> Range<usize> {
        index * BLOCK_ROWS..self.row_count().min((index + 1) * BLOCK_ROWS)
    }

    /// Reads the rows of `part` in block number `index`.
    pub(crate) fn read(&self, index: usize, part: Part, block: &mut RowBlock) -> io::Result<()> {
        self.read_stretches(&[self.block(index)], part, block)
    }

    /// Reads the rows of `part` in some stretches of the table.
    pub(crate) fn read_stretches(
        &self,
        stretches: &[Range<usize>],
        part: Part,
        block: &mut RowBlock,
    ) -> io::Result<()> {
        let columns = self.rows.column_count();
        block.codes.clear();
        block.targets.clear();
        block.weights.clear();
        (block.input_width, block.target_width) = (self.roles.inputs.len(), self.roles.targets.len());
        for stretch in stretches {
            checkpoint();
            block.cells.resize(stretch.len() * columns, 0.0);
            self.rows.read(stretch.start, &mut block.cells)?;
            let rows = block.cells.chunks_exact(columns).zip(&self.parts[stretch.clone()]);
            for (row, _) in rows.filter(|(_, candidate)| **candidate == part) {
                block.codes.extend(self.roles.inputs.iter().map(|&input| row[input]));
                block.targets.extend(self.roles.targets.iter().map(|&target| row[target]));
                block.weights.extend(self.roles.weight.map(|weight| row[weight]));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataset::RowsInMemory;

    /// Rows without a target take part in scaling, so no row with another use may look like one.
    #[test]
    fn design_rows_see_no_other_row() {
        let parts = [Part::Training, Part::Design, Part::Validation, Part::Calibration, Part::Unlabelled, Part::Design];
        let roles = Roles { inputs: vec![0], targets: vec![1], weight: None };
        let empty = RowsInMemory { cells: vec![0.0; 12], columns: 2 };
        let design = PartedRows::new(&empty, roles, parts.to_vec()).design(false);
        let count = |part: Part| design.count(part);
        assert_eq!((count(Part::Training), count(Part::Unlabelled), count(Part::Ignored)), (2, 0, 4));
    }
}
