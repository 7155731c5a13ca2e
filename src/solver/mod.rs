//! Blocks of features, targets and λ to weights, with evidence: iterations, residuals, condition.

/// Ridge regression from sufficient statistics.
mod ridge;

/// Work on row blocks in parallel, committed in order.
mod blocks;

/// Exact kernel ridge regression, which random features approximate.
mod exact;

/// Scores of the candidates of a pool of features.
mod pool;

/// Classifiers with convex losses.
mod classifier;

/// The square root of a symmetric matrix.
mod symmetric_root;

pub use crate::linalg::{InstructionSet, checkpoint, product_in_strips};
pub use blocks::{Interrupted, in_order};
pub use classifier::{
    Certificate, ClassRows, ClassifierError, ClassifierEvidence, ClassifierSettings, ClassifierSolution,
    ClassifierWeights, FeatureBlocks, Loss, solve_classifier,
};
pub use exact::{
    DENSE_ROWS, Dimension, ExactKrr, ExactProblem, ExactSolve, ExactSolver, FeatureSource, KernelFit, KernelPath,
    PROBES, Preconditioner, PreconditionerTrial, Watch, kernel_gradients, spectral_delta,
};
pub use pool::elimination::{NeededDraws, needed_draws};
pub use pool::leverages::ridge_leverages;
pub use pool::target_alignment::{aligned_weights, norms_of_draws};
pub use ridge::block_gram::{BlockGram, BlockPlan, blocks_at_once};
pub use ridge::draw_error::DrawError;
pub use ridge::fresh_sums::{FreshInfluences, FreshSums};
pub use ridge::gram::{Gram, NormalEquations, PackedGram};
pub use ridge::gram_grid::{GramGrid, Reach, Width};
pub use ridge::gram_sums::{GramSums, MergeError, OffGrid};
pub use ridge::group_jackknife::{WithoutGroups, jackknife_weights, jackknife_weights_by_rows};
pub use ridge::leverage::Leverage;
pub use ridge::path::{LeaveOneOut, PathPoint, RidgePath};
pub use ridge::pool_subsets::{
    ComparedRows, FittedTargets, PoolPredictions, compared_rows, pool_multiple, pool_predictions,
};
pub use ridge::solve::{Method, RidgeSolution, solve_ridge};
pub use symmetric_root::symmetric_root;

use crate::linalg::FactorError;

/// Why a system could not be solved.
#[derive(Debug, thiserror::Error)]
pub enum SolveError {
    /// A matrix has no factor.
    #[error(transparent)]
    Factor(#[from] FactorError),
    /// K + nλI has no Cholesky factor in double precision.
    #[error(
        "the exact kernel system cannot be solved in double precision: lambda = {ridge:e} is too small for these rows. \
         Use a larger lambda."
    )]
    Singular {
        /// λ.
        ridge: f64,
    },
    /// The solution holds NaN or infinity.
    #[error("the weights are not finite: lambda = {ridge:e} is too small for these rows. Use a larger lambda.")]
    NotFinite {
        /// λ.
        ridge: f64,
    },
    /// Neither iterating nor factoring is affordable.
    #[error(
        "the exact kernel system needs about {iterations:.0} iterations, too many, or {} MB to be factored, more than this \
         job has left: lambda = {ridge:e} is too small. Use a larger lambda, or give jobs more memory.",
        bytes.div_ceil(1 << 20)
    )]
    OutOfReach {
        /// λ.
        ridge: f64,
        /// Forecast.
        iterations: f64,
        /// Of a factor.
        bytes: u64,
    },
    /// The iteration stopped too far from the solution.
    #[error(
        "the exact kernel system was solved to a relative residual of {residual:.1e} only: lambda = {ridge:e} is too small. \
         Use a larger lambda."
    )]
    NotConverged {
        /// ‖(K + nλI)α − y‖/‖y‖.
        residual: f64,
        /// λ.
        ridge: f64,
    },
    /// The caller asked to stop.
    #[error("the solve was stopped on request")]
    Stopped,
    /// A worker panicked; its message went to the log.
    #[error("a solver thread panicked; its message is in the log")]
    Panicked,
}
