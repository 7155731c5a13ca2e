//! Rows that explanations are averages over: codes, targets and weights, from all over the file.

use crate::dataset::Part;
use crate::training::rows::parted_rows::RowBlock;
use crate::training::rows::run::Run;
use crate::training::stage::TrainError;

/// At most a wanted number of rows of one part.
pub(super) struct RowSample {
    /// The place of each row in the dataset, from 0.
    places: Vec<usize>,
    codes: Vec<Vec<f64>>,
    /// Target cells of each row.
    pub(super) targets: Vec<Vec<f64>>,
    pub(super) weights: Vec<f64>,
}

impl RowSample {
    pub(super) fn read(run: &Run, part: Part, wanted: usize) -> Result<Self, TrainError> {
        let mut sample = Self { places: Vec::new(), codes: Vec::new(), targets: Vec::new(), weights: Vec::new() };
        let (available, mut seen, mut block) = (run.rows.count(part), 0, RowBlock::default());
        let kept = wanted.min(available);
        for index in 0..run.rows.block_count() {
            run.stop_if_asked()?;
            if run.rows.count_in_block(index, part) == 0 {
                continue;
            }
            run.rows.read(index, part, &mut block)?;
            let places = run.rows.places_in_block(index, part);
            for (row, ((codes, targets), place)) in block.inputs().zip(block.targets().rows()).zip(places).enumerate() {
                // Every available/kept-th row.
                if (seen + 1) * kept / available > seen * kept / available {
                    sample.places.push(place);
                    sample.codes.push(codes.to_vec());
                    sample.targets.push(targets.to_vec());
                    sample.weights.push(block.weight(row));
                }
                seen += 1;
            }
        }
        Ok(sample)
    }

    pub(super) fn count(&self) -> usize {
        self.codes.len()
    }

    /// The place and the codes of each row.
    pub(super) fn numbered(&self) -> impl ExactSizeIterator<Item = (usize, &[f64])> {
        self.places.iter().copied().zip(self.rows())
    }

    /// The codes of each row.
    pub(super) fn rows(&self) -> impl ExactSizeIterator<Item = &[f64]> {
        self.codes.iter().map(Vec::as_slice)
    }
}
