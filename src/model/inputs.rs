//! Raw rows to scaled inputs: the same path in training and in serving.

use crate::dataset::{Encoding, Scaling};
use ndarray::Array2;

/// Encoding, then filling in, then scaling.
#[derive(Debug, Clone, PartialEq)]
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
        let shape = (rows.len(), self.input_dim());
        let mut inputs = vec![0.0; shape.0 * shape.1]; // rows×d
        for (codes, input) in rows.zip(inputs.chunks_exact_mut(shape.1.max(1))) {
            self.encoding.encode(codes.iter().copied(), input);
            self.scaling.apply(input);
        }
        Array2::from_shape_vec(shape, inputs).expect("as many elements")
    }
}
