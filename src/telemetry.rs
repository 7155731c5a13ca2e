//! Logs and metrics.

/// What is counted of predictions.
mod predictions;

pub use predictions::{ModelMeters, PredictionMetrics, Protocol, StageMeter, Total, VersionLabels};

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
pub fn start_logging(config: &Config) -> Result<(), String> {
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
    pub request_seconds: Family<RouteLabel, Histogram>,
    /// Bytes of uploaded tables.
    pub uploaded_bytes: Counter,
    /// Jobs by status, set when scraped.
    pub jobs: Family<StatusLabel, Gauge>,
    /// How long stages of training take.
    pub stage_seconds: Family<StageLabel, Histogram>,
    /// Of predictions.
    pub predictions: PredictionMetrics,
}

impl Metrics {
    /// A fresh registry.
    pub fn new() -> Self {
        let latency: fn() -> Histogram = || Histogram::new(exponential_buckets(0.0001, 2.0, 18));
        let duration: fn() -> Histogram = || Histogram::new(exponential_buckets(0.001, 4.0, 12));
        let mut registry = Registry::with_prefix("bochner");
        let mut metrics = Self {
            registry: Arc::default(),
            requests: Family::default(),
            request_seconds: Family::new_with_constructor(latency),
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
