//! Which preconditioner the exact system gets.

use super::conjugate_gradients::{Goal, conjugate_gradients};
use super::kernel_matrix::{GoOn, KernelMatrix};
use super::low_rank::LowRank;
use super::pivoted_cholesky::{Limits, PivotedCholesky};
use super::{ExactProblem, SolveError};
use ndarray::{Array2, Axis};
use serde::{Deserialize, Serialize};

/// Rows that candidates are tried on before one is built for all.
const TRIAL_ROWS: usize = 1_500;

/// How far a trial goes.
const TRIAL: Goal = Goal { tolerance: 1e-4, iteration_limit: 300 };

/// What multiplies the residuals of conjugate gradients.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Preconditioner {
    /// Nothing.
    None,
    /// (ΨΨᵀ + nλI)⁻¹ with the model's own features. [A §3.2]
    Features,
    /// (ΨΨᵀ + (nλ + 0.3n/s)I)⁻¹: kinder where features are few.
    DampedFeatures,
    /// (FFᵀ + nλI)⁻¹ with F from a randomly pivoted Cholesky factorisation of K.
    PivotedCholesky,
}

/// A candidate on the rows of the trial.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Trial {
    /// The candidate.
    pub preconditioner: Preconditioner,
    /// Iterations it took.
    pub iterations: usize,
    /// What it would cost on all rows, in multiplications.
    pub cost: f64,
}

impl ExactProblem<'_> {
    /// Tries every candidate on a sample of the rows and takes the one that should be cheapest on all. Costs
    /// are counted and not timed, so the choice is the same on every run.
    pub(super) fn choose(&self, go_on: GoOn) -> Result<(Preconditioner, Vec<Trial>), SolveError> {
        let n = self.inputs.nrows();
        let count = n.min(TRIAL_ROWS);
        let sample: Vec<usize> = (0..count).map(|index| index * n / count).collect();
        let (inputs, targets) = (self.inputs.select(Axis(0), &sample), self.targets.select(Axis(0), &sample));
        let small = ExactProblem { inputs: inputs.view(), targets: targets.view(), ..*self };
        let matrix = KernelMatrix::<f32>::new(self.kernel, inputs.view(), self.threads);
        let mut trials = Vec::new();
        for candidate in self.candidates() {
            let preconditioner = small.build(candidate, &matrix, go_on)?;
            let multiply = |v: &Array2<f64>| small.multiply(&matrix, v, go_on);
            let found = conjugate_gradients(multiply, preconditioner.as_ref(), &targets, &TRIAL)?;
            let rank = match (candidate, &preconditioner) {
                (_, None) => 0,
                // A rank that the sample was too small for is that of all rows.
                (Preconditioner::PivotedCholesky, Some(built)) if built.rank() >= small.rank_limit() => {
                    self.rank_limit()
                }
                (_, Some(built)) => built.rank(),
            };
            trials.push(Trial {
                preconditioner: candidate,
                iterations: found.iterations,
                cost: self.cost(rank, found.iterations),
            });
        }
        let cheapest = trials.iter().min_by(|left, right| left.cost.total_cmp(&right.cost));
        Ok((cheapest.map_or(Preconditioner::None, |trial| trial.preconditioner), trials))
    }

    fn candidates(&self) -> Vec<Preconditioner> {
        let mut candidates = vec![Preconditioner::None];
        if self.features.is_some_and(|features| self.fits(features.count)) {
            candidates.extend([Preconditioner::Features, Preconditioner::DampedFeatures]);
        }
        candidates.push(Preconditioner::PivotedCholesky);
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
                let limits = Limits { rank: self.rank_limit(), trace: shift };
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

    fn cost(&self, rank: usize, iterations: usize) -> f64 {
        let (n, r) = (self.inputs.nrows() as f64, rank as f64);
        2.0 * n * r * r + iterations as f64 * (self.product_cost() + 8.0 * n * r)
    }
}
