//! How good a fitted model is, and how far it can be from the exact kernel method.

/// Errors of predicted numbers.
pub(crate) mod number_errors;

/// Errors of predicted labels.
pub(crate) mod label_scores;

/// Errors on held-out rows.
pub(crate) mod evaluation;

/// The slope that turns decision values into probabilities.
pub(crate) mod calibration;

/// Scores that intervals and label sets rest on.
pub(crate) mod conformal_scores;

/// The distance to the exact method, by leaving out features.
pub(crate) mod feature_jackknife;

/// How much features that were not drawn would change.
pub(crate) mod fresh_feature_error;

/// What a fit alone tells for the guarantees.
pub(crate) mod fit_evidence;

/// The exact kernel solution next to the model.
pub(crate) mod certify;

/// What a model can be trusted for, measured later.
pub(crate) mod recertify;
