//! What to know about a table before a model is made of it.

/// One finding: where, what, how bad, what to do.
mod finding;

/// What the statistics of columns tell.
mod report;

/// Columns that say the same, and rows that come twice.
mod twins;

pub use finding::{Finding, FindingCode, Severity};

pub(super) use report::of_schema;
pub(super) use twins::RowSample;
