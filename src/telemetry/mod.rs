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

pub use histogram::AtomicHistogram;
pub use logging::start_logging;
pub use meters::{ModelMeters, StageMeter, Total};
pub use metrics::{Metrics, RequestRoute, StageLabel, StatusLabel};
pub use panics::expecting_panics;
pub use predictions::{Outcome, PredictionMetrics, ShedReason, VersionLabels};
pub use protocol::{PredictionRoute, Protocol};
