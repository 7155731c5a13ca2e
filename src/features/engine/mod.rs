//! Evaluation of feature maps: projections, cosines, exponentials.

/// A feature map in one precision, ready to evaluate.
pub(crate) mod projector;

/// Products with dense frequencies.
pub(crate) mod panels;

/// Products with structured frequencies.
pub(crate) mod hadamard;

/// Cosine and sine of whole slices.
pub(crate) mod cosine;

/// The exponential of whole slices.
pub(crate) mod exponential;

/// The precision of features.
pub(crate) mod precision;
