//! A checked spec and rows in, a fitted model out. Synchronous, with progress and cancellation; no HTTP, no disk.

/// A training spec: raw JSON in, checked choices out.
mod spec;

/// Blocks and samples of rows, and the passes over them.
mod rows;

/// Choosing features from a pool.
mod choose;

/// Choosing what the spec leaves open, and fitting the weights.
mod fit;

/// How good a fitted model is, and how far it can be from the exact kernel method.
mod assess;

/// The stages of training, and who follows them.
mod stage;

/// One line per stage.
mod train;

/// What a training chooses before it fits.
mod model_choice;

/// What a user should know about a fit.
mod warnings;

/// A fit and its assessment become the model.
mod build;

/// A request for a plan.
mod plan_request;

/// The same training on all folds but one.
mod cross_validation;

/// The error by the number of training rows.
mod learning_curve;

/// Adds rows to a fitted model.
mod update;

/// Samplings next to each other.
mod compare;

/// Statistics of some of the rows, which merge.
mod partial;

/// Training on a table in files that stay where they are.
mod located;

pub use crate::solver::InstructionSet;
pub use assess::recertify::recertify;
pub use compare::{CompareSpec, Comparison, Repetition, SamplingSummary, Trial, compare, estimate_comparison};
pub(crate) use fit::bandwidth::mean_absolute_difference;
pub use located::{
    CHUNK_ROWS, Chunk, Engine, FileColumn, LocatedTable, PassKind, PassSums, PassTask, estimate_located_memory,
    train_located,
};
pub use partial::{PARTIAL_HEADER, Partial, PartialError, PassStatistics, SampledRow, TableMoments, TableProfile};
pub use plan_request::PlanRequest;
pub use spec::check_kernel::samplings;
pub use spec::effort::Effort;
pub use spec::learner::Learner;
pub use spec::memory::{estimate_certification, estimate_memory};
pub use spec::open_choices::OpenChoices;
pub use spec::pool::{LARGEST_POOL, PoolSpec};
pub use spec::rules::{
    BandwidthRule, ClassWeight, GuaranteeSpec, IntervalRule, LARGEST_EXACT_ROWS, LambdaRule, MetricRule,
};
pub use spec::shares::split_rule::SplitRule;
pub use spec::train_spec::{SpecLimits, TrainSpec};
pub use stage::{Observer, Stage, TrainError, Trained, Unwatched};
pub use train::{Resources, train};
pub use update::{alignment, update};
