//! The handle through which a running job reports progress and learns that it should stop.

use super::JobStage;
use super::eta::Eta;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How far a running job has come.
#[derive(Debug, Clone, PartialEq)]
pub struct Progress {
    /// What it is doing.
    pub stage: JobStage,
    /// The part of this stage that is done, from 0 to 1.
    pub fraction: f64,
    /// Estimated time to the end of this stage, once enough of it is done.
    pub eta_seconds: Option<f64>,
}

/// Why a job should stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StopReason {
    /// A user canceled it.
    Canceled = 1,
    /// The service is shutting down; the job will run again.
    Shutdown = 2,
    /// It ran for as long as a job may.
    TimeLimit = 3,
}

/// A handle to one running job; clones share it.
#[derive(Clone)]
pub struct Control {
    job: Arc<RunningJob>,
}

/// What the clones share.
struct RunningJob {
    stop: AtomicU8,
    /// When the job has run for as long as it may.
    deadline: Option<Instant>,
    progress: Mutex<TimedProgress>,
    notify: Box<dyn Fn(Progress) + Send + Sync>,
}

struct TimedProgress {
    latest: Progress,
    eta: Option<Eta>,
    stage_start: Instant,
    last_notified: Option<Instant>,
}

impl Control {
    /// Listeners are notified at most this often, so that small blocks of work cost nothing.
    const NOTIFY_EVERY: Duration = Duration::from_millis(100);

    /// Of a job that starts now.
    pub(super) fn new(time_limit: Option<Duration>, notify: impl Fn(Progress) + Send + Sync + 'static) -> Self {
        let deadline = time_limit.and_then(|limit| Instant::now().checked_add(limit));
        let latest = Progress { stage: JobStage::Start, fraction: 0.0, eta_seconds: None };
        let progress =
            Mutex::new(TimedProgress { latest, eta: None, stage_start: Instant::now(), last_notified: None });
        Self { job: Arc::new(RunningJob { stop: AtomicU8::new(0), deadline, progress, notify: Box::new(notify) }) }
    }

    /// Reports how far the job has come.
    pub fn progress(&self, stage: JobStage, fraction: f64) {
        let mut progress = self.timed_progress();
        let new_stage = progress.latest.stage != stage;
        if new_stage || fraction < progress.latest.fraction {
            progress.stage_start = Instant::now(); // a stage that begins again has a new end
            progress.eta = None;
        }
        progress.eta = Eta::next(progress.eta, progress.stage_start.elapsed().as_secs_f64(), fraction);
        progress.latest = Progress { stage, fraction, eta_seconds: progress.eta.map(Eta::left) };
        if new_stage || progress.last_notified.is_none_or(|last| last.elapsed() >= Self::NOTIFY_EVERY) {
            progress.last_notified = Some(Instant::now());
            let latest = progress.latest.clone();
            drop(progress);
            (self.job.notify)(latest);
        }
    }

    /// Whether the job should stop at once. To be asked at least once a second.
    pub fn should_stop(&self) -> bool {
        if self.job.stop.load(Ordering::Relaxed) == 0
            && self.job.deadline.is_some_and(|deadline| Instant::now() >= deadline)
        {
            self.stop(StopReason::TimeLimit);
        }
        self.job.stop.load(Ordering::Relaxed) != 0
    }

    pub(super) fn stop(&self, reason: StopReason) {
        // The first reason counts.
        let _ = self.job.stop.compare_exchange(0, reason as u8, Ordering::Relaxed, Ordering::Relaxed);
    }

    pub(super) fn stopped_by(&self) -> Option<StopReason> {
        match self.job.stop.load(Ordering::Relaxed) {
            1 => Some(StopReason::Canceled),
            2 => Some(StopReason::Shutdown),
            3 => Some(StopReason::TimeLimit),
            _ => None,
        }
    }

    pub(super) fn current(&self) -> Progress {
        self.timed_progress().latest.clone()
    }

    fn timed_progress(&self) -> MutexGuard<'_, TimedProgress> {
        self.job.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
