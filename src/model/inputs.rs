//! Raw rows to scaled inputs: the same path in training and in serving.

use crate::dataset::{Encoding, Scaling};
use crate::linalg::Real;
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

    /// Turns rows of codes into inputs (rows×d). Scaled in f64, then rounded.
    pub fn prepare<'a, T: Real>(&self, rows: impl ExactSizeIterator<Item = &'a [f64]>) -> Array2<T> {
        let mut inputs = Array2::zeros((rows.len(), self.input_dim())); // rows×d
        let mut scaled = vec![0.0; self.input_dim()];
        for (codes, mut target) in rows.zip(inputs.axis_iter_mut(Axis(0))) {
            self.encoding.encode(codes.iter().copied(), &mut scaled);
            self.scaling.apply(&mut scaled);
            for (to, from) in target.iter_mut().zip(&scaled) {
                *to = T::from_f64(*from);
            }
        }
        inputs
    }
}
