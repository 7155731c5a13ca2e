//! The metrics of one model version. Its series appear with its first request, so that thousands of versions that nobody
//! asks for cost a scrape nothing; they are looked up once, so that no later request has to.

use super::flag_kind::FlagKind;
use super::histogram::AtomicHistogram;
use super::predictions::{Outcome, PredictionMetrics, PredictionStage, ShedReason, VersionLabels};
use super::protocol::Protocol;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::Gauge;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant, SystemTime};

/// The metrics of one loaded model version.
pub struct ModelMeters {
    /// Rows since the version was loaded.
    rows_since: AtomicU64,
    /// When the version was loaded.
    since: (Instant, SystemTime),
    /// Nanoseconds from loading to the last answer; 0 before the first.
    last_answer: AtomicU64,
    /// Since the version was loaded.
    stages: [Total; PredictionStage::ALL.len()],
    /// Requests answered with predictions.
    pub successes: Total,
    /// Requests that ended in any other way.
    pub failures: Total,
    shared: Arc<SharedMeters>,
    metrics: PredictionMetrics,
    labels: VersionLabels,
}

/// What all meters of a version share: one that was evicted and loaded again has several for a while.
#[derive(Default)]
pub(super) struct SharedMeters {
    /// Whether the version was deleted: then nobody reads its series any more.
    deleted: AtomicBool,
    memory_bytes: AtomicI64,
    series: OnceLock<VersionSeries>,
}

impl SharedMeters {
    pub(super) fn delete(&self) {
        self.deleted.store(true, Ordering::Relaxed);
    }
}

/// The series of a version.
struct VersionSeries {
    rows: Counter,
    unknown_levels: Counter,
    /// By kind; created when something is counted in it.
    flagged_cells: [OnceLock<Counter>; FlagKind::ALL.len()],
    batches: Counter,
    batch_rows: AtomicHistogram,
    /// Gauges of several versions cannot be added up, so that those counted together have none.
    queued_rows: Option<Gauge>,
    memory_bytes: Option<Gauge>,
    stages: [AtomicHistogram; PredictionStage::ALL.len()],
    /// By protocol and outcome; created when something is counted in it.
    outcomes: [[OnceLock<OutcomeMeter>; Outcome::ALL.len()]; Protocol::ALL.len()],
    request_rows: [OnceLock<AtomicHistogram>; Protocol::ALL.len()],
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
        let labels = VersionLabels::new(model, version);
        ModelMeters {
            rows_since: AtomicU64::new(0),
            since: (Instant::now(), SystemTime::now()),
            last_answer: AtomicU64::new(0),
            stages: Default::default(),
            successes: Total::default(),
            failures: Total::default(),
            shared: self.shared(&labels),
            metrics: self.clone(),
            labels,
        }
    }

    fn series(&self, labels: &VersionLabels) -> VersionSeries {
        let labels = self.admitted(labels);
        let gauge = |family: &super::predictions::GaugeFamily| {
            (!labels.is_other()).then(|| family.get_or_create_owned(&labels))
        };
        VersionSeries {
            rows: self.rows.get_or_create_owned(&labels),
            unknown_levels: self.unknown_levels.get_or_create_owned(&labels),
            flagged_cells: Default::default(),
            batches: self.batches.get_or_create_owned(&labels),
            batch_rows: self.batch_rows.get_or_create_owned(&labels),
            queued_rows: gauge(&self.queued_rows),
            memory_bytes: gauge(&self.model_bytes),
            stages: PredictionStage::ALL.map(|stage| self.stage(&labels, stage)),
            outcomes: Default::default(),
            request_rows: Default::default(),
            labels,
        }
    }
}

impl ModelMeters {
    /// Counts predicted rows.
    pub fn predicted(&self, rows: usize) {
        self.series().rows.inc_by(rows as u64);
        self.rows_since.fetch_add(rows as u64, Ordering::Relaxed);
    }

    /// Counts flagged cells.
    pub fn flagged(&self, kind: FlagKind, cells: u64) {
        if cells == 0 {
            return;
        }
        let series = self.series();
        let of_kind = series.flagged_cells[kind as usize].get_or_init(|| self.metrics().flagged(&series.labels, kind));
        of_kind.inc_by(cells);
        if kind == FlagKind::UnknownLevel {
            series.unknown_levels.inc_by(cells); // has been a metric of its own since before the others were counted
        }
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

    /// Counts one run of a stage.
    pub fn observe(&self, stage: PredictionStage, duration: Duration) {
        self.stages[stage as usize].add(duration);
        self.series().stages[stage as usize].observe(duration.as_secs_f64());
    }

    /// The runs of a stage since the version was loaded, and the total in nanoseconds.
    pub fn stage(&self, stage: PredictionStage) -> (u64, u64) {
        self.stages[stage as usize].get()
    }

    /// Counts a request that arrived at `start` and was answered at `end`.
    pub fn answered(&self, protocol: Protocol, start: Instant, end: Instant, rows: usize) {
        let duration = end - start;
        let after = u64::try_from((end - self.since.0).as_nanos()).unwrap_or(u64::MAX);
        self.last_answer.store(after, Ordering::Relaxed);
        self.successes.add(duration);
        self.end(protocol, Outcome::Answered, duration);
        let series = self.series();
        let of_protocol = &series.request_rows[protocol as usize];
        of_protocol.get_or_init(|| self.metrics().request_rows(&series.labels, protocol)).observe(rows as f64);
    }

    /// Counts a request that was not answered with predictions.
    pub fn ended(&self, protocol: Protocol, outcome: Outcome, duration: Duration) {
        self.failures.add(duration);
        self.end(protocol, outcome, duration);
    }

    fn end(&self, protocol: Protocol, outcome: Outcome, duration: Duration) {
        let series = self.series();
        let meter = &series.outcomes[protocol as usize][outcome as usize];
        let meter = meter.get_or_init(|| self.metrics().outcome(&series.labels, protocol, outcome));
        meter.count.inc();
        meter.seconds.observe(duration.as_secs_f64());
    }

    /// Sets the number of rows that wait.
    pub fn queued(&self, rows: usize) {
        if let Some(gauge) = &self.series().queued_rows {
            gauge.set(i64::try_from(rows).unwrap_or(i64::MAX));
        }
    }

    /// Counts a batch of rows computed together.
    pub fn batch(&self, rows: usize) {
        self.series().batches.inc();
        self.series().batch_rows.observe(rows as f64);
    }

    /// Sets the bytes that the loaded version takes. Loading is no use of it, so that no series appears.
    pub fn memory(&self, bytes: usize) {
        let bytes = i64::try_from(bytes).unwrap_or(i64::MAX);
        self.shared.memory_bytes.store(bytes, Ordering::Relaxed);
        if let Some(VersionSeries { memory_bytes: Some(gauge), .. }) = self.shared.series.get() {
            gauge.set(bytes);
        }
    }

    /// Counts a shed request.
    pub fn shed(&self, reason: ShedReason) {
        self.metrics().shed_as(&self.series().labels, reason);
    }

    /// Drops the series of a deleted version. Requests in flight are counted where nobody reads.
    pub fn forget(&self) {
        self.metrics.forget_labels(&self.labels);
    }

    /// The series of the version; they appear now if this is their first use.
    fn series(&self) -> &VersionSeries {
        self.shared.series.get_or_init(|| {
            let series = self.metrics().series(&self.labels);
            if let Some(gauge) = &series.memory_bytes {
                gauge.set(self.shared.memory_bytes.load(Ordering::Relaxed));
            }
            series
        })
    }

    /// The metrics in which to create a series; for a deleted version, ones that nobody reads.
    fn metrics(&self) -> PredictionMetrics {
        let deleted = self.shared.deleted.load(Ordering::Relaxed);
        if deleted { PredictionMetrics::unregistered(1) } else { self.metrics.clone() }
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

#[cfg(test)]
mod tests {
    use super::*;
    use prometheus_client::registry::Registry;

    fn text(registry: &Registry) -> String {
        let mut text = String::new();
        prometheus_client::encoding::text::encode(&mut text, registry).unwrap();
        text
    }

    fn answer(meters: &ModelMeters) {
        meters.answered(Protocol::Native, Instant::now(), Instant::now(), 1);
    }

    /// The series continues when a version is loaded again; the statistics of the loaded version start from zero.
    #[test]
    fn stages_are_counted_since_the_version_was_loaded() {
        let mut registry = Registry::default();
        let metrics = PredictionMetrics::register(&mut registry, 9);
        let decode = PredictionStage::Decode;
        let first = metrics.of("m", 1);
        first.observe(decode, Duration::from_millis(2));
        let second = metrics.of("m", 1);
        assert_eq!((first.stage(decode).0, second.stage(decode)), (1, (0, 0)));
        second.observe(decode, Duration::from_millis(3));
        assert_eq!(second.stage(decode), (1, 3_000_000));
        assert_eq!(second.stage(PredictionStage::Encode), (0, 0));
        let count = "prediction_stage_seconds_count{model=\"m\",version=\"1\",stage=\"decode\"} 2";
        assert!(text(&registry).contains(count), "{}", text(&registry));
    }

    #[test]
    fn series_appear_with_the_first_use_and_go_with_the_version() {
        let mut registry = Registry::default();
        let metrics = PredictionMetrics::register(&mut registry, 9);
        let meters = metrics.of("m", 1);
        meters.memory(1_000);
        assert!(!text(&registry).contains("model=\"m\""), "{}", text(&registry));
        answer(&meters);
        assert!(text(&registry).contains("model_memory_bytes{model=\"m\",version=\"1\"} 1000"), "{}", text(&registry));
        meters.memory(500);
        assert!(text(&registry).contains("model_memory_bytes{model=\"m\",version=\"1\"} 500"), "{}", text(&registry));
        meters.forget();
        assert!(!text(&registry).contains("model=\"m\""), "{}", text(&registry));
    }

    /// A model evicted from the cache may still answer requests when its version is deleted.
    #[test]
    fn a_deleted_version_creates_no_series_through_any_of_its_meters() {
        let mut registry = Registry::default();
        let metrics = PredictionMetrics::register(&mut registry, 9);
        let (evicted, ready) = (metrics.of("m", 1), metrics.of("m", 1));
        evicted.predicted(1);
        ready.forget();
        answer(&evicted);
        evicted.shed(ShedReason::Overloaded);
        assert!(!text(&registry).contains("model=\"m\""), "{}", text(&registry));
        answer(&metrics.of("m", 1));
        assert!(text(&registry).contains("model=\"m\""), "a new model may have the same name and number");
    }

    #[test]
    fn versions_beyond_the_limit_are_counted_together() {
        let mut registry = Registry::default();
        let metrics = PredictionMetrics::register(&mut registry, 2);
        let meters: Vec<ModelMeters> = (1..=5).map(|version| metrics.of("m", version)).collect();
        meters.iter().for_each(answer);
        let answered = |labels: &str| format!("predictions_total{{{labels},protocol=\"native\",outcome=\"answered\"}}");
        let value = |labels: &str| {
            let text = text(&registry);
            let line = text.lines().find_map(|line| line.strip_prefix(&answered(labels)));
            line.map(|value| value.trim().to_owned())
        };
        assert_eq!(value("model=\"m\",version=\"2\"").as_deref(), Some("1"));
        assert_eq!(value("model=\"m\",version=\"3\""), None);
        assert_eq!(value("model=\"other\",version=\"other\"").as_deref(), Some("3"));
        assert!(!text(&registry).contains("model_memory_bytes{model=\"other\""));
        meters[0].forget(); // there is room again for one that was not used yet
        answer(&metrics.of("m", 6));
        assert_eq!(value("model=\"m\",version=\"6\"").as_deref(), Some("1"));
    }
}
