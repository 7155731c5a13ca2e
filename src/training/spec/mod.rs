//! A training spec: raw JSON in, checked choices out.

/// Reads a JSON object field by field.
pub(crate) mod fields;

/// What is minimised, or the choice of it.
pub(crate) mod learner;

/// The rules a spec chooses from.
pub(crate) mod rules;

/// What to train: raw JSON to a checked spec.
pub(crate) mod train_spec;

/// The spec as JSON, with every default written out.
mod written_spec;

/// Choices of a spec that depend on each other.
pub(crate) mod check_kernel;

/// λ, and what kernel and λ were chosen from.
pub(crate) mod choices;

/// Lists of candidates that are fixed in advance.
pub(crate) mod grids;

/// The shares of the labelled rows that are not fitted on.
pub(crate) mod shares;

/// Features that are chosen by rows.
pub(crate) mod pool;

/// Whether a spec and a dataset fit together.
pub(crate) mod check_dataset;

/// The memory a training will need.
pub(crate) mod memory;

/// What a spec leaves to the rows about its features.
pub(crate) mod open_choices;

/// What may be spent on choosing what a spec leaves out.
pub(crate) mod effort;
