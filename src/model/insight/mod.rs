//! What a model tells about itself: the metric it learned, what each column does to its outputs, its errors over folds.

/// What a learned metric is, and how it came about.
pub(super) mod metric;

/// The candidates of a search for the kernel.
pub(super) mod search;

/// Random features or the exact method.
pub(super) mod learner_choice;

/// The share of each column in a prediction.
pub(super) mod contributions;

/// Errors over folds.
pub(super) mod cross_validation;

/// Errors by the number of training rows.
pub(super) mod learning_curve;

/// Held-out rows with what the model says about them.
pub(super) mod held_out;

/// How well a model separates the rows of one label from the others.
pub(super) mod ranking;

/// Importance and partial dependence of columns.
pub(super) mod explanations;
