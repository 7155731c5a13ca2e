//! Distances between rows.

use ndarray::ArrayView1;

/// ‖x−x'‖².
pub fn squared(left: ArrayView1<f64>, right: ArrayView1<f64>) -> f64 {
    left.iter().zip(right).map(|(a, b)| (a - b) * (a - b)).sum()
}

/// ‖x−x'‖₁.
pub fn absolute(left: ArrayView1<f64>, right: ArrayView1<f64>) -> f64 {
    left.iter().zip(right).map(|(a, b)| (a - b).abs()).sum()
}

/// ‖x‖.
pub fn norm(vector: ArrayView1<f64>) -> f64 {
    vector.dot(&vector).sqrt()
}
