//! How many rows have each level, for columns with so many levels that rare ones are taken together.

use super::parted_rows::RowBlock;
use super::run::Run;
use crate::dataset::{Encoding, InputColumn, Part};
use crate::training::stage::TrainError;

impl Run<'_> {
    /// The encoding with rare levels joined. Rows are counted that choose the scaling: the design rows, and if there are
    /// none the training rows with those that have no target. Rows that a model is assessed on are never among them.
    pub(crate) fn join_rare(&self, mut encoding: Encoding) -> Result<Encoding, TrainError> {
        if !encoding.has_signs() {
            return Ok(encoding);
        }
        let has_design = self.rows.count(Part::Design) > 0;
        let parts = if has_design { &[Part::Design][..] } else { &[Part::Training, Part::Unlabelled] };
        let nothing = |column: &InputColumn| vec![0; column.signs.as_ref().map_or(0, |signs| signs.of_levels.len())];
        let mut counts: Vec<Vec<u64>> = encoding.columns.iter().map(nothing).collect();
        let mut block = RowBlock::default();
        for index in 0..self.rows.block_count() {
            for &part in parts {
                self.rows.read(index, part, &mut block)?;
                for codes in block.inputs() {
                    for (counts, code) in counts.iter_mut().zip(codes) {
                        // A missing cell is NaN, which is no index: it would be that of the first level.
                        if let Some(count) = counts.get_mut(*code as usize).filter(|_| !code.is_nan()) {
                            *count += 1;
                        }
                    }
                }
            }
            self.stop_if_asked()?;
        }
        encoding.join_rare(&counts);
        Ok(encoding)
    }
}
