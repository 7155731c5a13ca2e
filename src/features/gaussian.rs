//! The gaussian kernel and its spectral density, N(0, I/σ²).

use crate::random::Stream;
use ndarray::ArrayView1;

/// k(x,x') = exp(−‖x−x'‖²/(2σ²)).
pub(super) fn evaluate(bandwidth: f64, left: ArrayView1<f64>, right: ArrayView1<f64>) -> f64 {
    let squared: f64 = left.iter().zip(right).map(|(a, b)| (a - b) * (a - b)).sum();
    (-squared / (2.0 * bandwidth * bandwidth)).exp()
}

/// One frequency v ~ N(0, I/σ²).
pub(super) fn sample(bandwidth: f64, stream: &mut Stream, frequency: &mut [f64]) {
    for coordinate in frequency {
        *coordinate = stream.normal() / bandwidth;
    }
}

/// σ = √((1/n²) ΣΣ ‖xᵢ−xⱼ‖²) = √(2 Σⱼ Varⱼ), exact in one pass. [W, §6.1]
pub(super) fn mean_distance(variances: &[f64]) -> f64 {
    (2.0 * variances.iter().sum::<f64>()).sqrt()
}
