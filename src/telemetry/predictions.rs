//! What is counted of predictions, by model and version.

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::{Registry, Unit};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// One version of a model.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct VersionLabels {
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

/// Why rows were not computed.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ShedLabels {
    model: String,
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
    const ALL: [Self; 3] = [Self::Native, Self::InferenceV2, Self::Invocations];

    fn name(self) -> &'static str {
        match self {
            Self::Native => "native",
            Self::InferenceV2 => "v2",
            Self::Invocations => "invocations",
        }
    }
}

/// Outcomes of a request.
const OUTCOMES: [&str; 4] = ["answered", "refused", "shed", "failed"];

/// The stages of a prediction.
const STAGES: [&str; 4] = ["decode", "queue", "compute", "encode"];

/// All that is counted of predictions; clones share it.
#[derive(Clone)]
pub struct PredictionMetrics {
    requests: Family<OutcomeLabels, Counter>,
    rows: Family<VersionLabels, Counter>,
    unknown_levels: Family<VersionLabels, Counter>,
    batch_rows: Family<VersionLabels, Histogram>,
    stage_seconds: Family<StageLabels, Histogram, fn() -> Histogram>,
    queued_rows: Family<VersionLabels, Gauge>,
    shed: Family<ShedLabels, Counter>,
    model_bytes: Family<VersionLabels, Gauge>,
}

impl PredictionMetrics {
    /// Registers everything.
    pub(super) fn register(registry: &mut Registry) -> Self {
        let seconds: fn() -> Histogram = || Histogram::new(exponential_buckets(0.000_002, 4.0, 12));
        let sizes: fn() -> Histogram = || Histogram::new(exponential_buckets(1.0, 2.0, 12));
        let metrics = Self {
            requests: Family::default(),
            rows: Family::default(),
            unknown_levels: Family::default(),
            batch_rows: Family::new_with_constructor(sizes),
            stage_seconds: Family::new_with_constructor(seconds),
            queued_rows: Family::default(),
            shed: Family::default(),
            model_bytes: Family::default(),
        };
        registry.register("predictions", "Prediction requests by protocol and outcome", metrics.requests.clone());
        registry.register("predicted_rows", "Rows predicted", metrics.rows.clone());
        let help = "Prediction cells whose text training never saw";
        registry.register("unknown_levels", help, metrics.unknown_levels.clone());
        registry.register("batch_rows", "Rows computed together", metrics.batch_rows.clone());
        let help = "Time of each stage of a prediction";
        registry.register_with_unit("prediction_stage", help, Unit::Seconds, metrics.stage_seconds.clone());
        registry.register("queued_rows", "Rows that wait for a prediction thread", metrics.queued_rows.clone());
        registry.register("shed_requests", "Predictions not computed, by reason", metrics.shed.clone());
        let help = "Models ready to predict";
        registry.register_with_unit("model_memory", help, Unit::Bytes, metrics.model_bytes.clone());
        metrics
    }

    /// The meters of one version, looked up once.
    pub fn of(&self, model: &str, version: u32) -> ModelMeters {
        let labels = VersionLabels { model: model.to_owned(), version };
        let stage = |stage| {
            let labels = StageLabels { model: model.to_owned(), version, stage };
            StageMeter { seconds: self.stage_seconds.get_or_create_owned(&labels), total: Total::default() }
        };
        let answered = Protocol::ALL.map(|protocol| {
            let (protocol, outcome) = (protocol.name(), "answered");
            let labels = OutcomeLabels { model: model.to_owned(), version, protocol, outcome };
            self.requests.get_or_create_owned(&labels)
        });
        ModelMeters {
            rows: self.rows.get_or_create_owned(&labels),
            unknown_levels: self.unknown_levels.get_or_create_owned(&labels),
            batch_rows: self.batch_rows.get_or_create_owned(&labels),
            queued_rows: self.queued_rows.get_or_create_owned(&labels),
            memory_bytes: self.model_bytes.get_or_create_owned(&labels),
            decode: stage("decode"),
            queue: stage("queue"),
            compute: stage("compute"),
            encode: stage("encode"),
            successes: Total::default(),
            failures: Total::default(),
            answered,
            metrics: self.clone(),
            labels,
        }
    }

    /// Drops the series of a version that is gone, or every scrape would grow by each model ever trained.
    pub fn forget(&self, model: &str, version: u32) {
        let labels = VersionLabels { model: model.to_owned(), version };
        self.rows.remove(&labels);
        self.unknown_levels.remove(&labels);
        self.batch_rows.remove(&labels);
        self.queued_rows.remove(&labels);
        self.model_bytes.remove(&labels);
        for stage in STAGES {
            self.stage_seconds.remove(&StageLabels { model: model.to_owned(), version, stage });
        }
        for protocol in Protocol::ALL {
            for outcome in OUTCOMES {
                let (model, protocol) = (model.to_owned(), protocol.name());
                self.requests.remove(&OutcomeLabels { model, version, protocol, outcome });
            }
        }
    }
}

/// The meters of one version of a model.
pub struct ModelMeters {
    /// Rows predicted.
    pub rows: Counter,
    /// Cells whose text training never saw.
    pub unknown_levels: Counter,
    /// Rows computed together.
    pub batch_rows: Histogram,
    queued_rows: Gauge,
    /// What it takes in memory.
    pub memory_bytes: Gauge,
    /// Body to rows.
    pub decode: StageMeter,
    /// Waiting for a thread.
    pub queue: StageMeter,
    /// Rows to predictions.
    pub compute: StageMeter,
    /// Predictions to a body.
    pub encode: StageMeter,
    /// Requests answered, and how long they took.
    pub successes: Total,
    /// Requests not answered, and how long that took.
    pub failures: Total,
    answered: [Counter<u64, AtomicU64>; 3],
    metrics: PredictionMetrics,
    labels: VersionLabels,
}

/// How often something happened and how long it took altogether.
#[derive(Default)]
pub struct Total {
    count: AtomicU64,
    nanoseconds: AtomicU64,
}

impl Total {
    /// It happened once more.
    pub fn add(&self, duration: Duration) {
        self.count.fetch_add(1, Ordering::Relaxed);
        self.nanoseconds.fetch_add(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    /// How often, and nanoseconds.
    pub fn get(&self) -> (u64, u64) {
        (self.count.load(Ordering::Relaxed), self.nanoseconds.load(Ordering::Relaxed))
    }
}

/// The durations of one stage.
pub struct StageMeter {
    seconds: Histogram,
    /// Of all of them.
    pub total: Total,
}

impl StageMeter {
    /// One more.
    pub fn observe(&self, duration: Duration) {
        self.seconds.observe(duration.as_secs_f64());
        self.total.add(duration);
    }
}

impl ModelMeters {
    /// A request got its predictions.
    pub fn answered(&self, protocol: Protocol, duration: Duration) {
        self.answered[protocol as usize].inc();
        self.successes.add(duration);
    }

    /// A request ended otherwise: `refused` for what it sent, `shed` for lack of room or time, `failed` by our fault.
    pub fn ended(&self, protocol: Protocol, outcome: &'static str, duration: Duration) {
        self.failures.add(duration);
        let VersionLabels { model, version } = self.labels.clone();
        let labels = OutcomeLabels { model, version, protocol: protocol.name(), outcome };
        self.metrics.requests.get_or_create(&labels).inc();
    }

    /// So many rows wait.
    pub fn queued(&self, rows: usize) {
        self.queued_rows.set(i64::try_from(rows).unwrap_or(i64::MAX));
    }

    /// Rows were not computed.
    pub fn shed(&self, reason: &'static str) {
        let labels = ShedLabels { model: self.labels.model.clone(), reason };
        self.metrics.shed.get_or_create(&labels).inc();
    }
}
