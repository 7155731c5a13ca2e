//! A training spec: raw JSON in, checked choices out.

/// Reads a JSON object field by field.
pub(crate) mod fields;

/// What is minimised.
pub(crate) mod learner;

/// The rules a spec chooses from.
pub(crate) mod rules;

/// What to train: raw JSON to a checked spec.
pub(crate) mod train_spec;

/// Choices of a spec that depend on each other.
pub(crate) mod check_kernel;

/// Whether a spec and a dataset fit together.
pub(crate) mod check_dataset;

/// The memory a training will need.
pub(crate) mod memory;
