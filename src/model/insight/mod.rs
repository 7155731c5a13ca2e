//! What a model tells about itself: the metric it learned, what each column does to its outputs, its errors over folds.

/// What a learned metric is, and how it came about.
pub(super) mod metric;

/// The candidates of a search for the kernel.
pub(super) mod search;

/// The share of each column in a prediction.
pub(super) mod contributions;

/// Errors over folds.
pub(super) mod cross_validation;

/// Importance and partial dependence of columns.
pub(super) mod explanations;
