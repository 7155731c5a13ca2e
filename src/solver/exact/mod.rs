//! Exact kernel ridge regression, (K + nλI)α = y for all targets at once: the yardstick.
//!
//! Few rows are solved densely. Many are by conjugate gradients on tiles of K that are made anew for every
//! product: in f32, then corrected by the residual in f64 until that is as small as it should be. Memory
//! grows with n and never with n².

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

/// The effective dimension of the kernel.
mod dimension;

/// How near the features' kernel is to the kernel.
mod spectral_delta;

pub use dimension::Dimension;
pub use preconditioner::{Preconditioner, Trial};
pub use spectral_delta::spectral_delta;

use super::{Interrupted, SolveError};
use crate::features::{Exponential, Kernel, Precision};
use crate::linalg::Cholesky;
use conjugate_gradients::{Goal, conjugate_gradients, largest_ratio, norms};
use kernel_matrix::{GoOn, KernelMatrix, Stopped};
use ndarray::{Array2, ArrayView2};
use serde::{Deserialize, Serialize};
use std::cell::Cell;

/// Rows up to which K is held and factored.
pub const DENSE_ROWS: usize = 3_000;

/// Residuals in f64 at most, and the least that an inner solve must gain between two of them.
const CORRECTIONS: usize = 12;
const INNER_TOLERANCE: f64 = 1e-4;

/// Iterations in all: as many as two million million kernel values allow, within bounds. Counted and not timed,
/// so that the solution is the same on every run.
const KERNEL_VALUES: f64 = 2e12;
const ITERATIONS: std::ops::RangeInclusive<usize> = 50..=1_000;

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
    /// Bytes a preconditioner may take.
    pub memory: u64,
    /// Threads. The solution does not depend on them.
    pub threads: usize,
    /// Told how far an iterated solve is, from 0 to 1 and never less than before: the logarithm of the residual over
    /// that of the tolerance.
    pub progress: Option<&'a (dyn Fn(f64) + Sync)>,
}

/// Features on demand.
pub struct FeatureSource<'a> {
    /// s.
    pub count: usize,
    /// Ψ of inputs, rows×s.
    pub make: &'a (dyn Fn(ArrayView2<f64>) -> Array2<f32> + Sync),
}

/// How a system was solved.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ExactEvidence {
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
    pub trials: Vec<Trial>,
}

impl ExactEvidence {
    /// Of α = 0, where the system could not be solved at all.
    pub fn of_nothing(target_norm: f64) -> Self {
        Self {
            relative_residual: 1.0,
            residual_norm: target_norm,
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
    pub evidence: ExactEvidence,
}

impl ExactProblem<'_> {
    /// Solves the system; `start` is a guess at α, and `go_on` is asked now and then whether to.
    pub fn solve(&self, start: Option<Array2<f64>>, go_on: &(dyn Fn() -> bool + Sync)) -> Result<ExactKrr, SolveError> {
        if self.inputs.nrows() <= DENSE_ROWS && self.preconditioner.is_none() {
            return self.solve_densely();
        }
        let single = KernelMatrix::<f32>::new(self.kernel, self.inputs, self.threads);
        let double = KernelMatrix::<f64>::new(self.kernel, self.inputs, self.threads);
        let (kind, trials) = match self.preconditioner {
            Some(kind) => (kind, Vec::new()),
            None => self.choose(go_on)?,
        };
        let preconditioner = self.build(kind, &single, go_on)?;
        let sizes = norms(&self.targets.to_owned());
        let mut coefficients = start.unwrap_or_else(|| Array2::zeros(self.targets.dim()));
        let (mut iterations, mut corrections) = (0, 0);
        let mut before = f64::INFINITY;
        let furthest = Cell::new(0.0);
        loop {
            let fitted = if coefficients.iter().all(|value| *value == 0.0) {
                Array2::zeros(coefficients.dim())
            } else {
                double.product(coefficients.view(), go_on)?
            };
            let residual = &self.targets - &fitted - &coefficients * self.shift();
            let left = norms(&residual);
            let relative = largest_ratio(&left, &sizes);
            let converged = relative <= self.tolerance;
            let stuck = relative > 0.9 * before && self.precision == Precision::Double;
            let spent = corrections == CORRECTIONS || iterations >= self.iteration_limit() || stuck;
            if converged || spent || !relative.is_finite() {
                let evidence = ExactEvidence {
                    relative_residual: relative,
                    residual_norm: left.dot(&left).sqrt(),
                    converged,
                    iterations,
                    corrections,
                    preconditioner: kind,
                    rank: preconditioner.as_ref().map_or(0, low_rank::LowRank::rank),
                    trials,
                };
                return self.solution(coefficients, fitted, evidence);
            }
            // Where f32 has no more to give, f64 has.
            let in_double = self.precision == Precision::Double || relative > 0.3 * before;
            let needed = self.tolerance / relative;
            let tolerance = if in_double { needed } else { (0.5 * needed).max(INNER_TOLERANCE) };
            let goal = Goal { tolerance, iteration_limit: self.iteration_limit() - iterations };
            let multiply = |v: &Array2<f64>| {
                if in_double { self.multiply(&double, v, go_on) } else { self.multiply(&single, v, go_on) }
            };
            let told = |ratio: f64| self.tell(relative * ratio, &furthest);
            let correction = conjugate_gradients(multiply, preconditioner.as_ref(), &residual, &goal, &told)?;
            coefficients += &correction.solution;
            iterations += correction.iterations;
            corrections += 1;
            before = relative;
        }
    }

    /// fᵀ(K + nλI)⁻¹f at f = Kα, summed over the targets: one more solve, which α is near to.
    pub fn fitted_form(&self, exact: &ExactKrr, go_on: &(dyn Fn() -> bool + Sync)) -> Result<f64, SolveError> {
        let problem = ExactProblem { targets: exact.fitted.view(), ..*self };
        let solved = problem.solve(Some(exact.coefficients.clone()), go_on)?;
        Ok((&exact.fitted * &solved.coefficients).sum())
    }

    /// Tells how far a residual is, where that is further than the furthest so far.
    fn tell(&self, relative: f64, furthest: &Cell<f64>) {
        let Some(progress) = self.progress else { return };
        let fraction = (relative.ln() / self.tolerance.ln()).clamp(0.0, 1.0);
        if fraction > furthest.get() {
            furthest.set(fraction);
            progress(fraction);
        }
    }

    fn iteration_limit(&self) -> usize {
        let affordable = KERNEL_VALUES / (self.inputs.nrows() as f64).powi(2);
        (affordable as usize).clamp(*ITERATIONS.start(), *ITERATIONS.end())
    }

    /// nλ.
    fn shift(&self) -> f64 {
        self.inputs.nrows() as f64 * self.ridge
    }

    /// (K + nλI)·V.
    fn multiply<T: Exponential>(
        &self,
        matrix: &KernelMatrix<T>,
        v: &Array2<f64>,
        go_on: GoOn,
    ) -> Result<Array2<f64>, SolveError> {
        Ok(matrix.product(v.view(), go_on)? + v * self.shift())
    }

    fn solve_densely(&self) -> Result<ExactKrr, SolveError> {
        let k_nn = kernel_matrix(self.kernel, self.inputs, self.inputs); // n×n
        let mut system = k_nn.clone();
        system.diag_mut().mapv_inplace(|value| value + self.shift());
        let factor = Cholesky::factor(system, self.threads).map_err(|_| SolveError::Singular { ridge: self.ridge })?;
        let coefficients = factor.solve_columns(self.targets.to_owned());
        let fitted = k_nn.dot(&coefficients); // Kα
        let residual = norms(&(&fitted + &coefficients * self.shift() - self.targets));
        let sizes = norms(&self.targets.to_owned());
        let relative_residual = largest_ratio(&residual, &sizes);
        let evidence = ExactEvidence {
            relative_residual,
            residual_norm: residual.dot(&residual).sqrt(),
            converged: relative_residual <= self.tolerance,
            iterations: 0,
            corrections: 0,
            preconditioner: Preconditioner::None,
            rank: 0,
            trials: Vec::new(),
        };
        self.solution(coefficients, fitted, evidence)
    }

    fn solution(
        &self,
        coefficients: Array2<f64>,
        fitted: Array2<f64>,
        evidence: ExactEvidence,
    ) -> Result<ExactKrr, SolveError> {
        if !coefficients.iter().all(|value| value.is_finite()) {
            return Err(SolveError::NotFinite { ridge: self.ridge });
        }
        Ok(ExactKrr {
            kernel: self.kernel,
            inputs: self.inputs.to_owned(),
            quadratic_form: (&coefficients * &fitted).sum(),
            fitted_square: (&fitted * &fitted).sum(),
            coefficients,
            fitted,
            evidence,
        })
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

/// k(xᵢ, zⱼ) for all pairs of rows.
fn kernel_matrix(kernel: Kernel, left: ArrayView2<f64>, right: ArrayView2<f64>) -> Array2<f64> {
    Array2::from_shape_fn((left.nrows(), right.nrows()), |(i, j)| kernel.evaluate(left.row(i), right.row(j)))
}
