//! Raw rows to scaled inputs: the same path in training and in serving.

use crate::dataset::{Encoding, Scaling};
use ndarray::{Array2, Axis};
use serde::{Deserialize, Serialize};

/// Encoding, then filling in, then scaling.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct InputPipeline {
    /// Cells to numbers.
    pub encoding: Encoding,
    /// Numbers to inputs of comparable size.
    pub scaling: Scaling,
}

impl InputPipeline {
    /// d.
    pub fn input_dim(&self) -> usize {
        self.scaling.factor.len()
    }

    /// Turns rows of codes into inputs (rows×d).
    pub fn prepare<'a>(&self, rows: impl ExactSizeIterator<Item = &'a [f64]>) -> Array2<f64> {
        let mut inputs = Array2::zeros((rows.len(), self.input_dim())); // rows×d
        for (codes, mut input) in rows.zip(inputs.axis_iter_mut(Axis(0))) {
            let input = input.as_slice_mut().expect("a fresh array is row-major");
            self.encoding.encode(codes.iter().copied(), input);
            self.scaling.apply(input);
        }
        inputs
    }
}
