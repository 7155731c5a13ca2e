//! Exact kernel ridge regression by a dense solve: (K + nλI)α = y, for all targets at once.
//!
//! O(n²) memory and O(n³) time, so for small n only.

use super::SolveError;
use crate::features::Kernel;
use crate::linalg::Cholesky;
use ndarray::{Array2, ArrayView2};

/// The exact solution α with what the bounds need of it.
pub struct ExactKrr {
    kernel: Kernel,
    inputs: Array2<f64>,
    /// α, n×k.
    pub coefficients: Array2<f64>,
    /// Q = αᵀKα, summed over the targets.
    pub quadratic_form: f64,
    /// ‖Kα‖², summed likewise.
    pub fitted_square: f64,
    /// ‖(K + nλI)α − y‖ / ‖y‖.
    pub relative_residual: f64,
}

impl ExactKrr {
    /// Solves for `inputs` (n×d) and centred `targets` (n×k) at the per-sample `ridge` λ.
    pub fn solve(
        kernel: Kernel,
        inputs: Array2<f64>,
        targets: ArrayView2<f64>,
        ridge: f64,
        threads: usize,
    ) -> Result<Self, SolveError> {
        let n = inputs.nrows();
        let shift = n as f64 * ridge;
        let k_nn = kernel_matrix(kernel, inputs.view(), inputs.view()); // n×n
        let mut system = k_nn.clone();
        system.diag_mut().mapv_inplace(|value| value + shift);
        let coefficients = Cholesky::factor(system, threads)?.solve_columns(targets.to_owned());

        let fitted = k_nn.dot(&coefficients); // Kα
        let residual = &fitted + &coefficients * shift - targets;
        Ok(Self {
            quadratic_form: (&coefficients * &fitted).sum(),
            fitted_square: (&fitted * &fitted).sum(),
            relative_residual: ((&residual * &residual).sum() / (&targets * &targets).sum()).sqrt(),
            kernel,
            inputs,
            coefficients,
        })
    }

    /// f(x') = Σ αᵢ k(x', xᵢ) for each row of `inputs`, rows×k.
    pub fn predict(&self, inputs: ArrayView2<f64>) -> Array2<f64> {
        kernel_matrix(self.kernel, inputs, self.inputs.view()).dot(&self.coefficients)
    }
}

/// k(xᵢ, zⱼ) for all pairs of rows.
fn kernel_matrix(kernel: Kernel, left: ArrayView2<f64>, right: ArrayView2<f64>) -> Array2<f64> {
    Array2::from_shape_fn((left.nrows(), right.nrows()), |(i, j)| kernel.evaluate(left.row(i), right.row(j)))
}
