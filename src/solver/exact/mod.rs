//! Exact kernel ridge regression, (K + nλI)α = y for all targets at once.
//!
//! The system is factored where rows are few, and where that fits into memory and is cheaper than iterating. Otherwise
//! it is solved by conjugate gradients on tiles of K that are made anew for every product: in f32, then corrected by
//! the residual in f64 until that is small enough. Their memory grows with n and never with n².

/// Products with K.
mod kernel_matrix;

/// FFᵀ + θI.
mod low_rank;

/// K ≈ FFᵀ.
mod pivoted_cholesky;

/// The iteration.
mod conjugate_gradients;

/// Which of them is used.
mod preconditioner;

/// One system, many right sides.
mod exact_solver;

/// The effective dimension of the kernel.
mod dimension;

/// Several λ, with leave-one-out residuals.
mod kernel_path;

/// How near the features' kernel is to the kernel.
mod spectral_delta;

pub use dimension::{Dimension, PROBES};
pub use exact_solver::ExactSolver;
pub use kernel_path::{KernelFit, KernelPath, kernel_gradients};
pub use preconditioner::{Preconditioner, PreconditionerTrial};
pub use spectral_delta::spectral_delta;

use super::{Interrupted, SolveError};
use crate::features::{Exponential, Kernel, Precision};
use crate::linalg::checkpoint;
use kernel_matrix::{GoOn, KernelMatrix, Stopped};
use ndarray::{Array2, ArrayView2};
use serde::Serialize;

/// Rows up to which K is factored without looking at alternatives.
pub const DENSE_ROWS: usize = 3_000;

/// Bytes of a factor for each pair of rows.
const FACTOR_BYTES: u64 = 8;

/// Relative residual up to which a solution that missed its tolerance still stands for the exact one.
const TRUSTED_RESIDUAL: f64 = 1e-4;

/// The system.
#[derive(Clone, Copy)]
pub struct ExactProblem<'a> {
    /// k.
    pub kernel: Kernel,
    /// X, n×d.
    pub inputs: ArrayView2<'a, f64>,
    /// y, centred, n×k.
    pub targets: ArrayView2<'a, f64>,
    /// λ, per sample.
    pub ridge: f64,
    /// ‖(K + nλI)α − y‖/‖y‖ to be reached by every target.
    pub tolerance: f64,
    /// The features of a model of the same kernel, to precondition with.
    pub features: Option<&'a FeatureSource<'a>>,
    /// Of the products with K: in f64, or in f32 and corrected by residuals in f64.
    pub precision: Precision,
    /// Used whatever a trial would say.
    pub preconditioner: Option<Preconditioner>,
    /// Bytes that a factor or a preconditioner may take.
    pub memory: u64,
    /// Threads. The solution does not depend on them.
    pub threads: usize,
    /// Told how far a solve is, from 0 to 1 and never less than before: the share of a factorisation that is done, or the
    /// logarithm of the residual over that of the tolerance.
    pub progress: Option<&'a (dyn Fn(f64) + Sync)>,
}

/// Receives the progress of a solve and decides whether it goes on.
#[derive(Clone, Copy)]
pub struct Watch<'a> {
    /// Told a number from 0 to 1, never less than before.
    pub progress: Option<&'a (dyn Fn(f64) + Sync)>,
    /// False stops the work.
    pub go_on: &'a (dyn Fn() -> bool + Sync),
}

/// Features on demand.
pub struct FeatureSource<'a> {
    /// s.
    pub count: usize,
    /// Ψ of inputs, rows×s.
    pub make: &'a (dyn Fn(ArrayView2<f64>) -> Array2<f32> + Sync),
}

/// How a system was solved.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ExactSolve {
    /// ‖(K + nλI)α − y‖/‖y‖ in f64, the largest over the targets.
    pub relative_residual: f64,
    /// ‖(K + nλI)α − y‖, summed over the targets as squares.
    pub residual_norm: f64,
    /// Whether that is what was asked for.
    pub converged: bool,
    /// Of conjugate gradients; none for a dense solve.
    pub iterations: usize,
    /// Times the residual was worked out in f64 and corrected for.
    pub corrections: usize,
    /// What was used; nothing is for a dense solve.
    pub preconditioner: Preconditioner,
    /// Columns of the preconditioner.
    pub rank: usize,
    /// How it was chosen.
    pub trials: Vec<PreconditionerTrial>,
}

impl ExactSolve {
    /// Whether the solution is accurate enough to stand for the exact one.
    pub fn is_trusted(&self) -> bool {
        self.relative_residual <= TRUSTED_RESIDUAL
    }

    /// Of a solve that failed with this residual; 1 where there is none, as at α = 0.
    pub fn of_nothing(relative_residual: f64, target_norm: f64) -> Self {
        Self {
            relative_residual,
            residual_norm: relative_residual * target_norm,
            converged: false,
            iterations: 0,
            corrections: 0,
            preconditioner: Preconditioner::None,
            rank: 0,
            trials: Vec::new(),
        }
    }
}

/// The exact solution with what the bounds need of it.
pub struct ExactKrr {
    kernel: Kernel,
    inputs: Array2<f64>,
    /// α, n×k.
    pub coefficients: Array2<f64>,
    /// Kα, n×k.
    pub fitted: Array2<f64>,
    /// Q = αᵀKα, summed over the targets.
    pub quadratic_form: f64,
    /// ‖Kα‖², summed likewise.
    pub fitted_square: f64,
    /// How it was found.
    pub evidence: ExactSolve,
}

impl ExactProblem<'_> {
    /// Solves the system; `start` is a guess at α, and `go_on` is asked now and then whether to.
    pub fn solve(&self, start: Option<Array2<f64>>, go_on: &(dyn Fn() -> bool + Sync)) -> Result<ExactKrr, SolveError> {
        let watch = Watch { progress: self.progress, go_on };
        self.prepare(watch)?.solve(self.targets, self.tolerance, start, watch)
    }

    /// Tr K(K+nλI)⁻¹.
    pub fn dimension(&self, go_on: &(dyn Fn() -> bool + Sync)) -> Result<Dimension, SolveError> {
        let watch = Watch { progress: self.progress, go_on };
        self.prepare(watch)?.dimension(watch)
    }

    /// fᵀ(K + nλI)⁻¹f at f = Kα, summed over the targets.
    pub fn fitted_form(&self, exact: &ExactKrr, go_on: &(dyn Fn() -> bool + Sync)) -> Result<f64, SolveError> {
        let watch = Watch { progress: self.progress, go_on };
        self.prepare(watch)?.fitted_form(exact, self.tolerance, watch)
    }

    /// nλ.
    fn shift(&self) -> f64 {
        self.inputs.nrows() as f64 * self.ridge
    }
}

impl ExactKrr {
    /// f(x') = Σ αᵢ k(x', xᵢ) for each row of `inputs`, rows×k.
    pub fn predict(&self, inputs: ArrayView2<f64>) -> Array2<f64> {
        let matrix = KernelMatrix::<f64>::new(self.kernel, self.inputs.view(), 1);
        matrix.product_from(self.kernel, inputs, self.coefficients.view())
    }
}

impl From<Interrupted<Stopped>> for SolveError {
    fn from(interrupted: Interrupted<Stopped>) -> Self {
        match interrupted {
            Interrupted::Failed(Stopped) => Self::Stopped,
            Interrupted::Panicked => Self::Panicked,
        }
    }
}

/// (K + nλI)·V.
fn shifted_product<T: Exponential>(
    matrix: &KernelMatrix<T>,
    shift: f64,
    v: &Array2<f64>,
    go_on: GoOn,
) -> Result<Array2<f64>, SolveError> {
    Ok(matrix.product(v.view(), go_on)? + v * shift)
}

/// k(xᵢ, zⱼ) for all pairs of rows.
fn kernel_matrix(kernel: Kernel, left: ArrayView2<f64>, right: ArrayView2<f64>) -> Array2<f64> {
    Array2::from_shape_fn((left.nrows(), right.nrows()), |(i, j)| {
        if j == 0 {
            checkpoint();
        }
        kernel.evaluate(left.row(i), right.row(j))
    })
}
