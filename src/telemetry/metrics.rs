//! All metrics of one app in one registry.

use super::histogram::AtomicHistogram;
use super::predictions::PredictionMetrics;
use super::process::ProcessMetrics;
use super::protocol::PredictionRoute;
use super::readings::Readings;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::{Registry, Unit};
use std::sync::Arc;

/// The route of a request. Routes that predict have metrics that were looked up at the start.
#[derive(Debug, Clone)]
pub enum RequestRoute {
    /// A route that predicts.
    Prediction(PredictionRoute),
    /// Any other route, or none.
    Other {
        /// GET, POST, …
        method: String,
        /// The path with its parameters in braces; never the path of the request, which is unbounded.
        path: String,
    },
}

impl RequestRoute {
    /// The method, from a closed set.
    pub fn method(&self) -> &str {
        match self {
            Self::Prediction(_) => "POST",
            Self::Other { method, .. } => method,
        }
    }

    /// The path with its parameters in braces.
    pub fn path(&self) -> &str {
        match self {
            Self::Prediction(route) => route.path(),
            Self::Other { path, .. } => path,
        }
    }
}

/// Labels of a request.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RequestLabels {
    method: String,
    route: String,
    status: u16,
}

/// The route of a request.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RouteLabel {
    route: String,
}

/// A stage of training.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct StageLabel {
    /// Its name.
    pub stage: &'static str,
}

/// An attempt at a job.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct JobLabels {
    /// train, update or certify.
    pub r#type: &'static str,
    /// succeeded, failed or stopped.
    pub outcome: &'static str,
}

/// A job status.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct StatusLabel {
    /// Its name.
    pub status: &'static str,
}

/// All metrics of one app; clones share them.
#[derive(Clone)]
pub struct Metrics {
    registry: Arc<Registry>,
    requests: Family<RequestLabels, Counter>,
    request_seconds: Family<RouteLabel, AtomicHistogram, fn() -> AtomicHistogram>,
    /// Bytes of accepted datasets.
    pub uploaded_bytes: Counter,
    /// Jobs by status, set when the metrics are read.
    pub jobs: Family<StatusLabel, Gauge>,
    /// Duration of jobs by type and outcome.
    pub job_seconds: Family<JobLabels, Histogram>,
    /// Figures that are set when the metrics are read.
    pub readings: Readings,
    /// Duration of each stage of training.
    pub stage_seconds: Family<StageLabel, Histogram>,
    /// Metrics of predictions, by model and version.
    pub predictions: PredictionMetrics,
    /// Requests answered with 200, and durations, of each route that predicts.
    prediction_routes: [(Counter, AtomicHistogram); PredictionRoute::ALL.len()],
}

impl Metrics {
    /// Metrics in a registry of their own. Up to so many versions of models have series of their own.
    pub fn new(version_limit: usize) -> Self {
        let latency: fn() -> AtomicHistogram = || AtomicHistogram::new(exponential_buckets(0.0001, 2.0, 18));
        let duration: fn() -> Histogram = || Histogram::new(exponential_buckets(0.001, 4.0, 12));
        let mut all = Registry::default();
        let process = ProcessMetrics::register(&mut all);
        let registry = all.sub_registry_with_prefix("bochner");
        let requests = Family::<RequestLabels, Counter>::default();
        let request_seconds =
            Family::<RouteLabel, AtomicHistogram, fn() -> AtomicHistogram>::new_with_constructor(latency);
        registry.register("http_requests", "Requests answered", requests.clone());
        let help = "Time to answer a request";
        registry.register_with_unit("http_request", help, Unit::Seconds, request_seconds.clone());
        let uploaded_bytes = Counter::default();
        registry.register_with_unit("uploaded", "Size of accepted datasets", Unit::Bytes, uploaded_bytes.clone());
        let jobs = Family::default();
        registry.register("jobs", "Jobs by status", jobs.clone());
        let stage_seconds = Family::new_with_constructor(duration);
        let help = "Duration of each stage of training";
        registry.register_with_unit("training_stage", help, Unit::Seconds, stage_seconds.clone());
        let job_seconds = Family::new_with_constructor(duration);
        let help = "Duration of an attempt at a job by type and outcome";
        registry.register_with_unit("job", help, Unit::Seconds, job_seconds.clone());
        let readings = Readings::register(registry, process);
        let predictions = PredictionMetrics::register(registry, version_limit);
        let prediction_routes = PredictionRoute::ALL.map(|route| {
            let route = route.path().to_owned();
            let seconds = request_seconds.get_or_create_owned(&RouteLabel { route: route.clone() });
            let labels = RequestLabels { method: "POST".to_owned(), route, status: 200 };
            (requests.get_or_create_owned(&labels), seconds)
        });
        Self {
            registry: Arc::new(all),
            job_seconds,
            readings,
            requests,
            request_seconds,
            uploaded_bytes,
            jobs,
            stage_seconds,
            predictions,
            prediction_routes,
        }
    }

    /// Counts an answered request.
    pub fn answered(&self, route: &RequestRoute, status: u16, seconds: f64) {
        match route {
            RequestRoute::Prediction(known) => {
                let (successes, durations) = &self.prediction_routes[*known as usize];
                durations.observe(seconds);
                if status == 200 {
                    successes.inc();
                    return;
                }
            }
            RequestRoute::Other { path, .. } => {
                self.request_seconds.get_or_create(&RouteLabel { route: path.clone() }).observe(seconds);
            }
        }
        let (method, route) = (route.method().to_owned(), route.path().to_owned());
        self.requests.get_or_create(&RequestLabels { method, route, status }).inc();
    }

    /// All metrics as OpenMetrics text.
    pub fn render(&self) -> String {
        let mut text = String::new();
        // Writing to a String cannot fail.
        let _ = prometheus_client::encoding::text::encode(&mut text, &self.registry);
        text
    }
}
