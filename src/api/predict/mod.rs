//! Predictions: one pipeline, and an adapter for each protocol.

/// `/api/v1/models/{model}/predict`.
pub(crate) mod native;

/// The same for tables.
pub(crate) mod tables;

/// From rows to predictions.
pub(crate) mod pipeline;

/// `/v2`.
pub(crate) mod open_inference;

/// `/invocations`.
pub(crate) mod mlflow;
