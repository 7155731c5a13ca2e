//! Feature maps made ready to run: projections, cosines, exponentials.

/// A map made ready to run in one precision.
pub(crate) mod projector;

/// Dense frequencies made ready to multiply with.
pub(crate) mod panels;

/// Structured frequencies made ready to multiply with.
pub(crate) mod hadamard;

/// Cosine and sine of whole slices.
pub(crate) mod cosine;

/// The exponential of whole slices.
pub(crate) mod exponential;

/// In which precision features are made.
pub(crate) mod precision;
