//! What a worker thread does: take a job, run it, record how it ended.

use super::control::StopReason;
use super::pool::JobQueue;
use super::{Control, Failure, Job, JobError, Runner};
use serde_json::Value;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::PoisonError;
use std::time::Duration;

/// How long a worker waits after a database error before it tries again.
const RETRY_AFTER: Duration = Duration::from_secs(1);

impl JobQueue {
    /// Runs jobs until the service shuts down.
    pub(super) fn work(&self, runner: &dyn Runner) {
        while let Some((job, control)) = self.next() {
            let span = tracing::info_span!("job", id = job.id, model = job.request.model, attempt = job.attempt);
            let _entered = span.enter();
            tracing::info!("started");
            let outcome = catch_unwind(AssertUnwindSafe(|| runner.run(&job, &control)))
                .unwrap_or_else(|payload| Err(panicked(payload.as_ref())));
            self.end(&job, &control, &outcome);
        }
    }

    /// Waits for a job; none once the service shuts down.
    fn next(&self) -> Option<(Job, Control)> {
        let mut state = self.state();
        loop {
            if state.draining {
                return None;
            }
            match self.journal.claim() {
                Ok(Some(job)) => {
                    let (changes, id) = (self.changes.clone(), job.id.clone());
                    let control = Control::new(move || drop(changes.send(id.clone())));
                    state.running.insert(job.id.clone(), control.clone());
                    self.changed(&job.id);
                    return Some((job, control));
                }
                Ok(None) => state = self.wake.wait(state).unwrap_or_else(PoisonError::into_inner),
                Err(error) => {
                    tracing::error!(%error, "no job could be claimed");
                    let waited = self.wake.wait_timeout(state, RETRY_AFTER);
                    state = waited.unwrap_or_else(PoisonError::into_inner).0;
                }
            }
        }
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
            // A job that finished although it was asked to stop is done and must not run again.
            (Ok(_), _) | (Err(_), None) => self.journal.finish(&job.id, outcome),
            (Err(_), Some(StopReason::Canceled)) => self.journal.canceled(&job.id),
            (Err(_), Some(StopReason::Shutdown)) => self.journal.requeue(&job.id),
        }?;
        match outcome {
            Ok(_) => tracing::info!("succeeded"),
            Err(failure) => tracing::warn!(code = failure.code, detail = failure.detail, "ended"),
        }
        Ok(())
    }
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
