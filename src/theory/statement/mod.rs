//! Guarantees, the assumptions behind them, and how both are worded.

/// The guarantee with its status, form and assumptions.
pub(crate) mod guarantee;

/// What to do about a missing measurement.
pub(crate) mod remedy;

/// The wording of statements and the rounding of their numbers.
pub(crate) mod words;

/// Assumptions that several theorems share.
pub(crate) mod assumptions;
