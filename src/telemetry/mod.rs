//! Logs and metrics.

/// Panics that are expected.
mod panics;

/// Histograms without a lock.
mod histogram;

/// What is counted of predictions.
mod predictions;

/// The meters of one version of a model.
mod meters;

pub(crate) use histogram::AtomicHistogram;
pub(crate) use meters::ModelMeters;
pub(crate) use panics::expecting_panics;
pub(crate) use predictions::{Outcome, PredictionMetrics, Protocol};

use crate::config::{Config, LogFormat};
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::{Registry, Unit};
use std::io::IsTerminal;
use std::sync::Arc;
use tracing_subscriber::EnvFilter;

/// Starts logging to standard error. Fails on a filter that does not parse.
pub(crate) fn start_logging(config: &Config) -> Result<(), String> {
    let filter = EnvFilter::try_new(&config.log).map_err(|error| format!("BOCHNER_LOG: {error}"))?;
    let json = match config.log_format {
        LogFormat::Auto => !std::io::stderr().is_terminal(),
        LogFormat::Human => false,
        LogFormat::Json => true,
    };
    let builder = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    let started = if json {
        builder.json().flatten_event(true).with_current_span(true).with_span_list(false).try_init()
    } else {
        builder.try_init()
    };
    started.map_err(|error| error.to_string())
}

/// Labels of one HTTP request.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct RequestLabels {
    /// GET, POST …
    pub method: String,
    /// The route, not the path: a small closed set.
    pub route: String,
    /// Status code.
    pub status: u16,
}

/// The route alone.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct RouteLabel {
    /// The route.
    pub route: String,
}

/// The routes that predict.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PredictionRoute {
    /// By the newest version or an alias.
    Predict,
    /// By a version.
    PredictVersion,
    /// Open Inference Protocol.
    Infer,
    /// The same by a version.
    InferVersion,
    /// MLflow and SageMaker.
    Invocations,
}

impl PredictionRoute {
    const ALL: [Self; 5] = [Self::Predict, Self::PredictVersion, Self::Infer, Self::InferVersion, Self::Invocations];

    /// As the route table has it.
    pub fn path(self) -> &'static str {
        match self {
            Self::Predict => "/api/v1/models/{model}/predict",
            Self::PredictVersion => "/api/v1/models/{model}/versions/{version}/predict",
            Self::Infer => "/v2/models/{model}/infer",
            Self::InferVersion => "/v2/models/{model}/versions/{version}/infer",
            Self::Invocations => "/invocations",
        }
    }
}

/// One stage of training.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct StageLabel {
    /// Its name.
    pub stage: &'static str,
}

/// How something ended or stands.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct StatusLabel {
    /// A job status.
    pub status: &'static str,
}

/// All metrics of one app; clones share them.
#[derive(Clone)]
pub struct Metrics {
    registry: Arc<Registry>,
    /// Requests answered.
    pub requests: Family<RequestLabels, Counter>,
    /// How long they took.
    pub request_seconds: Family<RouteLabel, AtomicHistogram, fn() -> AtomicHistogram>,
    /// Bytes of uploaded tables.
    pub uploaded_bytes: Counter,
    /// Jobs by status, set when scraped.
    pub jobs: Family<StatusLabel, Gauge>,
    /// How long stages of training take.
    pub stage_seconds: Family<StageLabel, Histogram>,
    /// Of predictions.
    pub predictions: PredictionMetrics,
    /// Requests and durations of the routes that predict, looked up once.
    prediction_routes: [(Counter, AtomicHistogram); PredictionRoute::ALL.len()],
}

impl Metrics {
    /// A fresh registry.
    pub fn new() -> Self {
        let latency: fn() -> AtomicHistogram = || AtomicHistogram::new(exponential_buckets(0.0001, 2.0, 18));
        let duration: fn() -> Histogram = || Histogram::new(exponential_buckets(0.001, 4.0, 12));
        let mut registry = Registry::with_prefix("bochner");
        let requests = Family::<RequestLabels, Counter>::default();
        let request_seconds =
            Family::<RouteLabel, AtomicHistogram, fn() -> AtomicHistogram>::new_with_constructor(latency);
        let mut metrics = Self {
            registry: Arc::default(),
            prediction_routes: PredictionRoute::ALL.map(|route| {
                let route = route.path().to_owned();
                let seconds = request_seconds.get_or_create_owned(&RouteLabel { route: route.clone() });
                let labels = RequestLabels { method: "POST".to_owned(), route, status: 200 };
                (requests.get_or_create_owned(&labels), seconds)
            }),
            requests,
            request_seconds,
            uploaded_bytes: Counter::default(),
            jobs: Family::default(),
            stage_seconds: Family::new_with_constructor(duration),
            predictions: PredictionMetrics::register(&mut registry),
        };
        registry.register("http_requests", "Requests answered", metrics.requests.clone());
        registry.register_with_unit(
            "http_request",
            "Time to answer a request",
            Unit::Seconds,
            metrics.request_seconds.clone(),
        );
        registry.register_with_unit(
            "uploaded",
            "Size of accepted data sets",
            Unit::Bytes,
            metrics.uploaded_bytes.clone(),
        );
        registry.register("jobs", "Jobs by status", metrics.jobs.clone());
        registry.register_with_unit(
            "training_stage",
            "Time of each stage of training",
            Unit::Seconds,
            metrics.stage_seconds.clone(),
        );
        metrics.registry = Arc::new(registry);
        metrics
    }

    /// A route that predicts has answered.
    pub fn prediction_answered(&self, route: PredictionRoute, status: u16, seconds: f64) {
        let (good, durations) = &self.prediction_routes[route as usize];
        durations.observe(seconds);
        if status == 200 {
            good.inc();
        } else {
            let (method, route) = ("POST".to_owned(), route.path().to_owned());
            self.requests.get_or_create(&RequestLabels { method, route, status }).inc();
        }
    }

    /// The Prometheus text of all metrics.
    pub fn render(&self) -> String {
        let mut text = String::new();
        // Writing to a String cannot fail.
        let _ = prometheus_client::encoding::text::encode(&mut text, &self.registry);
        text
    }
}

impl Default for Metrics {
    fn default() -> Self {
        Self::new()
    }
}
