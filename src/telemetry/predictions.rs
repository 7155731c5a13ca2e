//! Metrics of predictions, by model and version.

use super::flag_kind::FlagKind;
use super::histogram::AtomicHistogram;
use super::meters::{OutcomeMeter, SharedMeters};
use super::protocol::Protocol;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::exponential_buckets;
use prometheus_client::registry::{Registry, Unit};
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

/// One version of a model.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(crate) struct VersionLabels {
    /// Its name.
    pub model: String,
    /// Its version.
    pub version: String,
}

impl VersionLabels {
    pub(super) fn new(model: &str, version: u32) -> Self {
        Self { model: model.to_owned(), version: version.to_string() }
    }

    /// Of all versions beyond those that have series of their own.
    fn other() -> Self {
        Self { model: "other".to_owned(), version: "other".to_owned() }
    }

    pub(super) fn is_other(&self) -> bool {
        *self == Self::other()
    }
}

/// Labels of requests for a version by how they ended.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OutcomeLabels {
    model: String,
    version: String,
    protocol: &'static str,
    outcome: &'static str,
}

/// Labels of a stage of a prediction.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct StageLabels {
    model: String,
    version: String,
    stage: &'static str,
}

/// Labels of shed requests.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ShedLabels {
    model: String,
    version: String,
    reason: &'static str,
}

/// Labels of flagged cells.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct FlagLabels {
    model: String,
    version: String,
    kind: &'static str,
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
pub enum PredictionStage {
    /// From the body to rows.
    Decode,
    /// Waiting for a prediction thread.
    Queue,
    /// From rows to predictions.
    Compute,
    /// From predictions to a body.
    Encode,
}

impl PredictionStage {
    pub(super) const ALL: [Self; 4] = [Self::Decode, Self::Queue, Self::Compute, Self::Encode];

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

/// Gauges by version.
pub(super) type GaugeFamily = Family<VersionLabels, Gauge>;

type HistogramFamily<L> = Family<L, AtomicHistogram, fn() -> AtomicHistogram>;

/// All metrics of predictions; clones share them.
#[derive(Clone)]
pub struct PredictionMetrics {
    requests: Family<OutcomeLabels, Counter>,
    request_seconds: HistogramFamily<OutcomeLabels>,
    request_rows: HistogramFamily<OutcomeLabels>,
    pub(super) rows: Family<VersionLabels, Counter>,
    pub(super) unknown_levels: Family<VersionLabels, Counter>,
    flagged_cells: Family<FlagLabels, Counter>,
    pub(super) batches: Family<VersionLabels, Counter>,
    pub(super) batch_rows: HistogramFamily<VersionLabels>,
    stage_seconds: HistogramFamily<StageLabels>,
    pub(super) queued_rows: Family<VersionLabels, Gauge>,
    shed: Family<ShedLabels, Counter>,
    pub(super) model_bytes: Family<VersionLabels, Gauge>,
    versions: Arc<Mutex<Versions>>,
}

/// What is known of versions.
struct Versions {
    /// What the meters of a version share, as long as there are any: a loaded model may outlive its place in the cache.
    shared: HashMap<VersionLabels, Weak<SharedMeters>>,
    /// Those that have series of their own.
    shown: HashSet<VersionLabels>,
    /// Of those, at most.
    limit: usize,
}

impl PredictionMetrics {
    /// What all meters of a version share.
    pub(super) fn shared(&self, labels: &VersionLabels) -> Arc<SharedMeters> {
        let shared = &mut self.versions().shared;
        shared.get(labels).and_then(Weak::upgrade).unwrap_or_else(|| {
            let new = Arc::default();
            shared.retain(|_, meters| meters.strong_count() > 0);
            shared.insert(labels.clone(), Arc::downgrade(&new));
            new
        })
    }

    /// The labels under which a version is counted: its own if there is room for its series.
    pub(super) fn admitted(&self, labels: &VersionLabels) -> VersionLabels {
        let mut versions = self.versions();
        if versions.shown.len() < versions.limit {
            versions.shown.insert(labels.clone());
        }
        if versions.shown.contains(labels) { labels.clone() } else { VersionLabels::other() }
    }

    fn versions(&self) -> MutexGuard<'_, Versions> {
        self.versions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Metrics in no registry, so that nobody reads them. Up to `limit` versions have series of their own.
    pub(super) fn unregistered(limit: usize) -> Self {
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
            flagged_cells: Family::default(),
            batches: Family::default(),
            batch_rows: Family::new_with_constructor(sizes),
            stage_seconds: Family::new_with_constructor(stages),
            queued_rows: Family::default(),
            shed: Family::default(),
            model_bytes: Family::default(),
            versions: Arc::new(Mutex::new(Versions { shared: HashMap::new(), shown: HashSet::new(), limit })),
        }
    }

    /// Metrics in a registry.
    pub(super) fn register(registry: &mut Registry, limit: usize) -> Self {
        let metrics = Self::unregistered(limit);
        registry.register("predictions", "Prediction requests by protocol and outcome", metrics.requests.clone());
        let help = "Duration of a prediction request by protocol and outcome";
        registry.register_with_unit("prediction", help, Unit::Seconds, metrics.request_seconds.clone());
        let help = "Rows of answered prediction requests by protocol";
        registry.register("prediction_rows", help, metrics.request_rows.clone());
        registry.register("predicted_rows", "Rows predicted", metrics.rows.clone());
        let help = "Prediction cells whose text does not occur in the training data";
        registry.register("unknown_levels", help, metrics.unknown_levels.clone());
        let help = "Prediction cells by what they are flagged for; out_of_range only in requests for interval, label_set, in_range or warnings, or strict ones";
        registry.register("flagged_cells", help, metrics.flagged_cells.clone());
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

    pub(super) fn stage(&self, labels: &VersionLabels, stage: PredictionStage) -> AtomicHistogram {
        let VersionLabels { model, version } = labels.clone();
        self.stage_seconds.get_or_create_owned(&StageLabels { model, version, stage: stage.name() })
    }

    pub(super) fn flagged(&self, labels: &VersionLabels, kind: FlagKind) -> Counter {
        let VersionLabels { model, version } = labels.clone();
        self.flagged_cells.get_or_create_owned(&FlagLabels { model, version, kind: kind.name() })
    }

    pub(super) fn outcome(&self, labels: &VersionLabels, protocol: Protocol, outcome: Outcome) -> OutcomeMeter {
        let labels = outcome_labels(labels, protocol, outcome);
        let count = self.requests.get_or_create_owned(&labels);
        OutcomeMeter { count, seconds: self.request_seconds.get_or_create_owned(&labels) }
    }

    pub(super) fn request_rows(&self, labels: &VersionLabels, protocol: Protocol) -> AtomicHistogram {
        self.request_rows.get_or_create_owned(&outcome_labels(labels, protocol, Outcome::Answered))
    }

    /// Counts a shed request of a version that is not loaded.
    pub fn shed(&self, model: &str, version: u32, reason: ShedReason) {
        self.shed_as(&self.admitted(&VersionLabels::new(model, version)), reason);
    }

    pub(super) fn shed_as(&self, labels: &VersionLabels, reason: ShedReason) {
        let VersionLabels { model, version } = labels.clone();
        self.shed.get_or_create(&ShedLabels { model, version, reason: reason.name() }).inc();
    }

    /// Drops the series of a deleted version; otherwise every scrape would grow by each model ever trained.
    pub fn forget(&self, model: &str, version: u32) {
        self.forget_labels(&VersionLabels::new(model, version));
    }

    pub(super) fn forget_labels(&self, labels: &VersionLabels) {
        let mut versions = self.versions();
        if let Some(shared) = versions.shared.remove(labels).and_then(|shared| shared.upgrade()) {
            shared.delete();
        }
        versions.shown.remove(labels);
        drop(versions);
        self.rows.remove(labels);
        self.unknown_levels.remove(labels);
        self.batches.remove(labels);
        self.batch_rows.remove(labels);
        self.queued_rows.remove(labels);
        self.model_bytes.remove(labels);
        let VersionLabels { model, version } = labels.clone();
        for stage in PredictionStage::ALL.map(PredictionStage::name) {
            self.stage_seconds.remove(&StageLabels { model: model.clone(), version: version.clone(), stage });
        }
        for kind in FlagKind::ALL.map(FlagKind::name) {
            self.flagged_cells.remove(&FlagLabels { model: model.clone(), version: version.clone(), kind });
        }
        for reason in ShedReason::ALL.map(ShedReason::name) {
            self.shed.remove(&ShedLabels { model: model.clone(), version: version.clone(), reason });
        }
        for protocol in Protocol::ALL {
            for outcome in Outcome::ALL {
                let labels = outcome_labels(labels, protocol, outcome);
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
