//! Logs, metrics and traces.

/// Log lines on standard error.
mod logging;

/// Which trace a request belongs to.
mod trace_parent;

/// Spans that are sent to a collector.
mod traces;

/// Panics that are expected and kept out of the log.
mod panics;

/// What a cell of a prediction row is flagged for.
mod flag_kind;

/// A lock-free histogram.
mod histogram;

/// The protocols that predict, and their routes.
mod protocol;

/// Metrics of predictions, by model and version.
mod predictions;

/// The metrics of one model version.
mod meters;

/// What the system says of this process.
mod process;

/// Figures of the whole service that are read when the metrics are.
mod readings;

/// All metrics of one app.
mod metrics;

pub(crate) use flag_kind::FlagKind;
pub(crate) use logging::{LogControl, start_logging};
pub(crate) use meters::ModelMeters;
pub(crate) use metrics::{JobLabels, Metrics, RequestRoute, StageLabel, StatusLabel};
pub(crate) use panics::expecting_panics;
pub(crate) use predictions::{Outcome, PredictionMetrics, PredictionStage, ShedReason};
pub use protocol::PredictionRoute;
pub(crate) use protocol::Protocol;
pub(crate) use trace_parent::TraceParent;
pub(crate) use traces::{HAS_TRACES, continue_trace, trace_parent_or};
