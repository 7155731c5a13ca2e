//! The gaussian kernel; its spectral density is N(0, I/σ²).

use super::distance::squared;
use ndarray::ArrayView1;

/// k(x,x') = exp(−‖x−x'‖²/(2σ²)).
pub(crate) fn evaluate(bandwidth: f64, left: ArrayView1<f64>, right: ArrayView1<f64>) -> f64 {
    (-squared(left, right) / (2.0 * bandwidth * bandwidth)).exp()
}

/// v = z/σ, z standard normal.
pub(crate) fn stretch(bandwidth: f64) -> f64 {
    1.0 / bandwidth
}
