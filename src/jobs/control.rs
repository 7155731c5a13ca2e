//! What a running job is told and tells.

use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How far a running job has come.
#[derive(Debug, Clone, PartialEq)]
pub struct Progress {
    /// What it is doing.
    pub stage: &'static str,
    /// Of this stage.
    pub fraction: f64,
    /// Until the end of this stage, once enough of it is done to tell.
    pub eta_seconds: Option<f64>,
}

/// Why a job should stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StopReason {
    /// A user canceled it.
    Canceled = 1,
    /// The service is going down; it will run again.
    Shutdown = 2,
}

/// A handle to one running job; clones share it.
#[derive(Clone)]
pub struct Control {
    shared: Arc<ControlState>,
}

struct ControlState {
    stop: AtomicU8,
    live: Mutex<Live>,
    notify: Box<dyn Fn() + Send + Sync>,
}

struct Live {
    progress: Progress,
    stage_start: Instant,
    last_notified: Option<Instant>,
}

impl Control {
    /// Listeners hear of progress at most this often, so that small blocks cost nothing.
    const NOTIFY_EVERY: Duration = Duration::from_millis(100);
    /// Before this share of a stage is done its end cannot be told.
    const TELLING_FRACTION: f64 = 0.05;

    pub(super) fn new(notify: impl Fn() + Send + Sync + 'static) -> Self {
        let progress = Progress { stage: "start", fraction: 0.0, eta_seconds: None };
        let live = Live { progress, stage_start: Instant::now(), last_notified: None };
        Self {
            shared: Arc::new(ControlState { stop: AtomicU8::new(0), live: Mutex::new(live), notify: Box::new(notify) }),
        }
    }

    /// Tells how far the job has come.
    pub fn progress(&self, stage: &'static str, fraction: f64) {
        let mut live = self.shared.live.lock().unwrap_or_else(PoisonError::into_inner);
        let new_stage = live.progress.stage != stage;
        if new_stage {
            live.stage_start = Instant::now();
        }
        let elapsed = live.stage_start.elapsed().as_secs_f64();
        let eta_seconds = (fraction >= Self::TELLING_FRACTION).then(|| elapsed * (1.0 - fraction) / fraction);
        live.progress = Progress { stage, fraction, eta_seconds };
        if new_stage || live.last_notified.is_none_or(|last| last.elapsed() >= Self::NOTIFY_EVERY) {
            live.last_notified = Some(Instant::now());
            drop(live);
            (self.shared.notify)();
        }
    }

    /// Whether the job should stop at the next block.
    pub fn should_stop(&self) -> bool {
        self.shared.stop.load(Ordering::Relaxed) != 0
    }

    pub(super) fn stop(&self, reason: StopReason) {
        // The first reason stands.
        let _ = self.shared.stop.compare_exchange(0, reason as u8, Ordering::Relaxed, Ordering::Relaxed);
    }

    pub(super) fn stopped_by(&self) -> Option<StopReason> {
        match self.shared.stop.load(Ordering::Relaxed) {
            1 => Some(StopReason::Canceled),
            2 => Some(StopReason::Shutdown),
            _ => None,
        }
    }

    pub(super) fn current(&self) -> Progress {
        self.shared.live.lock().unwrap_or_else(PoisonError::into_inner).progress.clone()
    }
}
