//! The Laplace kernel in the 1-norm; its frequencies are independent Cauchy(0, 1/σ).

use super::distance::absolute;
use ndarray::ArrayView1;
use std::f64::consts::PI;

/// k(x,x') = exp(−‖x−x'‖₁/σ).
pub(crate) fn evaluate(bandwidth: f64, left: ArrayView1<f64>, right: ArrayView1<f64>) -> f64 {
    (-absolute(left, right) / bandwidth).exp()
}

/// The Cauchy quantile tan(π(u − ½))/σ of each uniform.
pub(crate) fn frequency(bandwidth: f64, uniforms: &[f64], frequency: &mut [f64]) {
    for (coordinate, u) in frequency.iter_mut().zip(uniforms) {
        *coordinate = libm::tan(PI * (u - 0.5)) / bandwidth;
    }
}
