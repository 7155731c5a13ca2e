//! Metrics of predictions, by model and version.

use super::histogram::AtomicHistogram;
use super::meters::OutcomeMeter;
use super::protocol::Protocol;
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

/// Labels of requests for a version by how they ended.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OutcomeLabels {
    model: String,
    version: u32,
    protocol: &'static str,
    outcome: &'static str,
}

/// Labels of a stage of a prediction.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct StageLabels {
    model: String,
    version: u32,
    stage: &'static str,
}

/// Labels of shed requests.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ShedLabels {
    model: String,
    version: u32,
    reason: &'static str,
}

/// How a prediction request ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// With predictions.
    Answered,
    /// Refused because of what it sent.
    Refused,
    /// Refused for lack of capacity or time.
    Shed,
    /// By a fault of the service.
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

/// A stage of a prediction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    Decode,
    Queue,
    Compute,
    Encode,
}

impl Stage {
    const ALL: [Self; 4] = [Self::Decode, Self::Queue, Self::Compute, Self::Encode];

    fn name(self) -> &'static str {
        match self {
            Self::Decode => "decode",
            Self::Queue => "queue",
            Self::Compute => "compute",
            Self::Encode => "encode",
        }
    }
}

/// Why a request was shed: refused for lack of capacity or time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShedReason {
    /// Too many rows wait for the model.
    QueueFull,
    /// Too many large bodies, large answers or tables at once.
    Overloaded,
    /// The deadline passed before the rows were computed.
    Deadline,
    /// The client closed the connection.
    Disconnected,
    /// The deadline passed while the model was being read into memory.
    ModelLoading,
}

impl ShedReason {
    const ALL: [Self; 5] = [Self::QueueFull, Self::Overloaded, Self::Deadline, Self::Disconnected, Self::ModelLoading];

    fn name(self) -> &'static str {
        match self {
            Self::QueueFull => "queue_full",
            Self::Overloaded => "overloaded",
            Self::Deadline => "deadline",
            Self::Disconnected => "disconnected",
            Self::ModelLoading => "model_loading",
        }
    }
}

type HistogramFamily<L> = Family<L, AtomicHistogram, fn() -> AtomicHistogram>;

/// All metrics of predictions; clones share them.
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
    /// For each version whether it was deleted, shared by all its meters: a loaded model may outlive its place in the
    /// cache.
    deleted: Arc<Mutex<HashMap<VersionLabels, Weak<AtomicBool>>>>,
}

impl PredictionMetrics {
    /// The flag that is set once a version is deleted.
    pub(super) fn deleted(&self, labels: &VersionLabels) -> Arc<AtomicBool> {
        let mut known = self.deleted.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(labels).and_then(Weak::upgrade).unwrap_or_else(|| {
            let deleted = Arc::default();
            known.insert(labels.clone(), Arc::downgrade(&deleted));
            deleted
        })
    }

    /// Metrics in no registry, so that nobody reads them.
    pub(super) fn unregistered() -> Self {
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
            deleted: Arc::default(),
        }
    }

    /// Metrics in a registry.
    pub(super) fn register(registry: &mut Registry) -> Self {
        let metrics = Self::unregistered();
        registry.register("predictions", "Prediction requests by protocol and outcome", metrics.requests.clone());
        let help = "Duration of a prediction request by protocol and outcome";
        registry.register_with_unit("prediction", help, Unit::Seconds, metrics.request_seconds.clone());
        let help = "Rows of answered prediction requests by protocol";
        registry.register("prediction_rows", help, metrics.request_rows.clone());
        registry.register("predicted_rows", "Rows predicted", metrics.rows.clone());
        let help = "Prediction cells whose text does not occur in the training data";
        registry.register("unknown_levels", help, metrics.unknown_levels.clone());
        registry.register("batches", "Batches computed by the prediction threads", metrics.batches.clone());
        registry.register("batch_rows", "Rows computed together", metrics.batch_rows.clone());
        let help = "Duration of each stage of a prediction";
        registry.register_with_unit("prediction_stage", help, Unit::Seconds, metrics.stage_seconds.clone());
        registry.register("queued_rows", "Rows waiting for a prediction thread", metrics.queued_rows.clone());
        registry.register("shed_requests", "Prediction requests shed, by reason", metrics.shed.clone());
        let help = "Memory of loaded models";
        registry.register_with_unit("model_memory", help, Unit::Bytes, metrics.model_bytes.clone());
        metrics
    }

    pub(super) fn stage(&self, labels: &VersionLabels, stage: Stage) -> AtomicHistogram {
        let VersionLabels { model, version } = labels.clone();
        self.stage_seconds.get_or_create_owned(&StageLabels { model, version, stage: stage.name() })
    }

    pub(super) fn outcome(&self, labels: &VersionLabels, protocol: Protocol, outcome: Outcome) -> OutcomeMeter {
        let labels = outcome_labels(labels, protocol, outcome);
        let count = self.requests.get_or_create_owned(&labels);
        OutcomeMeter { count, seconds: self.request_seconds.get_or_create_owned(&labels) }
    }

    pub(super) fn request_rows(&self, labels: &VersionLabels, protocol: Protocol) -> AtomicHistogram {
        self.request_rows.get_or_create_owned(&outcome_labels(labels, protocol, Outcome::Answered))
    }

    /// Counts a shed request.
    pub fn shed(&self, model: &str, version: u32, reason: ShedReason) {
        self.shed.get_or_create(&ShedLabels { model: model.to_owned(), version, reason: reason.name() }).inc();
    }

    /// Drops the series of a deleted version; otherwise every scrape would grow by each model ever trained.
    pub fn forget(&self, model: &str, version: u32) {
        let labels = VersionLabels { model: model.to_owned(), version };
        let known = self.deleted.lock().unwrap_or_else(PoisonError::into_inner).remove(&labels);
        if let Some(deleted) = known.and_then(|deleted| deleted.upgrade()) {
            deleted.store(true, Ordering::Relaxed);
        }
        self.rows.remove(&labels);
        self.unknown_levels.remove(&labels);
        self.batches.remove(&labels);
        self.batch_rows.remove(&labels);
        self.queued_rows.remove(&labels);
        self.model_bytes.remove(&labels);
        for stage in Stage::ALL.map(Stage::name) {
            self.stage_seconds.remove(&StageLabels { model: model.to_owned(), version, stage });
        }
        for reason in ShedReason::ALL.map(ShedReason::name) {
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
