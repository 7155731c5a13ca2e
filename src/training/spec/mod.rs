//! A training spec: raw JSON in, checked choices out.

/// Reading a JSON object field by field, with every problem placed.
pub(crate) mod fields;

/// What is minimised.
pub(crate) mod learner;

/// How λ and bandwidth are chosen.
pub(crate) mod rules;

/// What to train: raw JSON to a checked spec.
pub(crate) mod train_spec;

/// Choices of a spec that must fit each other.
pub(crate) mod check_kernel;

/// What a spec demands of a data set.
pub(crate) mod check_dataset;

/// What training costs before it starts.
pub(crate) mod memory;
