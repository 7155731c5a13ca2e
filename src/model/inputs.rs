//! Raw rows to scaled inputs: the same code in training and in serving.

use crate::dataset::{Encoding, Scaling};
use crate::linalg::checkpoint;
use ndarray::Array2;

/// Rows between two questions whether to stop: many inputs of so few rows take milliseconds, and few inputs less than
/// the question.
const ROWS_AT_ONCE: usize = 16;

/// Encoding, then imputation, then scaling, then the metric.
#[derive(Debug, Clone, PartialEq)]
pub struct InputPipeline {
    /// Cells to numbers.
    pub encoding: Encoding,
    /// Numbers to inputs of comparable size.
    pub scaling: Scaling,
    /// M^½ of a full learned metric, d×d and symmetric: the kernel is k(M^½x, M^½x'). A diagonal one is part of the
    /// scaling.
    pub metric_root: Option<Array2<f64>>,
}

impl InputPipeline {
    /// d.
    pub fn input_dim(&self) -> usize {
        self.scaling.factor.len()
    }

    /// Turns rows of codes into inputs (rows×d).
    pub fn prepare<'a>(&self, rows: impl ExactSizeIterator<Item = &'a [f64]>) -> Array2<f64> {
        let scaled = self.prepare_scaled(rows);
        match &self.metric_root {
            Some(root) => product_by_rows(&scaled, root),
            None => scaled,
        }
    }

    /// Turns rows of codes into inputs before the metric (rows×d), for a map that the metric is folded into.
    pub fn prepare_scaled<'a>(&self, rows: impl ExactSizeIterator<Item = &'a [f64]>) -> Array2<f64> {
        let shape = (rows.len(), self.input_dim());
        let mut inputs = vec![0.0; shape.0 * shape.1]; // rows×d
        for (row, (codes, input)) in rows.zip(inputs.chunks_exact_mut(shape.1.max(1))).enumerate() {
            if row % ROWS_AT_ONCE == 0 {
                checkpoint();
            }
            self.encoding.encode(codes.iter().copied(), input);
            self.scaling.apply(input);
        }
        Array2::from_shape_vec(shape, inputs).expect("as many elements")
    }
}

/// XR, row by row: a row has the same bits in any batch, which products of whole blocks do not promise.
fn product_by_rows(inputs: &Array2<f64>, root: &Array2<f64>) -> Array2<f64> {
    let mut products = Array2::zeros(inputs.dim());
    for (input, mut product) in inputs.rows().into_iter().zip(products.rows_mut()) {
        checkpoint(); // a row takes d² steps
        for (value, row) in input.iter().zip(root.rows()) {
            product.scaled_add(*value, &row);
        }
    }
    products
}
