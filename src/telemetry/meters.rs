//! The meters of one version of a model, looked up once: a request on its way looks up nothing.

use super::histogram::AtomicHistogram;
use super::predictions::{Outcome, PredictionMetrics, Protocol, VersionLabels};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::Gauge;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant, SystemTime};

/// The meters of one version of a model.
pub struct ModelMeters {
    rows: Counter,
    /// Of them, those since the version was read into memory.
    rows_since: AtomicU64,
    /// When the version was read into memory.
    since: (Instant, SystemTime),
    /// Nanoseconds from then to the last answer; 0 before the first.
    last_answer: AtomicU64,
    /// Cells whose text training never saw.
    pub unknown_levels: Counter,
    batches: Counter,
    batch_rows: AtomicHistogram,
    queued_rows: Gauge,
    memory_bytes: Gauge,
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
    /// By protocol and outcome; a series begins when something is counted in it.
    endings: [[OnceLock<Ending>; Outcome::ALL.len()]; Protocol::ALL.len()],
    request_rows: [OnceLock<AtomicHistogram>; Protocol::ALL.len()],
    /// Whether the version is gone: no series begins any more.
    gone: Arc<AtomicBool>,
    metrics: PredictionMetrics,
    labels: VersionLabels,
}

/// Requests that ended alike.
pub(super) struct Ending {
    pub(super) count: Counter,
    pub(super) seconds: AtomicHistogram,
}

impl PredictionMetrics {
    /// The meters of one version, looked up once.
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
            decode: stage("decode"),
            queue: stage("queue"),
            compute: stage("compute"),
            encode: stage("encode"),
            successes: Total::default(),
            failures: Total::default(),
            endings: Default::default(),
            request_rows: Default::default(),
            gone: self.gone(&labels),
            metrics: self.clone(),
            labels,
        }
    }
}

impl ModelMeters {
    /// So many rows were predicted.
    pub fn predicted(&self, rows: usize) {
        self.rows.inc_by(rows as u64);
        self.rows_since.fetch_add(rows as u64, Ordering::Relaxed);
    }

    /// Rows predicted since the version was read into memory.
    pub fn rows_predicted(&self) -> u64 {
        self.rows_since.load(Ordering::Relaxed)
    }

    /// Milliseconds from 1970 to the last answer since then; 0 where there is none.
    pub fn last_answer_ms(&self) -> u64 {
        let after = self.last_answer.load(Ordering::Relaxed);
        let since = self.since.1.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let time = since + Duration::from_nanos(after);
        if after == 0 { 0 } else { u64::try_from(time.as_millis()).unwrap_or_default() }
    }

    /// A request that came at `start` got its predictions, of so many rows, at `end`.
    pub fn answered(&self, protocol: Protocol, start: Instant, end: Instant, rows: usize) {
        let duration = end - start;
        let after = u64::try_from((end - self.since.0).as_nanos()).unwrap_or(u64::MAX);
        self.last_answer.store(after, Ordering::Relaxed);
        self.successes.add(duration);
        self.end(protocol, Outcome::Answered, duration);
        let of_protocol = &self.request_rows[protocol as usize];
        of_protocol.get_or_init(|| self.begun().request_rows(&self.labels, protocol)).observe(rows as f64);
    }

    /// A request ended otherwise.
    pub fn ended(&self, protocol: Protocol, outcome: Outcome, duration: Duration) {
        self.failures.add(duration);
        self.end(protocol, outcome, duration);
    }

    fn end(&self, protocol: Protocol, outcome: Outcome, duration: Duration) {
        let ending = &self.endings[protocol as usize][outcome as usize];
        let ending = ending.get_or_init(|| self.begun().ending(&self.labels, protocol, outcome));
        ending.count.inc();
        ending.seconds.observe(duration.as_secs_f64());
    }

    /// So many rows wait.
    pub fn queued(&self, rows: usize) {
        self.queued_rows.set(i64::try_from(rows).unwrap_or(i64::MAX));
    }

    /// So many rows were computed together.
    pub fn batch(&self, rows: usize) {
        self.batches.inc();
        self.batch_rows.observe(rows as f64);
    }

    /// It takes so many bytes in memory.
    pub fn memory(&self, bytes: usize) {
        self.memory_bytes.set(i64::try_from(bytes).unwrap_or(i64::MAX));
    }

    /// A request was not computed.
    pub fn shed(&self, reason: &'static str) {
        self.begun().shed(&self.labels.model, self.labels.version, reason);
    }

    /// The version is gone: its series go, and requests in flight begin none anew.
    pub fn forget(&self) {
        self.metrics.forget(&self.labels.model, self.labels.version);
    }

    /// Where a series begins: for a version that is gone, where nobody sees it.
    fn begun(&self) -> PredictionMetrics {
        if self.gone.load(Ordering::Relaxed) { PredictionMetrics::unseen() } else { self.metrics.clone() }
    }
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
    seconds: AtomicHistogram,
    /// What was counted before the version was read into memory.
    before: (u64, f64),
}

impl StageMeter {
    fn since_now(seconds: AtomicHistogram) -> Self {
        Self { before: seconds.total(), seconds }
    }

    /// One more.
    pub fn observe(&self, duration: Duration) {
        self.seconds.observe(duration.as_secs_f64());
    }

    /// How often since the version was read into memory, and nanoseconds.
    pub fn get(&self) -> (u64, u64) {
        let (count, seconds) = self.seconds.total();
        (count - self.before.0, ((seconds - self.before.1) * 1e9) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The series goes on when a version is read into memory again; what is told of the version in memory begins anew.
    #[test]
    fn stages_are_told_since_the_version_was_read() {
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

    /// A copy that memory gave up still answers what it has begun when its version is deleted.
    #[test]
    fn a_version_that_is_gone_begins_no_series_whoever_has_its_meters() {
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
        assert!(text.contains("model=\"m\""), "its name and number may come again");
    }
}
