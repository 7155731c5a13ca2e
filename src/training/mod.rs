//! The recipe: a checked spec and rows in, a fitted model out. Pure and synchronous, observable and
//! cancellable; no HTTP, no disk.

/// Reading a JSON object field by field, with every problem placed.
mod fields;

/// What to train: raw JSON to a checked spec.
mod spec;

/// Row blocks of one part of a data set.
mod rows;

/// What training costs before it starts.
mod cost;

/// One line per stage.
mod train;

/// The exact kernel solution next to the model.
mod certify;

pub use cost::estimate_memory;
pub use fields::{Problem, pointer};
pub use spec::{GuaranteeSpec, LambdaRule, SpecLimits, TrainSpec};
pub use train::{Observer, Stage, TrainError, Trained, train};
