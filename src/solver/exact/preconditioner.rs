//! The choice of a preconditioner for the exact system.

use super::conjugate_gradients::{Goal, conjugate_gradients};
use super::kernel_matrix::{GoOn, KernelMatrix};
use super::low_rank::LowRank;
use super::pivoted_cholesky::{PivotLimits, PivotedCholesky};
use super::{ExactProblem, FACTOR_BYTES, SolveError, shifted_product};
use ndarray::{Array2, Axis};
use serde::Serialize;

/// Rows that candidates are tried on before one is built for all: at most these, and at most a fifth of all, so that a
/// product of a trial costs a twenty-fifth of one on all rows, or less.
const TRIAL_ROWS: usize = 1_500;
const TRIAL_ROW_SHARE: usize = 5;

/// How far a trial goes.
const TRIAL: Goal = Goal { tolerance: 1e-4, iteration_limit: 300 };

/// Below this many iterations a trial gives no usable rate.
const FEWEST_ITERATIONS: usize = 5;

/// What all trials may cost together, as a share of what the solve would cost without a preconditioner: the most that
/// choosing can cost without a gain. Costs are counted; in time it is a tenth at most.
const TRIAL_COST_SHARE: f64 = 0.07;

/// What multiplies the residuals of conjugate gradients.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Preconditioner {
    /// Nothing.
    None,
    /// (ΨΨᵀ + nλI)⁻¹ with the model's own features. [A §3.2]
    Features,
    /// (ΨΨᵀ + (nλ + 0.3n/s)I)⁻¹: better where features are few.
    DampedFeatures,
    /// (FFᵀ + nλI)⁻¹ with F from a randomly pivoted Cholesky factorisation of K.
    PivotedCholesky,
}

/// A candidate on the rows of the trial.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PreconditionerTrial {
    /// The candidate.
    pub preconditioner: Preconditioner,
    /// Iterations it took.
    pub iterations: usize,
    /// What it would cost on all rows, in multiplications; forecast from its rate where it was cut off.
    pub cost: f64,
}

/// A residual above this gives no usable rate; the forecast takes it for this.
const SLOWEST_RATIO: f64 = 0.99;

/// Multiplications of a factorisation and of the trace it gives, n³/3, next to those of a product with K: they run at
/// twice the speed, and three solves share them where a trial forecasts one to a lesser tolerance.
const FACTOR_COST: f64 = 1.0 / 24.0;

/// The cheapest candidate and its forecast.
pub(super) struct PreconditionerChoice {
    pub(super) preconditioner: Preconditioner,
    pub(super) trials: Vec<PreconditionerTrial>,
    /// On all rows, in multiplications.
    pub(super) cost: f64,
    pub(super) iterations: f64,
}

/// What is left to spend on trials, and what a candidate must stay below to be worth trying.
struct PreconditionerBudget {
    left: f64,
    best: f64,
}

impl ExactProblem<'_> {
    /// Tries candidates on a sample of the rows, none first, and takes the one that should be cheapest on all. One that
    /// cannot be cheaper than the best so far, or whose trial would cost more than trials may, is not tried. Costs are
    /// counted and not timed, so the choice is the same on every run.
    pub(super) fn choose(&self, go_on: GoOn) -> Result<PreconditionerChoice, SolveError> {
        let n = self.inputs.nrows();
        let count = TRIAL_ROWS.min(n.div_ceil(TRIAL_ROW_SHARE));
        let sample: Vec<usize> = (0..count).map(|index| index * n / count).collect();
        let (inputs, targets) = (self.inputs.select(Axis(0), &sample), self.targets.select(Axis(0), &sample));
        let small = ExactProblem { inputs: inputs.view(), targets: targets.view(), ..*self };
        let matrix = KernelMatrix::<f32>::new(self.kernel, inputs.view(), self.threads);
        let run = |preconditioner: Option<&LowRank>, iteration_limit: usize| {
            let multiply = |v: &Array2<f64>| shifted_product(&matrix, small.shift(), v, go_on);
            let goal = Goal { iteration_limit, ..TRIAL };
            let found = conjugate_gradients(multiply, preconditioner, &targets, &goal, &|_| ())?;
            Ok::<_, SolveError>((found.iterations, forecast(found.iterations, found.ratio)))
        };
        let (iterations, needed) = run(None, TRIAL.iteration_limit)?;
        let none = PreconditionerTrial { preconditioner: Preconditioner::None, iterations, cost: self.cost(0, needed) };
        let spent = small.cost(0, iterations as f64);
        let mut budget =
            PreconditionerBudget { left: TRIAL_COST_SHARE * self.cost(0, iterations as f64) - spent, best: none.cost };
        let mut chosen = (Preconditioner::None, needed);
        let mut trials = vec![none];
        for (candidate, rank) in self.candidates(small.rank_limit()) {
            // A pivoted factor may turn out smaller: on all rows the trial tells its rank.
            let least = if candidate == Preconditioner::PivotedCholesky { 0 } else { rank };
            let affordable = small.iterations_within(rank, budget.left);
            if self.iterations_within(least, budget.best) < 1 || affordable < FEWEST_ITERATIONS {
                continue;
            }
            let built = small.build(candidate, &matrix, go_on)?;
            let tried_rank = built.as_ref().map_or(0, LowRank::rank);
            // A rank that the sample was too small for is that of all rows.
            let pivoted_out = candidate == Preconditioner::PivotedCholesky && tried_rank >= small.rank_limit();
            let rank = if pivoted_out { self.rank_limit() } else { tried_rank };
            let useful = self.iterations_within(rank, budget.best);
            let limit = useful.min(small.iterations_within(tried_rank, budget.left)).min(TRIAL.iteration_limit);
            let (iterations, needed) = run(built.as_ref(), limit)?;
            budget.left -= small.cost(tried_rank, iterations as f64);
            let trial = PreconditionerTrial { preconditioner: candidate, iterations, cost: self.cost(rank, needed) };
            if trial.cost < budget.best {
                budget.best = trial.cost;
                chosen = (candidate, needed);
            }
            trials.push(trial);
        }
        Ok(PreconditionerChoice { preconditioner: chosen.0, trials, cost: budget.best, iterations: chosen.1 })
    }

    /// With the largest rank of each in a trial, `pivots` for pivots; the one that is usually better first.
    fn candidates(&self, pivots: usize) -> Vec<(Preconditioner, usize)> {
        let mut candidates = vec![(Preconditioner::PivotedCholesky, pivots)];
        if let Some(features) = self.features.filter(|features| self.fits(features.count)) {
            candidates.push((Preconditioner::Features, features.count));
            candidates.push((Preconditioner::DampedFeatures, features.count));
        }
        candidates
    }

    /// The preconditioner of these rows.
    pub(super) fn build(
        &self,
        kind: Preconditioner,
        matrix: &KernelMatrix<f32>,
        go_on: GoOn,
    ) -> Result<Option<LowRank>, SolveError> {
        let (n, shift) = (self.inputs.nrows() as f64, self.shift());
        let damping = match (kind, self.features) {
            (Preconditioner::None, _) => return Ok(None),
            (Preconditioner::PivotedCholesky, _) => {
                let limits = PivotLimits { rank: self.rank_limit(), trace: shift };
                let factor = PivotedCholesky::new(matrix, &limits, go_on)?;
                // Of rank 0 where nλI outweighs all of K: then it divides by a number, as none does.
                let built = (factor.rank() > 0).then(|| factor.into_preconditioner(shift, self.threads));
                return built.transpose();
            }
            (Preconditioner::DampedFeatures, Some(features)) => 0.3 * n / features.count as f64,
            (Preconditioner::Features | Preconditioner::DampedFeatures, _) => 0.0,
        };
        let Some(features) = self.features else { return Ok(None) };
        LowRank::new((features.make)(self.inputs), shift + damping, self.threads).map(Some)
    }

    /// A factor of rank r costs about n·r² to make: as much as eight products with K, no more than fits into
    /// memory, and less than the rows.
    fn rank_limit(&self) -> usize {
        let n = self.inputs.nrows();
        let affordable = (8.0 * self.product_cost() / n as f64).sqrt() as usize;
        let fitting = usize::try_from(self.memory / (4 * n as u64)).unwrap_or(usize::MAX);
        affordable.min(fitting).min(n / 4).max(1)
    }

    fn fits(&self, rank: usize) -> bool {
        4 * (self.inputs.nrows() as u64) * rank as u64 <= self.memory
    }

    /// Multiplications, or what takes as long, of one product with K, half of which is made anew.
    fn product_cost(&self) -> f64 {
        let (n, d) = (self.inputs.nrows() as f64, self.inputs.ncols() as f64);
        n * n / 2.0 * (d + 12.0)
    }

    fn cost(&self, rank: usize, iterations: f64) -> f64 {
        self.build_cost(rank) + iterations * self.iteration_cost(rank)
    }

    /// Whether a factor of all rows fits into the memory, with the columns that are worked on beside it.
    pub(super) fn can_factor(&self) -> bool {
        let (n, panels) = (self.inputs.nrows() as u64, 1_024 * (1 + self.threads as u64));
        FACTOR_BYTES * n * (n + panels) <= self.memory
    }

    pub(super) fn factor_cost(&self) -> f64 {
        FACTOR_COST * (self.inputs.nrows() as f64).powi(3)
    }

    /// Iterations after which a factorisation should have been made: a solve takes more than a trial forecasts.
    pub(super) fn factor_iterations(&self, rank: usize) -> usize {
        ((4.0 * self.factor_cost() / self.iteration_cost(rank)) as usize).max(FEWEST_ITERATIONS)
    }

    fn build_cost(&self, rank: usize) -> f64 {
        2.0 * self.inputs.nrows() as f64 * (rank as f64).powi(2)
    }

    fn iteration_cost(&self, rank: usize) -> f64 {
        self.product_cost() + 8.0 * self.inputs.nrows() as f64 * rank as f64
    }

    /// How many iterations a cost allows after a preconditioner of this rank was built.
    fn iterations_within(&self, rank: usize, cost: f64) -> usize {
        ((cost - self.build_cost(rank)) / self.iteration_cost(rank)) as usize // none where it is negative
    }
}

/// Iterations that the tolerance of a trial takes, by the rate so far where it was cut off.
fn forecast(iterations: usize, ratio: f64) -> f64 {
    if ratio <= TRIAL.tolerance {
        return iterations as f64;
    }
    iterations as f64 * TRIAL.tolerance.ln() / ratio.min(SLOWEST_RATIO).ln()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::features::{Kernel, Precision};
    use crate::solver::FeatureSource;
    use ndarray::ArrayView2;
    use std::sync::atomic::{AtomicUsize, Ordering};

    const ROWS: usize = 3_100;

    /// A scattered square with a target that no kernel of this width follows at once.
    fn table() -> (Array2<f64>, Array2<f64>) {
        let inputs = Array2::from_shape_fn((ROWS, 2), |(i, j)| (i as f64 * [0.618_034, 0.414_214][j]).fract() * 4.0);
        let targets = Array2::from_shape_fn((ROWS, 1), |(i, _)| (5.0 * inputs[[i, 0]] * inputs[[i, 1]]).sin());
        (inputs, targets)
    }

    /// A stand-in for features, of which only the number matters here.
    fn ramp(count: usize) -> impl Fn(ArrayView2<f64>) -> Array2<f32> {
        move |inputs| {
            let value = |i: usize, j: usize| (j as f64 * inputs[[i, 0]]).cos() / (count as f64).sqrt();
            Array2::from_shape_fn((inputs.nrows(), count), |(i, j)| value(i, j) as f32)
        }
    }

    fn with_problem<T>(ridge: f64, feature_count: usize, check: impl Fn(&ExactProblem) -> T) -> T {
        let (inputs, targets) = table();
        let make = ramp(feature_count);
        check(&ExactProblem {
            kernel: Kernel::Gaussian { bandwidth: 1.0 },
            inputs: inputs.view(),
            targets: targets.view(),
            ridge,
            tolerance: 1e-6,
            features: Some(&FeatureSource { count: feature_count, make: &make }),
            precision: Precision::Mixed,
            preconditioner: None,
            memory: 1 << 28,
            threads: 2,
            progress: None,
        })
    }

    fn kinds(trials: &[PreconditionerTrial]) -> Vec<Preconditioner> {
        trials.iter().map(|trial| trial.preconditioner).collect()
    }

    /// 10 iterations for two of four decades are 20 for all; a residual that does not fall gives no rate.
    #[test]
    fn a_trial_that_was_cut_off_is_forecast_by_its_rate() {
        assert!((forecast(10, 1e-2) - 20.0).abs() < 1e-9);
        assert!((forecast(7, 1e-5) - 7.0).abs() < 1e-9);
        assert!(forecast(300, 3.7) > 100_000.0 && forecast(300, 3.7).is_finite());
    }

    /// Where a handful of products solves the system, nothing else is tried.
    #[test]
    fn a_large_ridge_is_left_alone() {
        let PreconditionerChoice { preconditioner, trials, .. } =
            with_problem(1.0, 64, |problem| problem.choose(&|| true).unwrap());
        assert_eq!((preconditioner, kinds(&trials)), (Preconditioner::None, vec![Preconditioner::None]));
    }

    /// Where it takes many, a preconditioner is chosen; features whose factorisation alone costs more are not tried.
    #[test]
    fn a_small_ridge_is_worth_trials_that_can_win() {
        let choice = |problem: &ExactProblem| {
            let PreconditionerChoice { preconditioner, trials, .. } = problem.choose(&|| true).unwrap();
            (preconditioner, trials)
        };
        let (chosen, trials) = with_problem(1e-6, 32, choice);
        assert_eq!(chosen, Preconditioner::PivotedCholesky, "{trials:?}");
        assert!(kinds(&trials).len() >= 2, "{trials:?}");
        let best = trials.iter().find(|trial| trial.preconditioner == chosen).unwrap();
        assert!(best.cost < trials[0].cost && best.iterations < trials[0].iterations);
        let again = with_problem(1e-6, 32, |problem| choice(&ExactProblem { threads: 1, ..*problem }));
        assert_eq!(again, (chosen, trials));
        let (_, trials) = with_problem(1e-6, 3_000, choice);
        assert!(!kinds(&trials).contains(&Preconditioner::Features), "{trials:?}");
    }

    /// Whatever λ: the kernel values made for trials are within their share of those of a solve without a preconditioner.
    #[test]
    fn trials_cost_little_next_to_the_solve_without() {
        for ridge in [1.0, 1e-1, 1e-2, 1e-3, 1e-5] {
            with_problem(ridge, 32, |problem| {
                let asked = AtomicUsize::new(0);
                let count = || {
                    asked.fetch_add(1, Ordering::Relaxed);
                    true
                };
                problem.choose(&count).unwrap();
                // Asked once for each panel of 128 rows of a product, and once for each block of pivots.
                let rows = ROWS.div_ceil(TRIAL_ROW_SHARE);
                let products = asked.load(Ordering::Relaxed) as f64 / rows.div_ceil(128) as f64;
                let plain = ExactProblem { preconditioner: Some(Preconditioner::None), ..*problem };
                let without = plain.solve(None, &|| true).unwrap().evidence.iterations as f64;
                let share = products * (rows as f64 / ROWS as f64).powi(2) / without;
                assert!(share <= TRIAL_COST_SHARE, "{ridge}: {products} products, {without} iterations, {share}");
            });
        }
    }
}
