//! What later releases tell about a model and its columns, each in a section of its own.

/// The curves of single rows.
pub(in crate::model::artifact) mod individual_curves;

/// A sample of held-out rows.
pub(in crate::model::artifact) mod held_out;

/// Errors over folds.
pub(in crate::model::artifact) mod cross_validation;

/// Random features or the exact method.
pub(in crate::model::artifact) mod learner_choice;
