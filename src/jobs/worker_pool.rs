//! The queue and its workers.

use super::control::StopReason;
use super::events::EventLog;
use super::journal::Journal;
use super::priority;
use super::{Control, EventId, Failure, Job, JobError, JobEvent, JobPage, JobStatus, NewJob, Progress};
use crate::storage::database::Database;
use serde_json::Value;
use std::collections::HashMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tokio::sync::broadcast;

/// Does the work of a job on the calling thread. A panic fails that job only.
pub trait Runner: Send + Sync + 'static {
    /// Runs a job to its end, or until `control` asks it to stop.
    fn run(&self, job: &Job, control: &Control) -> Result<Value, Failure>;

    /// Why no job can be started just now, if there is a reason. Asked before each job.
    fn obstacle(&self) -> Option<String>;
}

/// How many jobs may wait and run.
#[derive(Debug, Clone, Copy)]
pub struct PoolSettings {
    /// Jobs running at once.
    pub workers: usize,
    /// Jobs waiting at most.
    pub queue_limit: usize,
    /// How long one attempt may take.
    pub time_limit: Option<Duration>,
    /// Jobs of one client waiting at most.
    pub client_limit: usize,
}

/// A handle to the queue; clones share it.
#[derive(Clone)]
pub struct JobPool {
    pub(super) queue: Arc<JobQueue>,
}

/// The queue that handles and workers share.
pub(super) struct JobQueue {
    pub(super) journal: Journal,
    pub(super) settings: PoolSettings,
    state: Mutex<QueueState>,
    /// Wakes workers: a job was queued, or the service shuts down.
    pub(super) wake: Condvar,
    /// Ids of jobs that changed.
    pub(super) changes: broadcast::Sender<String>,
    pub(super) events: Arc<EventLog>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

#[derive(Default)]
pub(super) struct QueueState {
    pub(super) running: HashMap<String, Control>,
    pub(super) draining: bool,
}

impl JobPool {
    /// Opens the journal and starts the workers.
    pub fn start(database: Database, settings: PoolSettings, runner: Arc<dyn Runner>) -> Result<Self, JobError> {
        let queue = Arc::new(JobQueue {
            journal: Journal::open(database)?,
            settings,
            state: Mutex::default(),
            wake: Condvar::new(),
            changes: broadcast::channel(1024).0,
            events: Arc::new(EventLog::new()),
            threads: Mutex::default(),
        });
        for number in 0..settings.workers {
            let (worker_queue, runner) = (Arc::clone(&queue), Arc::clone(&runner));
            let thread = std::thread::Builder::new().name(format!("bochner-train-{number}")).spawn(move || {
                priority::lower_priority();
                worker_queue.work(runner.as_ref());
            });
            let thread = thread.map_err(|cause| JobError::Thread { number, cause })?;
            queue.threads.lock().unwrap_or_else(PoisonError::into_inner).push(thread);
        }
        Ok(Self { queue })
    }

    /// Queues a job; it is on disk when this returns.
    pub fn submit(&self, request: &NewJob) -> Result<Job, JobError> {
        if self.queue.state().draining {
            return Err(JobError::Draining);
        }
        let job =
            self.queue.journal.submit(request, self.queue.settings.queue_limit, self.queue.settings.client_limit)?;
        self.queue.changed(&job.id);
        // Under the lock, so that no worker misses it between its last look and its wait. All workers are woken, since
        // one may be waiting to retry a write and not for a job.
        let _state = self.queue.state();
        self.queue.wake.notify_all();
        Ok(job)
    }

    /// One job.
    pub fn find(&self, id: &str) -> Result<Job, JobError> {
        self.queue.journal.find(id)
    }

    /// How far a running job has come.
    pub fn progress(&self, id: &str) -> Option<Progress> {
        self.queue.state().running.get(id).map(Control::current)
    }

    /// One page of jobs, newest first.
    pub fn list(&self, page: JobPage) -> Result<Vec<Job>, JobError> {
        self.queue.journal.list(page)
    }

    /// Cancels a job: at once where it waits, within one block of work where it runs.
    pub fn cancel(&self, id: &str) -> Result<Job, JobError> {
        let job = self.queue.journal.cancel(id)?;
        if let Some(control) = self.queue.state().running.get(id) {
            control.stop(StopReason::Canceled);
        }
        self.queue.changed(id);
        Ok(job)
    }

    /// Deletes a finished job.
    pub fn delete(&self, id: &str) -> Result<(), JobError> {
        self.queue.journal.delete(id)?;
        self.queue.events.forget(id);
        Ok(())
    }

    /// Deletes finished jobs but the newest `keep`, and those that ended before `oldest`; gives how many.
    pub fn delete_finished(&self, keep: Option<usize>, oldest: Option<&str>) -> Result<usize, JobError> {
        self.queue.journal.delete_finished(keep, oldest)
    }

    /// The job that an idempotency key was used for, if any; an error if it was a different request.
    pub fn find_key(&self, key: &str, fingerprint: &str) -> Result<Option<Job>, JobError> {
        self.queue.journal.find_key(key, fingerprint)
    }

    /// When the oldest waiting job was submitted, as RFC 3339.
    pub fn oldest_queued(&self) -> Result<Option<String>, JobError> {
        self.queue.journal.oldest_queued()
    }

    /// Jobs in this state.
    pub fn count(&self, status: JobStatus) -> Result<usize, JobError> {
        self.queue.journal.count(status)
    }

    /// The newest event of any job.
    pub fn last_event(&self) -> EventId {
        self.queue.events.last()
    }

    /// What is kept of the events of a job after one of them. None if that was in another process, or if nothing is kept.
    pub fn events_since(&self, id: &str, since: EventId) -> Option<Vec<JobEvent>> {
        self.queue.events.since(id, since)
    }

    /// The ids of jobs as they change. A slow listener misses some and should read the jobs again.
    pub fn changes(&self) -> broadcast::Receiver<String> {
        self.queue.changes.subscribe()
    }

    /// Refuses new jobs, puts running ones back in the queue and waits up to `grace` for the workers. Returns whether all
    /// of them ended in time.
    pub fn drain(&self, grace: Duration) -> bool {
        {
            let mut state = self.queue.state();
            state.draining = true;
            state.running.values().for_each(|control| control.stop(StopReason::Shutdown));
            self.queue.wake.notify_all();
        }
        let deadline = Instant::now() + grace;
        let threads = std::mem::take(&mut *self.queue.threads.lock().unwrap_or_else(PoisonError::into_inner));
        while !threads.iter().all(JoinHandle::is_finished) {
            if Instant::now() >= deadline {
                self.queue.requeue_running();
                return false;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        true
    }
}

impl JobQueue {
    /// Records the state of a job, and wakes those who listen.
    pub(super) fn changed(&self, id: &str) {
        let progress = self.state().running.get(id).map(Control::current);
        self.events.record_state(|| self.journal.find(id).ok(), progress);
        // Sending fails only without listeners.
        let _ = self.changes.send(id.to_owned());
    }

    /// Puts back the jobs that did not stop in time: they end with the process, and this start does not count.
    fn requeue_running(&self) {
        for id in self.state().running.keys() {
            if let Err(error) = self.journal.requeue(id) {
                tracing::error!(%error, id, "the job could not be put back; its start counts");
            }
        }
    }

    pub(super) fn state(&self) -> MutexGuard<'_, QueueState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::jobs::scripted::{database, pool, request, wait_for};

    #[test]
    fn waiting_and_running_jobs_can_be_canceled_and_finished_ones_cannot() {
        let (_folder, database) = database();
        let (pool, started) = pool(&database, 1);
        let running = pool.submit(&request("wait")).unwrap();
        started.recv().unwrap();
        let waiting = pool.submit(&request("work")).unwrap();
        assert_eq!(pool.cancel(&waiting.id).unwrap().status, JobStatus::Canceled);
        assert_eq!(pool.cancel(&running.id).unwrap().status, JobStatus::Canceling);
        wait_for(&pool, &running.id, JobStatus::Canceled);
        let done = pool.submit(&request("work")).unwrap();
        wait_for(&pool, &done.id, JobStatus::Succeeded);
        assert!(matches!(pool.cancel(&done.id), Err(JobError::State { .. })));
        pool.delete(&done.id).unwrap();
        assert!(matches!(pool.find(&done.id), Err(JobError::NotFound { .. })));
        pool.drain(Duration::from_secs(60));
    }

    #[test]
    fn a_full_queue_refuses_and_keys_make_submitting_idempotent() {
        let (_folder, database) = database();
        let (pool, _started) = pool(&database, 0);
        let keyed = NewJob { idempotency_key: Some("k".into()), ..request("work") };
        let first = pool.submit(&keyed).unwrap();
        assert_eq!(pool.submit(&keyed).unwrap().id, first.id);
        let other = NewJob { fingerprint: "other".into(), ..keyed };
        assert!(matches!(pool.submit(&other), Err(JobError::KeyReused)));
        pool.submit(&request("work")).unwrap();
        pool.submit(&request("work")).unwrap();
        assert!(matches!(pool.submit(&request("work")), Err(JobError::QueueFull { limit: 3 })));
        assert!(matches!(pool.delete(&first.id), Err(JobError::State { .. })));
    }

    #[test]
    fn draining_puts_running_jobs_back_without_counting_the_start() {
        let (_folder, database) = database();
        let (first, started) = pool(&database, 1);
        let job = first.submit(&request("wait")).unwrap();
        started.recv().unwrap();
        assert!(first.drain(Duration::from_secs(60)));
        let job = first.find(&job.id).unwrap();
        assert_eq!((job.status, job.attempt), (JobStatus::Queued, 0));
        assert!(matches!(first.submit(&request("work")), Err(JobError::Draining)));
    }

    #[test]
    fn a_job_that_does_not_stop_in_time_is_put_back_without_counting_the_start() {
        let (_folder, database) = database();
        let (pool, started) = pool(&database, 1);
        let job = pool.submit(&request("deaf")).unwrap();
        started.recv().unwrap();
        assert!(!pool.drain(Duration::from_millis(20)));
        for wait in [0, 800] {
            std::thread::sleep(Duration::from_millis(wait)); // until it has ended
            let job = pool.find(&job.id).unwrap();
            assert_eq!((job.status, job.attempt), (JobStatus::Queued, 0));
        }
    }

    #[test]
    fn a_job_needs_its_data_set_and_holds_it() {
        let (_folder, database) = database();
        let (pool, _started) = pool(&database, 0);
        let orphan = NewJob { dataset: "none".into(), ..request("work") };
        assert!(matches!(pool.submit(&orphan), Err(JobError::NoDataset { .. })));
        let job = pool.submit(&request("work")).unwrap();
        let delete = || database.transact(|transaction| transaction.execute("DELETE FROM datasets", []));
        assert!(crate::storage::database::refused_by_trigger(&delete().unwrap_err()));
        pool.cancel(&job.id).unwrap();
        delete().unwrap();
    }

    #[test]
    fn a_stored_job_of_unknown_kind_is_refused_by_name() {
        let (_folder, database) = database();
        let (pool, _started) = pool(&database, 0);
        let job = pool.submit(&request("work")).unwrap();
        database.transact(|transaction| transaction.execute("UPDATE jobs SET kind = 'distil'", [])).unwrap();
        let refusal = Journal::open(database.clone()).err().unwrap().to_string();
        assert!(refusal.contains(&format!("job '{}' is stored with the kind 'distil'", job.id)), "{refusal}");
        assert!(matches!(pool.find(&job.id), Err(JobError::Database(_))));
    }

    /// What a killed process leaves behind runs again, three times at most.
    #[test]
    fn interrupted_jobs_run_again_and_give_up_in_the_end() {
        let (_folder, database) = database();
        let (idle, _) = pool(&database, 0);
        let job = idle.submit(&request("work")).unwrap();
        let journal = Journal::open(database.clone()).unwrap();
        for attempt in 1..=3 {
            assert_eq!(journal.claim().unwrap().unwrap().attempt, attempt);
            Journal::open(database.clone()).unwrap(); // a new process
        }
        let job = journal.find(&job.id).unwrap();
        assert_eq!((job.status, job.error.unwrap().code.as_str()), (JobStatus::Failed, "interrupted"));
    }
}
