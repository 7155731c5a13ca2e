//! Individual conditional expectations: the outputs of a single row with one column at each of its points. Where the curves of
//! rows are not parallel, the column acts together with others, which a mean over rows hides.

use super::sample::RowSample;
use super::with;
use crate::training::assess::scored_function::ScoredFunction;

/// Rows with curves of their own.
const ROWS: usize = 5;

/// Rows from all over the sample.
pub(super) struct IndividualRows<'a> {
    rows: Vec<(usize, &'a [f64])>,
}

impl<'a> IndividualRows<'a> {
    pub(super) fn of(sample: &'a RowSample) -> Self {
        let (count, all) = (sample.count(), sample.numbered().collect::<Vec<_>>());
        let wanted = ROWS.min(count);
        Self { rows: (0..wanted).map(|place| all[(2 * place + 1) * count / (2 * wanted)]).collect() }
    }

    /// Their numbers in the dataset, from 1.
    pub(super) fn numbers(&self) -> Vec<usize> {
        self.rows.iter().map(|(number, _)| number + 1).collect()
    }

    /// Rows×points×k.
    pub(super) fn curves(&self, function: &ScoredFunction, column: usize, points: &[f64]) -> Vec<f64> {
        let moved = self.rows.iter().flat_map(|(_, row)| points.iter().map(|point| with(row, column, *point)));
        let moved: Vec<Vec<f64>> = moved.collect();
        function.predict(&moved.iter().map(Vec::as_slice).collect::<Vec<_>>()).iter().copied().collect()
    }
}
