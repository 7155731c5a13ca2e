//! A checked spec and rows in, a fitted model out. Synchronous, with progress and cancellation; no HTTP, no disk.

/// A training spec: raw JSON in, checked choices out.
mod spec;

/// Blocks and samples of rows, and the passes over them.
mod rows;

/// Choosing what the spec leaves open, and fitting the weights.
mod fit;

/// How good a fitted model is, and how far it can be from the exact kernel method.
mod assess;

/// The stages of training, and who follows them.
mod stage;

/// One line per stage.
mod train;

/// What a user should know about a fit.
mod warnings;

/// A fit and its assessment become the model.
mod build;

/// A request for a plan.
mod plan_request;

/// Adds rows to a fitted model.
mod update;

pub use assess::recertify::recertify;
pub use plan_request::PlanRequest;
pub use spec::learner::Learner;
pub use spec::memory::{estimate_certification, estimate_memory};
pub use spec::rules::{BandwidthRule, ClassWeight, GuaranteeSpec, IntervalRule, LARGEST_EXACT_ROWS, LambdaRule};
pub use spec::train_spec::{SpecLimits, TrainSpec};
pub use stage::{Observer, Stage, TrainError, Trained};
pub use train::{Resources, train};
pub use update::{alignment, update};
