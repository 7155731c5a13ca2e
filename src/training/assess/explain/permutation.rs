//! What permuting a column over validation rows costs. For numbers the loss is the squared error in units of the variance of
//! its target on these rows, averaged over the targets; for labels it is 1 where the label is wrong.

use super::sample::RowSample;
use super::with;
use crate::dataset::{Part, permutation};
use crate::model::{Head, Permutation};
use crate::training::assess::scored_function::ScoredFunction;
use crate::training::rows::run::Run;
use crate::training::stage::TrainError;

/// Validation rows at most, over all columns together, and at least.
const ROWS: usize = 1_000;
const ROWS_OF_ALL_COLUMNS: usize = 100_000;
const FEWEST_ROWS: usize = 100;

/// Permutations of each column.
const REPEATS: usize = 3;

/// Validation rows with the losses of the function as it is.
pub(super) struct Permuted<'a> {
    function: &'a ScoredFunction<'a>,
    head: &'a Head,
    rows: RowSample,
    /// Of each target.
    variances: Vec<f64>,
    /// Of each row.
    losses: Vec<f64>,
    seed: u64,
}

impl<'a> Permuted<'a> {
    /// None without validation rows.
    pub(super) fn new(
        run: &Run,
        function: &'a ScoredFunction<'a>,
        head: &'a Head,
        seed: u64,
    ) -> Result<Option<Self>, TrainError> {
        let columns = function.parts.inputs.encoding.columns.len();
        let wanted = ROWS.min(ROWS_OF_ALL_COLUMNS / columns.max(1)).max(FEWEST_ROWS);
        let rows = RowSample::read(run, Part::Validation, wanted)?;
        if rows.count() < 2 || rows.weights.iter().sum::<f64>() <= 0.0 {
            return Ok(None);
        }
        let variances = (0..rows.targets[0].len()).map(|target| variance(&rows, target)).collect();
        let mut permuted = Self { function, head, rows, variances, losses: Vec::new(), seed };
        let codes: Vec<&[f64]> = permuted.rows.rows().collect();
        permuted.losses = permuted.losses_of(&codes);
        Ok(Some(permuted))
    }

    pub(super) fn row_count(&self) -> usize {
        self.rows.count()
    }

    /// The increase of the loss, averaged over permutations, with its standard error over rows.
    pub(super) fn of_column(&self, column: usize) -> Permutation {
        let count = self.row_count();
        let mut increases = vec![0.0; count];
        for repeat in 0..REPEATS {
            let order = permutation(self.seed, (column * REPEATS + repeat) as u64, count);
            let values: Vec<f64> = self.rows.rows().map(|row| row[column]).collect();
            let moved: Vec<Vec<f64>> =
                self.rows.rows().zip(&order).map(|(row, &from)| with(row, column, values[from])).collect();
            let losses = self.losses_of(&moved.iter().map(Vec::as_slice).collect::<Vec<_>>());
            for (increase, (moved, own)) in increases.iter_mut().zip(losses.iter().zip(&self.losses)) {
                *increase += (moved - own) / REPEATS as f64;
            }
        }
        let weights = &self.rows.weights;
        let total: f64 = weights.iter().sum();
        let mean = increases.iter().zip(weights).map(|(increase, weight)| increase * weight).sum::<f64>() / total;
        let square = |(increase, weight): (&f64, &f64)| (weight * (increase - mean)).powi(2);
        let squares: f64 = increases.iter().zip(weights).map(square).sum();
        Permutation { increase: mean, standard_error: squares.sqrt() / total }
    }

    fn losses_of(&self, rows: &[&[f64]]) -> Vec<f64> {
        let predictions = self.function.predict(rows);
        let loss = |(values, targets): (ndarray::ArrayView1<f64>, &Vec<f64>)| match self.head {
            Head::Numbers { .. } => {
                let errors = values.iter().zip(targets).zip(&self.variances);
                errors.map(|((value, target), unit)| (value - target).powi(2) / unit).sum::<f64>()
                    / targets.len() as f64
            }
            Head::Labels(labels) => f64::from(u8::from(labels.decide(&values.to_vec()) as f64 != targets[0])),
        };
        predictions.rows().into_iter().zip(&self.rows.targets).map(loss).collect()
    }
}

/// The variance of a target over the rows; 1 where it does not vary.
fn variance(rows: &RowSample, target: usize) -> f64 {
    let total: f64 = rows.weights.iter().sum();
    let weighted = || rows.targets.iter().map(|targets| targets[target]).zip(&rows.weights);
    let mean = weighted().map(|(value, weight)| value * weight).sum::<f64>() / total;
    let variance = weighted().map(|(value, weight)| weight * (value - mean).powi(2)).sum::<f64>() / total;
    if variance > 0.0 { variance } else { 1.0 }
}
