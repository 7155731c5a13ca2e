//! How good a fitted model is, and how far it can be from the exact kernel method.

/// A function that is being assessed.
pub(crate) mod scored_function;

/// Errors of predicted numbers.
pub(crate) mod number_errors;

/// Errors of predicted labels.
pub(crate) mod label_scores;

/// Errors on validation rows.
pub(crate) mod errors;

/// The slope that turns decision values into probabilities.
pub(crate) mod calibration;

/// Scores that intervals and label sets rest on.
pub(crate) mod conformal_scores;

/// The distance to the exact method, by leaving out features.
pub(crate) mod feature_jackknife;

/// What each column does to the outputs.
pub(crate) mod explain;

/// What the rows tell about a fit.
pub(crate) mod assessment;

/// How much features that were not drawn would change.
pub(crate) mod fresh_feature_error;

/// How far the model is from the exact method on rows that were not fitted.
pub(crate) mod distances;

/// The exact kernel method next to the model.
pub(crate) mod comparison;

/// What a fit and its assessment tell for the guarantees.
pub(crate) mod evidence;

/// Measuring later what training left out.
pub(crate) mod recertify;
