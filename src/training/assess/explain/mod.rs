//! What each column does to the outputs of a fitted function: how fast they change with it, what permuting it costs, their
//! mean at each of its values, and what single rows would have there.

/// Rows that explanations are averages over.
mod sample;

/// Held-out rows with what the function says about them.
mod held_out;

/// What permuting a column costs.
mod permutation;

/// The curves of single rows.
mod individual;

use super::scored_function::ScoredFunction;
use crate::dataset::{ColumnKind, InputColumn, Part};
use crate::features::{Gradients, WaveSum};
use crate::model::{ColumnExplanation, Explanations, Function, Head};
use crate::solver::in_order;
use crate::training::rows::run::Run;
use crate::training::stage::TrainError;
pub(crate) use held_out::sample_held_out;
use individual::IndividualRows;
use ndarray::{Array1, Array2, Axis, s};
use permutation::Permuted;
use sample::RowSample;
use std::ops::Range;

/// Training rows that sensitivities and dependences are averages over.
const ROWS: usize = 512;

/// Points of a column of numbers, and levels of a text column at most.
const POINTS: usize = 21;
const LEVELS: usize = 50;

/// Explains a function with the rows of a run.
pub(crate) fn explain(
    run: &Run,
    function: &ScoredFunction,
    head: &Head,
    seed: u64,
) -> Result<Explanations, TrainError> {
    let parts = function.parts;
    let training = RowSample::read(run, Part::Training, ROWS)?;
    let permuted = Permuted::new(run, function, head, seed)?;
    let waves = Waves::of(parts, &training);
    let individual = IndividualRows::of(&training);
    let columns = &parts.inputs.encoding.columns;
    let ranges = parts.inputs.encoding.input_ranges();
    let explained = in_order(
        run.threads,
        columns.len(),
        || None,
        |index, explained| -> Result<(), TrainError> {
            let points = points(&columns[index], index, &training);
            *explained = Some(ColumnExplanation {
                sensitivities: waves.as_ref().map_or_else(Vec::new, |waves| waves.sensitivities(ranges[index].clone())),
                permutation: permuted.as_ref().map(|permuted| permuted.of_column(index)),
                dependence: waves.as_ref().map_or_else(Vec::new, |waves| {
                    waves.dependence(parts, &training, (index, ranges[index].clone()), &points)
                }),
                individual: individual.curves(function, index, &points),
                points,
            });
            Ok(())
        },
        Vec::with_capacity(columns.len()),
        |_, explained: &Option<ColumnExplanation>, all: &mut Vec<ColumnExplanation>| {
            all.extend(explained.clone());
            run.stop_if_asked()
        },
    )?;
    let permuted_rows = permuted.as_ref().map_or(0, Permuted::row_count);
    let individual_rows = individual.numbers();
    Ok(Explanations { rows: training.count(), permuted_rows, columns: explained, individual_rows })
}

/// What only functions of waves can tell.
struct Waves {
    sum: WaveSum,
    /// The training rows, scaled.
    inputs: Array2<f64>,
    /// k×d: the mean squared gradient times the variance of each input; none where frequencies have heavy tails, whose
    /// gradients have no mean square.
    squares: Option<Array2<f64>>,
}

impl Waves {
    fn of(parts: Function, training: &RowSample) -> Option<Self> {
        let sum = WaveSum::new(parts.map, parts.weights, parts.inputs.metric_root.as_ref())?;
        let inputs = parts.inputs.prepare_scaled(training.rows());
        let smooth = !parts.map.kernel.is_heavy_tailed();
        let squares = sum.gradients().filter(|_| smooth).map(|gradients| squares(&gradients, &inputs));
        Some(Self { sum, inputs, squares })
    }

    fn sensitivities(&self, range: Range<usize>) -> Vec<f64> {
        let of_output = |squares: ndarray::ArrayView1<f64>| squares.slice(s![range.clone()]).sum().sqrt();
        self.squares.as_ref().map_or_else(Vec::new, |squares| squares.rows().into_iter().map(of_output).collect())
    }

    /// Points×k, row by row.
    fn dependence(
        &self,
        parts: Function,
        training: &RowSample,
        (column, range): (usize, Range<usize>),
        points: &[f64],
    ) -> Vec<f64> {
        let Some(row) = training.rows().next() else { return Vec::new() };
        let moved: Vec<Vec<f64>> = points.iter().map(|point| with(row, column, *point)).collect();
        let values = parts.inputs.prepare_scaled(moved.iter().map(Vec::as_slice));
        let values = values.slice(s![.., range.clone()]);
        let found = self.sum.partial_dependence(self.inputs.view(), range, values);
        (found + Array1::from(parts.intercepts.to_vec()).insert_axis(Axis(0))).iter().copied().collect()
    }
}

fn squares(gradients: &Gradients, inputs: &Array2<f64>) -> Array2<f64> {
    let variances = inputs.var_axis(Axis(0), 0.0);
    let mut squares = Array2::zeros((gradients.output_count(), inputs.ncols()));
    for (mut squares, gradient) in squares.rows_mut().into_iter().zip(gradients.at(inputs.view())) {
        let mean = (&gradient * &gradient).sum_axis(Axis(0)) / inputs.nrows().max(1) as f64;
        squares.assign(&(mean * &variances));
    }
    squares
}

/// Values of a column: evenly from the smallest to the largest of the rows, or its levels.
fn points(column: &InputColumn, index: usize, rows: &RowSample) -> Vec<f64> {
    match column.kind {
        ColumnKind::Boolean => vec![0.0, 1.0],
        ColumnKind::Categorical => (0..column.levels.len().min(LEVELS)).map(|level| level as f64).collect(),
        ColumnKind::Text => Vec::new(),
        ColumnKind::Numeric | ColumnKind::Date | ColumnKind::Datetime => {
            let known = || rows.rows().map(|row| row[index]).filter(|value| !value.is_nan());
            let (low, high) = (known().fold(f64::INFINITY, f64::min), known().fold(f64::NEG_INFINITY, f64::max));
            if low < high {
                let step = |point: usize| point as f64 / (POINTS - 1) as f64;
                (0..POINTS).map(|point| low * (1.0 - step(point)) + high * step(point)).collect()
            } else {
                known().next().into_iter().collect()
            }
        }
    }
}

/// A row with another value in one column.
fn with(row: &[f64], column: usize, value: f64) -> Vec<f64> {
    let mut row = row.to_vec();
    row[column] = value;
    row
}
