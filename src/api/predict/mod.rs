//! Predictions: one pipeline, and a decoder and an encoder for each protocol.

/// The handler of every route that predicts.
mod handler;

/// From a body to a response, the same for every protocol.
mod pipeline;

/// JSON at `/api/v1/models/{model}/predict`.
mod native;

/// The first bytes of a body whose content type does not say what it is.
mod beginning;

/// Tables at `/api/v1/models/{model}/predict`.
mod tables;

/// `/v2`.
pub(crate) mod open_inference;

/// `/invocations`.
pub(crate) mod mlflow;

pub(crate) use handler::{predict, predict_route};
