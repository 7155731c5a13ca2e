//! The Cauchy kernel; its frequencies are independent Laplace(0, 1/σ).

use ndarray::ArrayView1;

/// k(x,x') = Π 1/(1 + (xⱼ−x'ⱼ)²/σ²).
pub(crate) fn evaluate(bandwidth: f64, left: ArrayView1<f64>, right: ArrayView1<f64>) -> f64 {
    left.iter().zip(right).map(|(a, b)| 1.0 / (1.0 + ((a - b) / bandwidth).powi(2))).product()
}

/// The Laplace quantile of each uniform.
pub(crate) fn frequency(bandwidth: f64, uniforms: &[f64], frequency: &mut [f64]) {
    for (coordinate, u) in frequency.iter_mut().zip(uniforms) {
        let exponential = -libm::log(2.0 * f64::min(*u, 1.0 - u));
        *coordinate = exponential.copysign(u - 0.5) / bandwidth;
    }
}
