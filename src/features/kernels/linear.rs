//! The linear kernel, sketched by random projections.

use ndarray::ArrayView1;

/// k(x,x') = xᵀx'.
pub(crate) fn evaluate(left: ArrayView1<f64>, right: ArrayView1<f64>) -> f64 {
    left.dot(&right)
}
