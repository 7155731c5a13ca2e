//! What happened to jobs, kept for a while: a listener whose connection broke hears what it missed.

use super::{Job, JobStatus, Progress};
use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::str::FromStr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Events of one job that are kept; at ten a second, those of the last 25 seconds at least.
const KEPT_EVENTS: usize = 256;

/// Jobs that have ended whose events are kept.
const KEPT_JOBS: usize = 64;

/// Why there is an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventKind {
    /// The job is in another state, or starts again.
    State,
    /// The job has come further.
    Progress,
}

impl EventKind {
    /// Its name in a stream of events.
    pub fn name(self) -> &'static str {
        match self {
            Self::State => "state",
            Self::Progress => "progress",
        }
    }
}

/// The place of an event among all of one process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EventId {
    /// Numbers of another process say nothing here.
    process: u64,
    number: u64,
}

impl fmt::Display for EventId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:x}.{}", self.process, self.number)
    }
}

impl FromStr for EventId {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (process, number) = text.split_once('.').ok_or(())?;
        let process = u64::from_str_radix(process, 16).map_err(|_| ())?;
        Ok(Self { process, number: number.parse().map_err(|_| ())? })
    }
}

/// A job as it was at one moment, without its result.
#[derive(Debug, Clone)]
pub struct JobEvent {
    /// Later events have larger numbers.
    pub id: EventId,
    /// Why there is an event.
    pub kind: EventKind,
    /// The job.
    pub job: Arc<Job>,
    /// How far it had come.
    pub progress: Option<Progress>,
}

/// The events of one process.
pub(super) struct EventLog {
    process: u64,
    kept: Mutex<KeptEvents>,
}

#[derive(Default)]
struct KeptEvents {
    last: u64,
    by_job: HashMap<String, VecDeque<JobEvent>>,
    /// Jobs that have ended, the oldest first.
    ended: VecDeque<String>,
}

impl EventLog {
    pub(super) fn new() -> Self {
        Self { process: uuid::Uuid::now_v7().as_u64_pair().1, kept: Mutex::default() }
    }

    /// Records the state of a job as `read` finds it. Reading and recording are one step, so that states are recorded in
    /// the order in which they were written.
    pub(super) fn record_state(&self, read: impl FnOnce() -> Option<Job>, progress: Option<Progress>) {
        let mut kept = self.kept();
        let Some(job) = read() else { return };
        let job = Job { result: None, ..job };
        let last = kept.by_job.get(&job.id).and_then(VecDeque::back);
        if last.is_some_and(|last| *last.job == job) {
            return;
        }
        let (id, ended) = (job.id.clone(), job.status.is_final());
        let progress = progress.filter(|_| is_running(&job));
        self.keep(&mut kept, EventKind::State, Arc::new(job), progress);
        if ended {
            kept.ended.push_back(id);
            if kept.ended.len() > KEPT_JOBS
                && let Some(oldest) = kept.ended.pop_front()
            {
                kept.by_job.remove(&oldest);
            }
        }
    }

    /// Records how far a job has come since its state was recorded.
    pub(super) fn record_progress(&self, id: &str, progress: Progress) {
        let mut kept = self.kept();
        let Some(last) = kept.by_job.get(id).and_then(VecDeque::back) else { return };
        if !is_running(&last.job) || last.progress.as_ref() == Some(&progress) {
            return;
        }
        let job = Arc::clone(&last.job);
        self.keep(&mut kept, EventKind::Progress, job, Some(progress));
    }

    fn keep(&self, kept: &mut KeptEvents, kind: EventKind, job: Arc<Job>, progress: Option<Progress>) {
        kept.last += 1;
        let id = EventId { process: self.process, number: kept.last };
        let events = kept.by_job.entry(job.id.clone()).or_default();
        events.push_back(JobEvent { id, kind, job, progress });
        if events.len() > KEPT_EVENTS {
            events.pop_front();
        }
    }

    /// Forgets a job that is deleted.
    pub(super) fn forget(&self, id: &str) {
        let mut kept = self.kept();
        kept.by_job.remove(id);
        kept.ended.retain(|ended| ended != id);
    }

    /// The newest event of any job.
    pub(super) fn last(&self) -> EventId {
        EventId { process: self.process, number: self.kept().last }
    }

    /// What is kept of a job after an event. None if that was in another process, or if nothing is kept of the job.
    pub(super) fn since(&self, id: &str, since: EventId) -> Option<Vec<JobEvent>> {
        let kept = self.kept();
        let events = kept.by_job.get(id).filter(|_| since.process == self.process)?;
        Some(events.iter().filter(|event| event.id.number > since.number).cloned().collect())
    }

    fn kept(&self) -> MutexGuard<'_, KeptEvents> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether a worker has the job.
fn is_running(job: &Job) -> bool {
    match job.status {
        JobStatus::Running | JobStatus::Canceling => true,
        JobStatus::Queued | JobStatus::Succeeded | JobStatus::Failed | JobStatus::Canceled => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::jobs::JobStage;
    use crate::jobs::scripted::request;
    use serde_json::json;

    fn job(id: &str, status: JobStatus) -> Job {
        Job {
            id: id.into(),
            request: request("work"),
            status,
            attempt: 1,
            created_at: String::new(),
            started_at: None,
            finished_at: None,
            result: Some(json!({"report": "long"})),
            error: None,
        }
    }

    fn progress(fraction: f64) -> Progress {
        Progress { stage: JobStage::Start, fraction, eta_seconds: None }
    }

    fn told(log: &EventLog, id: &str, since: EventId) -> Vec<(&'static str, &'static str, Option<f64>)> {
        let brief = |event: &JobEvent| {
            (event.kind.name(), event.job.status.name(), event.progress.as_ref().map(|progress| progress.fraction))
        };
        log.since(id, since).unwrap().iter().map(brief).collect()
    }

    #[test]
    fn a_listener_hears_what_it_missed_and_nothing_twice() {
        let log = EventLog::new();
        let start = log.last();
        log.record_state(|| Some(job("a", JobStatus::Queued)), None);
        log.record_state(|| Some(job("a", JobStatus::Queued)), None); // no change
        log.record_state(|| Some(job("b", JobStatus::Queued)), None);
        log.record_progress("a", progress(0.0)); // of an attempt before
        log.record_state(|| Some(job("a", JobStatus::Running)), Some(progress(0.1)));
        let middle = log.last();
        log.record_progress("a", progress(0.5));
        log.record_progress("a", progress(0.5)); // no change
        log.record_state(|| Some(job("a", JobStatus::Succeeded)), Some(progress(0.9)));
        log.record_progress("a", progress(1.0)); // too late
        let ends = [("progress", "running", Some(0.5)), ("state", "succeeded", None)];
        assert_eq!(told(&log, "a", middle), ends);
        let whole = told(&log, "a", start);
        assert_eq!(whole[..2], [("state", "queued", None), ("state", "running", Some(0.1))]);
        assert_eq!(whole[2..], ends);
        assert_eq!(told(&log, "a", log.last()), []);
        assert!(log.since("a", start).unwrap().iter().all(|event| event.job.result.is_none()));
    }

    #[test]
    fn places_of_another_process_and_unknown_jobs_have_no_story() {
        let log = EventLog::new();
        log.record_state(|| Some(job("a", JobStatus::Running)), None);
        let elsewhere = EventLog::new();
        assert!(log.since("a", elsewhere.last()).is_none());
        assert!(log.since("b", log.last()).is_none());
        assert_eq!(log.last().to_string().parse(), Ok(log.last()));
        for wrong in ["", ".", "1", "x.1", "1.x", "1.-1", "end"] {
            assert_eq!(wrong.parse::<EventId>(), Err(()), "{wrong}");
        }
        log.forget("a");
        assert!(log.since("a", log.last()).is_none());
    }

    #[test]
    fn what_is_kept_is_bounded() {
        let log = EventLog::new();
        let start = log.last();
        log.record_state(|| Some(job("a", JobStatus::Running)), None);
        for step in 0..1000 {
            log.record_progress("a", progress(f64::from(step) / 1000.0));
        }
        assert_eq!(log.since("a", start).unwrap().len(), KEPT_EVENTS);
        for number in 0..=KEPT_JOBS {
            log.record_state(|| Some(job(&format!("ended-{number}"), JobStatus::Failed)), None);
        }
        assert!(log.since("ended-0", start).is_none());
        assert!(log.since("ended-1", start).is_some());
        assert!(log.since("a", start).is_some(), "a running job is kept");
    }
}
