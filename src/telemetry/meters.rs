//! The metrics of one model version, looked up when it is loaded so that no request has to.

use super::histogram::AtomicHistogram;
use super::predictions::{Outcome, PredictionMetrics, ShedReason, Stage, VersionLabels};
use super::protocol::Protocol;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::Gauge;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant, SystemTime};

/// The metrics of one model version.
pub struct ModelMeters {
    rows: Counter,
    /// Rows since the version was loaded.
    rows_since: AtomicU64,
    /// When the version was loaded.
    since: (Instant, SystemTime),
    /// Nanoseconds from loading to the last answer; 0 before the first.
    last_answer: AtomicU64,
    /// Cells whose text does not occur in the training data.
    pub unknown_levels: Counter,
    batches: Counter,
    batch_rows: AtomicHistogram,
    queued_rows: Gauge,
    memory_bytes: Gauge,
    /// From the body to rows.
    pub decode: StageMeter,
    /// Waiting for a prediction thread.
    pub queue: StageMeter,
    /// From rows to predictions.
    pub compute: StageMeter,
    /// From predictions to a body.
    pub encode: StageMeter,
    /// Requests answered with predictions.
    pub successes: Total,
    /// Requests that ended in any other way.
    pub failures: Total,
    /// By protocol and outcome; a series is created when something is counted in it.
    outcomes: [[OnceLock<OutcomeMeter>; Outcome::ALL.len()]; Protocol::ALL.len()],
    request_rows: [OnceLock<AtomicHistogram>; Protocol::ALL.len()],
    /// Whether the version was deleted: then no series is created any more.
    deleted: Arc<AtomicBool>,
    metrics: PredictionMetrics,
    labels: VersionLabels,
}

/// Requests of one protocol that ended in the same way.
pub(super) struct OutcomeMeter {
    pub(super) count: Counter,
    pub(super) seconds: AtomicHistogram,
}

impl PredictionMetrics {
    /// The metrics of one model version.
    pub fn of(&self, model: &str, version: u32) -> ModelMeters {
        let labels = VersionLabels { model: model.to_owned(), version };
        let stage = |stage| StageMeter::since_now(self.stage(&labels, stage));
        ModelMeters {
            rows: self.rows.get_or_create_owned(&labels),
            rows_since: AtomicU64::new(0),
            since: (Instant::now(), SystemTime::now()),
            last_answer: AtomicU64::new(0),
            unknown_levels: self.unknown_levels.get_or_create_owned(&labels),
            batches: self.batches.get_or_create_owned(&labels),
            batch_rows: self.batch_rows.get_or_create_owned(&labels),
            queued_rows: self.queued_rows.get_or_create_owned(&labels),
            memory_bytes: self.model_bytes.get_or_create_owned(&labels),
            decode: stage(Stage::Decode),
            queue: stage(Stage::Queue),
            compute: stage(Stage::Compute),
            encode: stage(Stage::Encode),
            successes: Total::default(),
            failures: Total::default(),
            outcomes: Default::default(),
            request_rows: Default::default(),
            deleted: self.deleted(&labels),
            metrics: self.clone(),
            labels,
        }
    }
}

impl ModelMeters {
    /// Counts predicted rows.
    pub fn predicted(&self, rows: usize) {
        self.rows.inc_by(rows as u64);
        self.rows_since.fetch_add(rows as u64, Ordering::Relaxed);
    }

    /// Rows predicted since the version was loaded.
    pub fn rows_predicted(&self) -> u64 {
        self.rows_since.load(Ordering::Relaxed)
    }

    /// Unix time of the last answer in milliseconds; 0 if there was none since the version was loaded.
    pub fn last_answer_ms(&self) -> u64 {
        let after = self.last_answer.load(Ordering::Relaxed);
        let since = self.since.1.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let time = since + Duration::from_nanos(after);
        if after == 0 { 0 } else { u64::try_from(time.as_millis()).unwrap_or_default() }
    }

    /// Counts a request that arrived at `start` and was answered at `end`.
    pub fn answered(&self, protocol: Protocol, start: Instant, end: Instant, rows: usize) {
        let duration = end - start;
        let after = u64::try_from((end - self.since.0).as_nanos()).unwrap_or(u64::MAX);
        self.last_answer.store(after, Ordering::Relaxed);
        self.successes.add(duration);
        self.end(protocol, Outcome::Answered, duration);
        let of_protocol = &self.request_rows[protocol as usize];
        of_protocol.get_or_init(|| self.series().request_rows(&self.labels, protocol)).observe(rows as f64);
    }

    /// Counts a request that was not answered with predictions.
    pub fn ended(&self, protocol: Protocol, outcome: Outcome, duration: Duration) {
        self.failures.add(duration);
        self.end(protocol, outcome, duration);
    }

    fn end(&self, protocol: Protocol, outcome: Outcome, duration: Duration) {
        let meter = &self.outcomes[protocol as usize][outcome as usize];
        let meter = meter.get_or_init(|| self.series().outcome(&self.labels, protocol, outcome));
        meter.count.inc();
        meter.seconds.observe(duration.as_secs_f64());
    }

    /// Sets the number of rows that wait.
    pub fn queued(&self, rows: usize) {
        self.queued_rows.set(i64::try_from(rows).unwrap_or(i64::MAX));
    }

    /// Counts a batch of rows computed together.
    pub fn batch(&self, rows: usize) {
        self.batches.inc();
        self.batch_rows.observe(rows as f64);
    }

    /// Sets the bytes that the loaded version takes.
    pub fn memory(&self, bytes: usize) {
        self.memory_bytes.set(i64::try_from(bytes).unwrap_or(i64::MAX));
    }

    /// Counts a shed request.
    pub fn shed(&self, reason: ShedReason) {
        self.series().shed(&self.labels.model, self.labels.version, reason);
    }

    /// Drops the series of a deleted version. Requests in flight create no new ones.
    pub fn forget(&self) {
        self.metrics.forget(&self.labels.model, self.labels.version);
    }

    /// The metrics in which to create a series; for a deleted version, ones that nobody reads.
    fn series(&self) -> PredictionMetrics {
        if self.deleted.load(Ordering::Relaxed) { PredictionMetrics::unregistered() } else { self.metrics.clone() }
    }
}

/// A count of events and their total duration.
#[derive(Default)]
pub struct Total {
    count: AtomicU64,
    nanoseconds: AtomicU64,
}

impl Total {
    /// Counts one event.
    pub fn add(&self, duration: Duration) {
        self.count.fetch_add(1, Ordering::Relaxed);
        self.nanoseconds.fetch_add(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    /// The count, and the total in nanoseconds.
    pub fn get(&self) -> (u64, u64) {
        (self.count.load(Ordering::Relaxed), self.nanoseconds.load(Ordering::Relaxed))
    }
}

/// The durations of one stage.
pub struct StageMeter {
    seconds: AtomicHistogram,
    /// The count and the total before the version was loaded.
    before: (u64, f64),
}

impl StageMeter {
    fn since_now(seconds: AtomicHistogram) -> Self {
        Self { before: seconds.total(), seconds }
    }

    /// Counts one run of the stage.
    pub fn observe(&self, duration: Duration) {
        self.seconds.observe(duration.as_secs_f64());
    }

    /// The count since the version was loaded, and the total in nanoseconds.
    pub fn get(&self) -> (u64, u64) {
        let (count, seconds) = self.seconds.total();
        (count - self.before.0, ((seconds - self.before.1) * 1e9) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The series continues when a version is loaded again; the statistics of the loaded version start from zero.
    #[test]
    fn stages_are_counted_since_the_version_was_loaded() {
        let metrics = PredictionMetrics::register(&mut prometheus_client::registry::Registry::default());
        let first = metrics.of("m", 1);
        first.decode.observe(Duration::from_millis(2));
        let second = metrics.of("m", 1);
        assert_eq!((first.decode.get().0, second.decode.get()), (1, (0, 0)));
        second.decode.observe(Duration::from_millis(3));
        let (count, nanoseconds) = second.decode.get();
        assert!(count == 1 && nanoseconds.abs_diff(3_000_000) < 10, "{count} {nanoseconds}");
        assert_eq!((first.decode.get().0, first.encode.get()), (2, (0, 0)));
    }

    /// A model evicted from the cache may still answer requests when its version is deleted.
    #[test]
    fn a_deleted_version_creates_no_series_through_any_of_its_meters() {
        let mut registry = prometheus_client::registry::Registry::default();
        let metrics = PredictionMetrics::register(&mut registry);
        let (evicted, ready) = (metrics.of("m", 1), metrics.of("m", 1));
        ready.forget();
        evicted.answered(Protocol::Native, Instant::now(), Instant::now(), 1);
        let mut text = String::new();
        prometheus_client::encoding::text::encode(&mut text, &registry).unwrap();
        assert!(!text.contains("model=\"m\""), "{text}");
        metrics.of("m", 1).answered(Protocol::Native, Instant::now(), Instant::now(), 1);
        text.clear();
        prometheus_client::encoding::text::encode(&mut text, &registry).unwrap();
        assert!(text.contains("model=\"m\""), "a new model may have the same name and number");
    }
}
