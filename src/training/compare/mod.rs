//! Samplings next to each other: the same splits and seeds for each, errors on rows that no choice has seen.

/// What is to be compared: raw JSON in, checked choices out.
mod request;

/// The rows of one repetition.
mod parts;

/// One fit and its error on the test rows, again and again.
mod trials;

/// What was found: trials, means and standard errors.
mod comparison;

/// A comparison as text, CSV and chart.
mod output;

pub use comparison::{Comparison, Repetition, SamplingSummary, Trial};
pub use request::CompareSpec;
pub use trials::{compare, estimate_comparison};
