//! Kernel, metric, bandwidth and scaling where a spec leaves them out: candidates fitted on a sample of rows and compared by
//! leave-one-out error, within an amount of work that is counted and not timed, so that a model depends on its rows alone.

/// The candidates that are affordable, and their features.
mod budget;

/// Candidates that were tried.
mod trials;

/// Which candidates are tried, and which is kept.
mod search;

pub(crate) use search::{search_exact_kernel, search_kernel};
