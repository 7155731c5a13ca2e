//! Scores of the candidates of a pool of features.

/// The ridge leverage of each candidate.
pub(crate) mod leverages;

/// Weights of a kernel that is aligned with the targets.
pub(crate) mod target_alignment;

/// The candidates that ridge regression needs most.
pub(crate) mod elimination;
