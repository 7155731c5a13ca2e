//! The linear kernel, sketched by random projections.

use super::distance::inner_product;
use ndarray::ArrayView1;

/// k(x,x') = xᵀx'.
pub(crate) fn evaluate(left: ArrayView1<f64>, right: ArrayView1<f64>) -> f64 {
    inner_product(left, right)
}
