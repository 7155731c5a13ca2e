//! Some rows of a part, held together: those that were not fitted, or a sample of those that were.

use super::parted_rows::RowBlock;
use super::run::Run;
use crate::dataset::Part;
use crate::training::stage::TrainError;
use ndarray::Array2;

/// Parts that took no part in the fit; rows without a target may have had a part in choices, so they come last.
const UNFITTED: [Part; 3] = [Part::Validation, Part::Calibration, Part::Unlabelled];

/// Rows of a table.
#[derive(Default)]
pub(crate) struct PickedRows {
    /// Input codes, row by row.
    codes: Vec<f64>,
    input_width: usize,
    targets: Vec<f64>,
    target_width: usize,
    /// How much each counts in a fit.
    pub(crate) weights: Vec<f64>,
    /// Validation, calibration and unlabelled rows among them.
    pub(crate) counts: [usize; 3],
}

impl PickedRows {
    pub(crate) fn count(&self) -> usize {
        self.weights.len()
    }

    /// The input codes of each row.
    pub(crate) fn inputs(&self) -> Vec<&[f64]> {
        self.codes.chunks_exact(self.input_width.max(1)).collect()
    }

    /// The target cells, rows×k.
    pub(crate) fn targets(&self) -> Result<Array2<f64>, TrainError> {
        let shape = (self.count(), self.target_width);
        Array2::from_shape_vec(shape, self.targets.clone()).map_err(|error| TrainError::Data(error.to_string()))
    }
}

impl Run<'_> {
    /// Rows that were not fitted, from all over the table, at most `most`. Only inputs are needed, so rows without a target
    /// count where they are wanted.
    pub(crate) fn unfitted_rows(&self, most: usize, unlabelled: bool) -> Result<PickedRows, TrainError> {
        let parts = if unlabelled { &UNFITTED[..] } else { &UNFITTED[..2] };
        let available: usize = parts.iter().map(|part| self.rows.count(*part)).sum();
        self.picked(parts, available.div_ceil(most.max(1)))
    }

    /// Training rows from all over the table, at most `most`.
    pub(crate) fn fitted_rows(&self, most: usize) -> Result<PickedRows, TrainError> {
        self.picked(&[Part::Training], self.rows.count(Part::Training).div_ceil(most.max(1)))
    }

    /// Every `step`-th row of some parts.
    fn picked(&self, parts: &[Part], step: usize) -> Result<PickedRows, TrainError> {
        let mut picked = PickedRows::default();
        let (mut block, mut seen) = (RowBlock::default(), 0);
        for (at, part) in parts.iter().enumerate().filter(|(_, part)| self.rows.count(**part) > 0) {
            for index in (0..self.rows.block_count()).filter(|&index| self.rows.count_in_block(index, *part) > 0) {
                self.rows.read(index, *part, &mut block)?;
                if let Some(class_weights) = self.class_weights.as_ref().filter(|_| *part == Part::Training) {
                    block.weigh_classes(class_weights);
                }
                for (row, (codes, targets)) in block.inputs().zip(block.targets().rows()).enumerate() {
                    if seen % step.max(1) == 0 {
                        (picked.input_width, picked.target_width) = (codes.len(), targets.len());
                        picked.codes.extend_from_slice(codes);
                        picked.targets.extend(targets);
                        picked.weights.push(block.weight(row));
                        picked.counts[at] += 1;
                    }
                    seen += 1;
                }
                self.stop_if_asked()?;
            }
        }
        Ok(picked)
    }
}
