//! The share of each column in the difference between a prediction and that of a baseline row: the integral of the gradient
//! along the line between the two, in closed form for functions of waves. Shapley values would take a number of predictions
//! that doubles with every column; these shares take one gradient and add up exactly as well.

use crate::features::{MapKind, WaveSum};
use crate::model::{FittedModel, Function, InputPipeline};
use ndarray::{Array1, Array2, ArrayView2, s};
use std::ops::Range;

/// The shares of some rows.
#[derive(Debug, Clone, PartialEq)]
pub struct Contributions {
    /// Outputs at the baseline, k.
    pub baseline: Vec<f64>,
    /// Rows × k·columns: for each output, the columns of the model.
    pub shares: Array2<f64>,
}

/// A function made ready to share out its predictions.
pub(in crate::model) struct Contributor {
    sum: WaveSum,
    /// The typical row, scaled.
    baseline: Array1<f64>,
    values: Vec<f64>,
    /// The inputs of each column.
    columns: Vec<Range<usize>>,
}

impl Contributor {
    /// None where the features are not waves.
    pub(in crate::model) fn new(function: Function) -> Option<Self> {
        let inputs: &InputPipeline = function.inputs;
        let sum = WaveSum::new(function.map, function.weights, inputs.metric_root.as_ref())?;
        let baseline = inputs.prepare_scaled([inputs.typical_codes().as_slice()].into_iter());
        let values = sum.values(baseline.view());
        let values = values.iter().zip(function.intercepts).map(|(value, shift)| value + shift).collect();
        Some(Self { sum, baseline: baseline.row(0).to_owned(), values, columns: inputs.encoding.input_ranges() })
    }

    /// The shares of rows of codes with these outputs, rows×k. What the outputs lose by features in single precision is
    /// given to the columns in proportion, to all alike where the row is the baseline, so that the shares add up to what is
    /// predicted.
    pub(in crate::model) fn share_out(
        &self,
        inputs: &InputPipeline,
        rows: &[&[f64]],
        outputs: ArrayView2<f64>,
    ) -> Contributions {
        let prepared = inputs.prepare_scaled(rows.iter().copied());
        let width = self.columns.len();
        let mut shares = Array2::zeros((rows.len(), self.values.len() * width));
        for ((input, mut shares), predicted) in prepared.rows().into_iter().zip(shares.rows_mut()).zip(outputs.rows()) {
            let by_input = self.sum.contributions(input, self.baseline.view()); // d×k
            for (output, by_input) in by_input.columns().into_iter().enumerate() {
                let mut own = shares.slice_mut(s![output * width..(output + 1) * width]);
                for (share, range) in own.iter_mut().zip(&self.columns) {
                    *share = by_input.slice(s![range.clone()]).sum();
                }
                let (lost, size) = (predicted[output] - self.values[output] - own.sum(), own.mapv(f64::abs).sum());
                let part = |share: f64| if size > 0.0 { share.abs() / size } else { 1.0 / width as f64 };
                own.mapv_inplace(|share| share + lost * part(share));
            }
        }
        Contributions { baseline: self.values.clone(), shares }
    }
}

impl FittedModel {
    /// Whether its predictions can be shared out among the columns.
    pub fn has_contributions(&self) -> bool {
        matches!(self.map.kind, MapKind::Pair | MapKind::Phase)
    }
}
