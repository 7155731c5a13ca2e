//! Logs and metrics.

/// Log lines on standard error.
mod logging;

/// Panics that are expected and kept out of the log.
mod panics;

/// A lock-free histogram.
mod histogram;

/// The protocols that predict, and their routes.
mod protocol;

/// Metrics of predictions, by model and version.
mod predictions;

/// The metrics of one model version.
mod meters;

/// All metrics of one app.
mod metrics;

pub(crate) use logging::start_logging;
pub(crate) use meters::ModelMeters;
pub(crate) use metrics::{Metrics, RequestRoute, StageLabel, StatusLabel};
pub(crate) use panics::expecting_panics;
pub(crate) use predictions::{Outcome, PredictionMetrics, ShedReason};
pub use protocol::PredictionRoute;
pub(crate) use protocol::Protocol;
