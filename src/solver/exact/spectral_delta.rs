//! How near K̃ = ΨΨᵀ is to K in the sense that matters to ridge regression.

use super::{SolveError, kernel_matrix};
use crate::features::Kernel;
use crate::linalg::{Real, Triangle, lower_factor, symmetric_eigenvalues};
use ndarray::{Array2, ArrayView2};

/// The smallest Δ with (1−Δ)(K+θI) ≼ K̃+θI ≼ (1+Δ)(K+θI), θ = `shift`: from the extreme eigenvalues of
/// L⁻¹(K̃+θI)L⁻ᵀ with L·Lᵀ = K+θI. Dense, so for a sample of rows. [A, Definition 1]
pub fn spectral_delta(
    kernel: Kernel,
    inputs: ArrayView2<f64>,
    features: ArrayView2<f64>,
    shift: f64,
    threads: usize,
) -> Result<f64, SolveError> {
    let shifted = |mut matrix: Array2<f64>| {
        matrix.diag_mut().mapv_inplace(|value| value + shift);
        matrix
    };
    let lower = lower_factor(shifted(kernel_matrix(kernel, inputs, inputs)), threads)?;
    let mut ratio = shifted(features.dot(&features.t()));
    f64::solve_triangle(Triangle::TransposedFromTheRight, lower.view(), ratio.view_mut());
    f64::solve_triangle(Triangle::Lower, lower.view(), ratio.view_mut());
    let eigenvalues = symmetric_eigenvalues(ratio)?;
    let (smallest, largest) = (eigenvalues[0], eigenvalues[eigenvalues.len() - 1]);
    Ok((1.0 - smallest).max(largest - 1.0))
}
