//! What a worker thread does: take a job, run it, record how it ended.

use super::control::StopReason;
use super::worker_pool::{JobQueue, QueueState};
use super::{Control, Failure, Job, JobError, Runner};
use crate::telemetry::{TraceParent, continue_trace};
use serde_json::Value;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tracing::Span;

/// How long a worker waits after a database error, or while no job can be started, before it tries again.
const RETRY_AFTER: Duration = Duration::from_secs(1);

/// The code of a failure for lack of room on the disk: the job waits and runs again.
pub(crate) const DISK_FULL: &str = "disk_full";

/// How long a worker waits after such a failure: doubled each time, up to the last.
const DISK_FULL_WAITS: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(300));

impl JobQueue {
    /// Runs jobs until the service shuts down.
    pub(super) fn work(&self, runner: &dyn Runner) {
        let mut wait = DISK_FULL_WAITS.0;
        while let Some((job, control)) = self.next(runner) {
            let span = job_span(&job);
            let _entered = span.enter();
            tracing::info!("started");
            let outcome = catch_unwind(AssertUnwindSafe(|| runner.run(&job, &control)))
                .unwrap_or_else(|payload| Err(panicked(payload.as_ref())));
            self.end(&job, &control, &outcome);
            if is_disk_full(&outcome) {
                self.pause(wait);
                wait = (wait * 2).min(DISK_FULL_WAITS.1);
            } else {
                wait = DISK_FULL_WAITS.0;
            }
        }
    }

    /// Waits that long, or until the service shuts down.
    fn pause(&self, wait: Duration) {
        let deadline = Instant::now() + wait;
        let mut state = self.state();
        while !state.draining
            && let Some(left) = deadline.checked_duration_since(Instant::now())
        {
            state = self.wake.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Waits for a job that can be started; none once the service shuts down.
    fn next(&self, runner: &dyn Runner) -> Option<(Job, Control)> {
        let mut logged = false;
        loop {
            if let Some(reason) = runner.obstacle() {
                if !std::mem::replace(&mut logged, true) {
                    tracing::warn!(reason, "no job is started");
                }
                self.pause(RETRY_AFTER);
                if self.state().draining {
                    return None;
                }
                continue;
            }
            let state = self.state();
            if state.draining {
                return None;
            }
            if let Some(started) = self.claim(state) {
                return Some(started);
            }
        }
    }

    /// Takes the next job, or waits until there may be one.
    fn claim(&self, mut state: MutexGuard<'_, QueueState>) -> Option<(Job, Control)> {
        match self.journal.claim() {
            Ok(Some(job)) => {
                let (events, changes, id) = (Arc::clone(&self.events), self.changes.clone(), job.id.clone());
                let control = Control::new(self.settings.time_limit, move |progress| {
                    events.record_progress(&id, progress);
                    drop(changes.send(id.clone()));
                });
                state.running.insert(job.id.clone(), control.clone());
                drop(state);
                self.changed(&job.id);
                return Some((job, control));
            }
            Ok(None) => drop(self.wake.wait(state)),
            Err(error) => {
                tracing::error!(%error, "no job could be claimed");
                drop(self.wake.wait_timeout(state, RETRY_AFTER));
            }
        }
        None
    }

    /// Records the end of a job. If the database fails, as on a full disk, this retries until it succeeds or the service
    /// shuts down, since only this worker can end the job.
    fn end(&self, job: &Job, control: &Control, outcome: &Result<Value, Failure>) {
        let mut logged = false;
        while let Err(error) = self.write_end(job, control, outcome) {
            let state = self.state();
            if state.draining {
                tracing::error!(%error, "the end of the job could not be recorded; it will run again");
                break;
            }
            if !std::mem::replace(&mut logged, true) {
                tracing::error!(%error, "the end of the job could not be recorded; retrying");
            }
            drop(self.wake.wait_timeout(state, RETRY_AFTER));
        }
        self.state().running.remove(&job.id);
        self.changed(&job.id);
    }

    fn write_end(&self, job: &Job, control: &Control, outcome: &Result<Value, Failure>) -> Result<(), JobError> {
        match (outcome, control.stopped_by()) {
            (Err(failure), None) if failure.code == DISK_FULL => self.journal.postpone(&job.id, failure),
            // A job that finished although it was asked to stop is done and must not run again.
            (Ok(_), _) | (Err(_), None) => self.journal.finish(&job.id, outcome),
            (Err(_), Some(StopReason::Canceled)) => self.journal.canceled(&job.id),
            (Err(_), Some(StopReason::Shutdown)) => self.journal.requeue(&job.id),
            (Err(_), Some(StopReason::TimeLimit)) => self.journal.finish(&job.id, &Err(self.too_long())),
        }?;
        match outcome {
            Ok(_) => tracing::info!("succeeded"),
            Err(failure) => tracing::warn!(code = failure.code, detail = failure.detail, "ended"),
        }
        Ok(())
    }
}

impl JobQueue {
    fn too_long(&self) -> Failure {
        let seconds = self.settings.time_limit.unwrap_or_default().as_secs();
        let detail = format!(
            "the job was stopped after {seconds} s, the time limit of a job. Use fewer features or rows, lower \
             guarantees.exact_rows, or start the service with a larger --max-job-seconds"
        );
        Failure { code: "time_limit".into(), detail }
    }
}

/// The span of a job, as a part of the trace of the request that submitted it.
fn job_span(job: &Job) -> Span {
    let parent = job.request.trace_parent;
    let (id, r#type, model) = (&job.id, job.request.kind.name(), &job.request.model);
    let trace = parent.map(TraceParent::trace_id);
    let span = tracing::info_span!("job", id, r#type, model, attempt = job.attempt, trace);
    continue_trace(&span, parent);
    span
}

fn is_disk_full(outcome: &Result<Value, Failure>) -> bool {
    outcome.as_ref().is_err_and(|failure| failure.code == DISK_FULL)
}

fn panicked(payload: &(dyn std::any::Any + Send)) -> Failure {
    let message = payload
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| payload.downcast_ref::<&str>().copied())
        .unwrap_or("no message");
    tracing::error!(message, "the job panicked");
    Failure { code: "internal".into(), detail: "the job failed unexpectedly; see the log of the service".into() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::jobs::JobStatus;
    use crate::jobs::scripted::{database, pool, pool_with, request, wait_for};
    use serde_json::json;
    use std::sync::atomic::Ordering;

    #[test]
    fn a_panic_fails_its_job_and_the_next_one_runs() {
        let (_folder, database) = database();
        let (pool, _started) = pool(&database, 1);
        let bad = pool.submit(&request("panic")).unwrap();
        let good = pool.submit(&request("work")).unwrap();
        assert_eq!(wait_for(&pool, &bad.id, JobStatus::Failed).error.unwrap().code, "internal");
        assert_eq!(wait_for(&pool, &good.id, JobStatus::Succeeded).result, Some(json!("done")));
        assert!(pool.drain(Duration::from_secs(60)));
    }

    /// As on a full disk: the job ends when there is room again, or runs again after a restart.
    #[test]
    fn an_end_that_cannot_be_written_is_tried_again() {
        let (_folder, database) = database();
        let refuse_writes = |refuse: bool| {
            database.read(|connection| connection.pragma_update(None, "query_only", refuse)).unwrap();
        };
        let (pool, started) = pool(&database, 1);
        let job = pool.submit(&request("wait")).unwrap();
        started.recv().unwrap();
        refuse_writes(true);
        pool.queue.state().running[&job.id].stop(StopReason::Canceled);
        std::thread::sleep(Duration::from_millis(50));
        assert_eq!(pool.find(&job.id).unwrap().status, JobStatus::Running);
        refuse_writes(false);
        wait_for(&pool, &job.id, JobStatus::Canceled);

        let job = pool.submit(&request("wait")).unwrap();
        started.recv().unwrap();
        refuse_writes(true);
        assert!(pool.drain(Duration::from_secs(60)));
        refuse_writes(false);
        assert_eq!(pool.find(&job.id).unwrap().status, JobStatus::Running);
    }

    #[test]
    fn a_job_beyond_its_time_limit_fails_with_what_to_do() {
        let (_folder, database) = database();
        let (pool, ..) = pool_with(&database, 1, Some(Duration::from_millis(50)));
        let slow = pool.submit(&request("wait")).unwrap();
        let failed = wait_for(&pool, &slow.id, JobStatus::Failed).error.unwrap();
        assert_eq!(failed.code, "time_limit");
        assert!(failed.detail.contains("--max-job-seconds"), "{}", failed.detail);
        let quick = pool.submit(&request("work")).unwrap();
        wait_for(&pool, &quick.id, JobStatus::Succeeded);
    }

    #[test]
    fn a_job_that_ends_on_a_full_disk_waits_with_the_reason_and_runs_again() {
        let (_folder, database) = database();
        let (pool, started, is_disk_full) = pool_with(&database, 1, None);
        is_disk_full.store(true, Ordering::Relaxed);
        let job = pool.submit(&request("write")).unwrap();
        started.recv().unwrap();
        let waiting = wait_for(&pool, &job.id, JobStatus::Queued);
        assert_eq!((waiting.attempt, waiting.error.unwrap().code.as_str()), (0, DISK_FULL));
        is_disk_full.store(false, Ordering::Relaxed);
        let done = wait_for(&pool, &job.id, JobStatus::Succeeded);
        assert_eq!((done.attempt, done.error), (1, None));
    }
}
