//! One kernel system made ready for many right sides: factored, or with its preconditioner built.

use super::conjugate_gradients::{Goal, conjugate_gradients, largest_ratio, norms};
use super::kernel_matrix::{GoOn, KernelMatrix};
use super::low_rank::LowRank;
use super::preconditioner::PreconditionerChoice;
use super::{
    DENSE_ROWS, ExactKrr, ExactProblem, ExactSolve, FACTOR_BYTES, Preconditioner, PreconditionerTrial, SolveError,
    Watch, shifted_product,
};
use crate::features::{Kernel, Precision};
use crate::linalg::Cholesky;
use ndarray::{Array1, Array2, ArrayView2};
use std::cell::Cell;

/// Residuals in f64 at most, and the least that an inner solve must gain between two of them.
const CORRECTIONS: usize = 12;
const INNER_TOLERANCE: f64 = 1e-4;

/// Iterations in all: as many as two million million kernel values allow, within bounds. Counted and not timed,
/// so that the solution is the same on every run.
const KERNEL_VALUES: f64 = 2e12;
const ITERATIONS: std::ops::RangeInclusive<usize> = 50..=1_000;

/// A forecast of more than this many times the iterations that are allowed is not worth a try.
const HOPELESS: f64 = 4.0;

/// (K + nλI) of some rows, ready to divide by.
pub struct ExactSolver {
    kernel: Kernel,
    inputs: Array2<f64>,
    ridge: f64,
    precision: Precision,
    threads: usize,
    /// K in both precisions.
    single: KernelMatrix<f32>,
    double: KernelMatrix<f64>,
    method: SolveMethod,
    trials: Vec<PreconditionerTrial>,
    /// Iterations after which a factorisation is cheaper than more of them; none where it does not fit or is not wanted.
    factor_after: Option<usize>,
}

enum SolveMethod {
    Factored(Cholesky),
    Iterated(Preconditioner, Option<LowRank>),
}

impl ExactProblem<'_> {
    /// Factors the system or builds its preconditioner, whichever should be cheaper. An error where neither the memory
    /// for a factor nor the iterations allowed are likely to be enough.
    pub fn prepare(&self, watch: Watch) -> Result<ExactSolver, SolveError> {
        let single = KernelMatrix::new(self.kernel, self.inputs, self.threads);
        let double = KernelMatrix::new(self.kernel, self.inputs, self.threads);
        let (method, trials) = self.method(&single, &double, watch)?;
        let factor_after = match &method {
            SolveMethod::Iterated(_, low_rank) if self.preconditioner.is_none() && self.can_factor() => {
                Some(self.factor_iterations(low_rank.as_ref().map_or(0, LowRank::rank)))
            }
            SolveMethod::Iterated(..) | SolveMethod::Factored(_) => None,
        };
        Ok(ExactSolver {
            kernel: self.kernel,
            inputs: self.inputs.to_owned(),
            ridge: self.ridge,
            precision: self.precision,
            threads: self.threads,
            single,
            double,
            method,
            trials,
            factor_after,
        })
    }

    fn method(
        &self,
        single: &KernelMatrix<f32>,
        double: &KernelMatrix<f64>,
        watch: Watch,
    ) -> Result<(SolveMethod, Vec<PreconditionerTrial>), SolveError> {
        let n = self.inputs.nrows();
        if let Some(kind) = self.preconditioner {
            return Ok((SolveMethod::Iterated(kind, self.build(kind, single, watch.go_on)?), Vec::new()));
        }
        if n <= DENSE_ROWS {
            return Ok((SolveMethod::Factored(factor(double, self.ridge, watch, 0.0)?), Vec::new()));
        }
        let PreconditionerChoice { preconditioner, trials, cost, iterations } = self.choose(watch.go_on)?;
        if !self.can_factor() && iterations > HOPELESS * iteration_limit(n) as f64 {
            let bytes = FACTOR_BYTES * (n * n) as u64;
            return Err(SolveError::OutOfReach { ridge: self.ridge, iterations, bytes });
        }
        if self.can_factor() && self.factor_cost() <= cost {
            return Ok((SolveMethod::Factored(factor(double, self.ridge, watch, 0.0)?), trials));
        }
        Ok((SolveMethod::Iterated(preconditioner, self.build(preconditioner, single, watch.go_on)?), trials))
    }
}

/// The factor of K + nλI. `reached` is the progress reported so far.
fn factor(matrix: &KernelMatrix<f64>, ridge: f64, watch: Watch, reached: f64) -> Result<Cholesky, SolveError> {
    let system = matrix.lower_triangle(matrix.points().count() as f64 * ridge, watch.go_on)?;
    let go_on = |done: f64| {
        if let Some(progress) = watch.progress {
            progress(reached + (1.0 - reached) * done);
        }
        (watch.go_on)()
    };
    let factor = Cholesky::factor_while(system, matrix.threads(), go_on);
    factor.map_err(|_| SolveError::Singular { ridge })?.ok_or(SolveError::Stopped)
}

impl ExactSolver {
    /// Whether the system is factored, so that each right side costs little.
    pub fn is_factored(&self) -> bool {
        matches!(self.method, SolveMethod::Factored(_))
    }

    /// Solves for `targets`, to ‖(K + nλI)α − y‖ ≤ tolerance·‖y‖ for each of them; `start` is a guess at α. Iterations that
    /// cost more than a factorisation would are given up for one where it fits.
    pub fn solve(
        &mut self,
        targets: ArrayView2<f64>,
        tolerance: f64,
        start: Option<Array2<f64>>,
        watch: Watch,
    ) -> Result<ExactKrr, SolveError> {
        let goal = RightSide { sizes: norms(&targets.to_owned()), targets, tolerance };
        let reached = Cell::new(0.0);
        let found = match &self.method {
            SolveMethod::Factored(factor) => return self.divide(factor, &goal, watch),
            SolveMethod::Iterated(kind, low_rank) => {
                self.iterate(&goal, (*kind, low_rank.as_ref()), start, watch, &reached)?
            }
        };
        if found.evidence.converged || self.factor_after.is_none() {
            return Ok(found);
        }
        self.factor_after = None;
        match factor(&self.double, self.ridge, watch, reached.get()) {
            Ok(factor) => self.method = SolveMethod::Factored(factor),
            Err(SolveError::Singular { .. }) => {} // more iterations are all there is
            Err(other) => return Err(other),
        }
        self.solve(goal.targets, tolerance, Some(found.coefficients), watch)
    }

    /// fᵀ(K + nλI)⁻¹f at f = Kα, summed over the targets: one more solve, which α is near to.
    pub fn fitted_form(&mut self, exact: &ExactKrr, tolerance: f64, watch: Watch) -> Result<f64, SolveError> {
        let start = Some(exact.coefficients.clone());
        let solved = self.solve(exact.fitted.view(), tolerance, start, watch)?;
        if !solved.evidence.is_trusted() {
            return Err(self.not_converged(&solved.evidence));
        }
        Ok((&exact.fitted * &solved.coefficients).sum())
    }

    /// nλ.
    pub(super) fn shift(&self) -> f64 {
        self.inputs.nrows() as f64 * self.ridge
    }

    pub(super) fn ridge(&self) -> f64 {
        self.ridge
    }

    pub(super) fn row_count(&self) -> usize {
        self.inputs.nrows()
    }

    /// The factor, and the threads to use it on.
    pub(super) fn factored(&self) -> Option<(&Cholesky, usize)> {
        match &self.method {
            SolveMethod::Factored(factor) => Some((factor, self.threads)),
            SolveMethod::Iterated(..) => None,
        }
    }

    pub(super) fn not_converged(&self, evidence: &ExactSolve) -> SolveError {
        SolveError::NotConverged { residual: evidence.relative_residual, ridge: self.ridge }
    }

    /// By the factor, refined while that gains anything.
    fn divide(&self, factor: &Cholesky, goal: &RightSide, watch: Watch) -> Result<ExactKrr, SolveError> {
        let at = |coefficients: Array2<f64>, corrections: usize| {
            let fitted = self.double.product(coefficients.view(), watch.go_on)?;
            let residual = &goal.targets - &fitted - &coefficients * self.shift();
            let evidence = goal.evidence(&residual, (Preconditioner::None, 0), (0, corrections), &self.trials);
            Ok::<_, SolveError>((self.solution(coefficients, fitted, evidence)?, residual))
        };
        let (mut best, mut residual) = at(factor.solve_columns(goal.targets.to_owned()), 0)?;
        for corrections in 1..=CORRECTIONS {
            if best.evidence.converged {
                break;
            }
            let (next, left) = at(&best.coefficients + &factor.solve_columns(residual), corrections)?;
            // Below what rounding leaves, corrections gain nothing.
            let gain = next.evidence.relative_residual / best.evidence.relative_residual;
            if gain < 1.0 {
                best = next;
            }
            if gain > 0.5 {
                break;
            }
            residual = left;
        }
        Ok(best)
    }

    fn iterate(
        &self,
        goal: &RightSide,
        (kind, low_rank): (Preconditioner, Option<&LowRank>),
        start: Option<Array2<f64>>,
        watch: Watch,
        reached: &Cell<f64>,
    ) -> Result<ExactKrr, SolveError> {
        let limit = self.factor_after.unwrap_or(usize::MAX).min(iteration_limit(self.inputs.nrows()));
        let mut coefficients = start.unwrap_or_else(|| Array2::zeros(goal.targets.dim()));
        let (mut iterations, mut corrections) = (0, 0);
        let mut before = f64::INFINITY;
        loop {
            let fitted = if coefficients.iter().all(|value| *value == 0.0) {
                Array2::zeros(coefficients.dim())
            } else {
                self.double.product(coefficients.view(), watch.go_on)?
            };
            let residual = &goal.targets - &fitted - &coefficients * self.shift();
            let rank = low_rank.map_or(0, LowRank::rank);
            let evidence = goal.evidence(&residual, (kind, rank), (iterations, corrections), &self.trials);
            let relative = evidence.relative_residual;
            let stuck = relative > 0.9 * before && self.precision == Precision::Double;
            let spent = corrections == CORRECTIONS || iterations >= limit || stuck;
            if evidence.converged || spent || !relative.is_finite() {
                return self.solution(coefficients, fitted, evidence);
            }
            // Where f32 has no more to give, f64 has.
            let in_double = self.precision == Precision::Double || relative > 0.3 * before;
            let needed = goal.tolerance / relative;
            let tolerance = if in_double { needed } else { (0.5 * needed).max(INNER_TOLERANCE) };
            let inner = Goal { tolerance, iteration_limit: limit - iterations };
            let multiply = |v: &Array2<f64>| self.multiply(v, in_double, watch.go_on);
            let report = |ratio: f64| goal.report(relative * ratio, reached, watch);
            let correction = conjugate_gradients(multiply, low_rank, &residual, &inner, &report)?;
            coefficients += &correction.solution;
            iterations += correction.iterations;
            corrections += 1;
            before = relative;
        }
    }

    /// (K + nλI)·V.
    fn multiply(&self, v: &Array2<f64>, in_double: bool, go_on: GoOn) -> Result<Array2<f64>, SolveError> {
        if in_double {
            shifted_product(&self.double, self.shift(), v, go_on)
        } else {
            shifted_product(&self.single, self.shift(), v, go_on)
        }
    }

    fn solution(
        &self,
        coefficients: Array2<f64>,
        fitted: Array2<f64>,
        evidence: ExactSolve,
    ) -> Result<ExactKrr, SolveError> {
        if !coefficients.iter().all(|value| value.is_finite()) {
            return Err(SolveError::NotFinite { ridge: self.ridge });
        }
        Ok(ExactKrr {
            kernel: self.kernel,
            inputs: self.inputs.clone(),
            quadratic_form: (&coefficients * &fitted).sum(),
            fitted_square: (&fitted * &fitted).sum(),
            coefficients,
            fitted,
            evidence,
        })
    }
}

/// Targets, and how near to them Kα + nλα is to come.
struct RightSide<'a> {
    targets: ArrayView2<'a, f64>,
    /// ‖y‖ of each.
    sizes: Array1<f64>,
    tolerance: f64,
}

impl RightSide<'_> {
    fn evidence(
        &self,
        residual: &Array2<f64>,
        (preconditioner, rank): (Preconditioner, usize),
        (iterations, corrections): (usize, usize),
        trials: &[PreconditionerTrial],
    ) -> ExactSolve {
        let left = norms(residual);
        let relative_residual = largest_ratio(&left, &self.sizes);
        ExactSolve {
            relative_residual,
            residual_norm: left.dot(&left).sqrt(),
            converged: relative_residual <= self.tolerance,
            iterations,
            corrections,
            preconditioner,
            rank,
            trials: trials.to_vec(),
        }
    }

    /// Tells how far a residual is, where that is further than what was reached so far.
    fn report(&self, relative: f64, reached: &Cell<f64>, watch: Watch) {
        let fraction = (relative.ln() / self.tolerance.ln()).clamp(0.0, 1.0);
        if fraction > reached.get() {
            reached.set(fraction);
            if let Some(progress) = watch.progress {
                progress(fraction);
            }
        }
    }
}

/// Iterations that a solve may take.
pub(super) fn iteration_limit(rows: usize) -> usize {
    let affordable = KERNEL_VALUES / (rows as f64).powi(2);
    (affordable as usize).clamp(*ITERATIONS.start(), *ITERATIONS.end())
}
