//! (blocks of ψ, y, λ) ↦ w, with evidence: iterations, residuals, condition.

/// Work on row blocks in parallel, committed in order.
mod blocks;

/// Sufficient statistics of a least-squares problem.
mod gram;

/// The same of blocks of rows.
mod block_gram;

/// Ridge regression from the sufficient statistics.
mod ridge;

/// Ridge regression at every λ from one reduction.
mod path;

/// Ridge regression without groups of its features.
mod jackknife;

/// Ridge regression on parts of more features than the model has.
mod subsets;

/// What features that were not drawn would change.
mod fresh_features;

/// How much of the data hangs on each draw.
mod leverage;

/// Exact kernel ridge regression, the yardstick.
mod exact;

/// Classifiers with convex losses.
mod classifier;

pub use block_gram::{BlockGram, BlockPlan};
pub use blocks::{Interrupted, in_order};
pub use classifier::{
    Certificate, ClassRows, ClassifierError, ClassifierEvidence, ClassifierSettings, ClassifierSolution,
    ClassifierWeights, FeatureBlocks, Loss, solve_classifier,
};
pub use exact::{
    DENSE_ROWS, Dimension, ExactEvidence, ExactKrr, ExactProblem, FeatureSource, Preconditioner, Trial, spectral_delta,
};
pub use fresh_features::{FreshInfluences, FreshSums};
pub use gram::{Gram, NormalEquations, PackedGram};
pub use jackknife::jackknife_weights;
pub use leverage::Leverage;
pub use path::{LeaveOneOut, PathPoint, RidgePath};
pub use ridge::{Method, RidgeSolution, solve_ridge};
pub use subsets::{COMPARED_ROWS, pool_multiple, subset_departures, subset_error};

use crate::linalg::FactorError;

/// Why a system could not be solved.
#[derive(Debug, thiserror::Error)]
pub enum SolveError {
    /// LAPACK refused.
    #[error(transparent)]
    Factor(#[from] FactorError),
    /// K + nλI has no Cholesky factor in double precision.
    #[error(
        "the exact kernel system cannot be solved in double precision: lambda = {ridge:e} is too small for these rows; a \
         larger one is needed"
    )]
    Singular {
        /// λ.
        ridge: f64,
    },
    /// The solution holds NaN or infinity.
    #[error("the solution is not finite; the ridge {ridge:e} is too small for this data")]
    NotFinite {
        /// λ.
        ridge: f64,
    },
    /// The iteration stopped too far from the solution.
    #[error(
        "the exact kernel system is solved up to a residual of {residual:.1e} only; the ridge {ridge:e} is too small"
    )]
    NotConverged {
        /// ‖(K + nλI)α − y‖/‖y‖.
        residual: f64,
        /// λ.
        ridge: f64,
    },
    /// It was told to.
    #[error("stopped")]
    Stopped,
    /// A worker panicked; its message went to the log.
    #[error("a worker panicked")]
    Panicked,
}
