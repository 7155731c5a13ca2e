//! What is counted of predictions, by model and version.

use super::histogram::AtomicHistogram;
use super::meters::Ending;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::exponential_buckets;
use prometheus_client::registry::{Registry, Unit};
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// One version of a model.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(crate) struct VersionLabels {
    /// Its name.
    pub model: String,
    /// Its version.
    pub version: u32,
}

/// How requests for a version ended.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OutcomeLabels {
    model: String,
    version: u32,
    protocol: &'static str,
    outcome: &'static str,
}

/// A stage of a prediction.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct StageLabels {
    model: String,
    version: u32,
    stage: &'static str,
}

/// Why a request was not computed.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ShedLabels {
    model: String,
    version: u32,
    reason: &'static str,
}

/// Who asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    /// `/api/v1`.
    Native,
    /// `/v2`.
    InferenceV2,
    /// `/invocations`.
    Invocations,
}

impl Protocol {
    pub(super) const ALL: [Self; 3] = [Self::Native, Self::InferenceV2, Self::Invocations];

    fn name(self) -> &'static str {
        match self {
            Self::Native => "native",
            Self::InferenceV2 => "v2",
            Self::Invocations => "invocations",
        }
    }
}

/// How a request ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// With predictions.
    Answered,
    /// For what it sent.
    Refused,
    /// For lack of room or time.
    Shed,
    /// By our fault.
    Failed,
}

impl Outcome {
    pub(super) const ALL: [Self; 4] = [Self::Answered, Self::Refused, Self::Shed, Self::Failed];

    fn name(self) -> &'static str {
        match self {
            Self::Answered => "answered",
            Self::Refused => "refused",
            Self::Shed => "shed",
            Self::Failed => "failed",
        }
    }
}

/// The stages of a prediction.
const STAGES: [&str; 4] = ["decode", "queue", "compute", "encode"];

/// Why requests are shed.
const REASONS: [&str; 5] = ["queue_full", "overloaded", "deadline", "disconnected", "model_loading"];

type HistogramFamily<L> = Family<L, AtomicHistogram, fn() -> AtomicHistogram>;

/// All that is counted of predictions; clones share it.
#[derive(Clone)]
pub struct PredictionMetrics {
    requests: Family<OutcomeLabels, Counter>,
    request_seconds: HistogramFamily<OutcomeLabels>,
    request_rows: HistogramFamily<OutcomeLabels>,
    pub(super) rows: Family<VersionLabels, Counter>,
    pub(super) unknown_levels: Family<VersionLabels, Counter>,
    pub(super) batches: Family<VersionLabels, Counter>,
    pub(super) batch_rows: HistogramFamily<VersionLabels>,
    stage_seconds: HistogramFamily<StageLabels>,
    pub(super) queued_rows: Family<VersionLabels, Gauge>,
    shed: Family<ShedLabels, Counter>,
    pub(super) model_bytes: Family<VersionLabels, Gauge>,
    /// For each version whether it is gone, known to all that have its meters: a copy may outlive its place in memory.
    gone: Arc<Mutex<HashMap<VersionLabels, Weak<AtomicBool>>>>,
}

impl PredictionMetrics {
    /// Whether a version is gone, now and later.
    pub(super) fn gone(&self, labels: &VersionLabels) -> Arc<AtomicBool> {
        let mut known = self.gone.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(labels).and_then(Weak::upgrade).unwrap_or_else(|| {
            let gone = Arc::default();
            known.insert(labels.clone(), Arc::downgrade(&gone));
            gone
        })
    }

    /// Metrics that nobody reads.
    pub(super) fn unseen() -> Self {
        let stages: fn() -> AtomicHistogram = || AtomicHistogram::new(exponential_buckets(0.000_002, 4.0, 12));
        let seconds: fn() -> AtomicHistogram = || AtomicHistogram::new(exponential_buckets(0.000_1, 2.0, 18));
        let rows: fn() -> AtomicHistogram = || AtomicHistogram::new(exponential_buckets(1.0, 4.0, 12));
        let sizes: fn() -> AtomicHistogram = || AtomicHistogram::new(exponential_buckets(1.0, 2.0, 12));
        Self {
            requests: Family::default(),
            request_seconds: Family::new_with_constructor(seconds),
            request_rows: Family::new_with_constructor(rows),
            rows: Family::default(),
            unknown_levels: Family::default(),
            batches: Family::default(),
            batch_rows: Family::new_with_constructor(sizes),
            stage_seconds: Family::new_with_constructor(stages),
            queued_rows: Family::default(),
            shed: Family::default(),
            model_bytes: Family::default(),
            gone: Arc::default(),
        }
    }

    /// Registers everything.
    pub(super) fn register(registry: &mut Registry) -> Self {
        let metrics = Self::unseen();
        registry.register("predictions", "Prediction requests by protocol and outcome", metrics.requests.clone());
        let help = "Time of a prediction request by protocol and outcome";
        registry.register_with_unit("prediction", help, Unit::Seconds, metrics.request_seconds.clone());
        let help = "Rows of answered prediction requests by protocol";
        registry.register("prediction_rows", help, metrics.request_rows.clone());
        registry.register("predicted_rows", "Rows predicted", metrics.rows.clone());
        let help = "Prediction cells whose text training never saw";
        registry.register("unknown_levels", help, metrics.unknown_levels.clone());
        registry.register("batches", "Batches computed by the prediction threads", metrics.batches.clone());
        registry.register("batch_rows", "Rows computed together", metrics.batch_rows.clone());
        let help = "Time of each stage of a prediction";
        registry.register_with_unit("prediction_stage", help, Unit::Seconds, metrics.stage_seconds.clone());
        registry.register("queued_rows", "Rows that wait for a prediction thread", metrics.queued_rows.clone());
        registry.register("shed_requests", "Prediction requests not computed, by reason", metrics.shed.clone());
        let help = "Models ready to predict";
        registry.register_with_unit("model_memory", help, Unit::Bytes, metrics.model_bytes.clone());
        metrics
    }

    pub(super) fn stage(&self, labels: &VersionLabels, stage: &'static str) -> AtomicHistogram {
        let VersionLabels { model, version } = labels.clone();
        self.stage_seconds.get_or_create_owned(&StageLabels { model, version, stage })
    }

    pub(super) fn ending(&self, labels: &VersionLabels, protocol: Protocol, outcome: Outcome) -> Ending {
        let labels = outcome_labels(labels, protocol, outcome);
        let count = self.requests.get_or_create_owned(&labels);
        Ending { count, seconds: self.request_seconds.get_or_create_owned(&labels) }
    }

    pub(super) fn request_rows(&self, labels: &VersionLabels, protocol: Protocol) -> AtomicHistogram {
        self.request_rows.get_or_create_owned(&outcome_labels(labels, protocol, Outcome::Answered))
    }

    /// A request for a version was not computed.
    pub fn shed(&self, model: &str, version: u32, reason: &'static str) {
        self.shed.get_or_create(&ShedLabels { model: model.to_owned(), version, reason }).inc();
    }

    /// Drops the series of a version that is gone, or every scrape would grow by each model ever trained.
    pub fn forget(&self, model: &str, version: u32) {
        let labels = VersionLabels { model: model.to_owned(), version };
        let known = self.gone.lock().unwrap_or_else(PoisonError::into_inner).remove(&labels);
        if let Some(gone) = known.and_then(|gone| gone.upgrade()) {
            gone.store(true, Ordering::Relaxed);
        }
        self.rows.remove(&labels);
        self.unknown_levels.remove(&labels);
        self.batches.remove(&labels);
        self.batch_rows.remove(&labels);
        self.queued_rows.remove(&labels);
        self.model_bytes.remove(&labels);
        for stage in STAGES {
            self.stage_seconds.remove(&StageLabels { model: model.to_owned(), version, stage });
        }
        for reason in REASONS {
            self.shed.remove(&ShedLabels { model: model.to_owned(), version, reason });
        }
        for protocol in Protocol::ALL {
            for outcome in Outcome::ALL {
                let labels = outcome_labels(&labels, protocol, outcome);
                self.requests.remove(&labels);
                self.request_seconds.remove(&labels);
                self.request_rows.remove(&labels);
            }
        }
    }
}

fn outcome_labels(version: &VersionLabels, protocol: Protocol, outcome: Outcome) -> OutcomeLabels {
    let VersionLabels { model, version } = version.clone();
    OutcomeLabels { model, version, protocol: protocol.name(), outcome: outcome.name() }
}
