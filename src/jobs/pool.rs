//! The queue and who works it off.

use super::control::StopReason;
use super::journal::Journal;
use super::priority;
use super::{Control, Failure, Job, JobError, JobStatus, NewJob, Progress};
use crate::storage::database::Database;
use serde_json::Value;
use std::collections::HashMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tokio::sync::broadcast;

/// Does the work of a job on the calling thread. May panic: that fails the job alone.
pub trait Runner: Send + Sync + 'static {
    /// Runs a job to its end, or until `control` says stop.
    fn run(&self, job: &Job, control: &Control) -> Result<Value, Failure>;
}

/// How much may wait and run.
#[derive(Debug, Clone, Copy)]
pub struct PoolSettings {
    /// Jobs running at once.
    pub workers: usize,
    /// Jobs waiting at most.
    pub queue_limit: usize,
}

/// A handle to the queue; clones share it.
#[derive(Clone)]
pub struct JobPool {
    shared: Arc<PoolParts>,
}

/// What the handles and the workers share.
pub(super) struct PoolParts {
    pub(super) journal: Journal,
    settings: PoolSettings,
    state: Mutex<PoolState>,
    /// Wakes workers: a job was queued, or the end is near.
    pub(super) wake: Condvar,
    /// Ids of jobs that changed.
    pub(super) changes: broadcast::Sender<String>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

#[derive(Default)]
pub(super) struct PoolState {
    pub(super) running: HashMap<String, Control>,
    pub(super) draining: bool,
}

impl JobPool {
    /// Opens the journal and starts the workers.
    pub fn start(database: Database, settings: PoolSettings, runner: Arc<dyn Runner>) -> Result<Self, JobError> {
        let shared = Arc::new(PoolParts {
            journal: Journal::open(database)?,
            settings,
            state: Mutex::default(),
            wake: Condvar::new(),
            changes: broadcast::channel(1024).0,
            threads: Mutex::default(),
        });
        for number in 0..settings.workers {
            let (shared_too, runner) = (Arc::clone(&shared), Arc::clone(&runner));
            let thread = std::thread::Builder::new()
                .name(format!("bochner-train-{number}"))
                .spawn(move || {
                    priority::step_back();
                    shared_too.work(runner.as_ref());
                })
                .map_err(|error| rusqlite::Error::ToSqlConversionFailure(error.into()))?;
            shared.threads.lock().unwrap_or_else(PoisonError::into_inner).push(thread);
        }
        Ok(Self { shared })
    }

    /// Queues a job; it is on disk when this returns.
    pub fn submit(&self, request: &NewJob) -> Result<Job, JobError> {
        if self.shared.state().draining {
            return Err(JobError::Draining);
        }
        let job = self.shared.journal.submit(request, self.shared.settings.queue_limit)?;
        self.shared.changed(&job.id);
        // Under the lock, so that no worker misses it between looking and waiting; all of them, since one may wait
        // for the disk and not for a job.
        let _state = self.shared.state();
        self.shared.wake.notify_all();
        Ok(job)
    }

    /// One job.
    pub fn find(&self, id: &str) -> Result<Job, JobError> {
        self.shared.journal.find(id)
    }

    /// How far a running job has come.
    pub fn progress(&self, id: &str) -> Option<Progress> {
        self.shared.state().running.get(id).map(Control::current)
    }

    /// Up to `limit` jobs, newest first, older than `after`.
    pub fn list(
        &self,
        status: Option<JobStatus>,
        model: Option<&str>,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<Job>, JobError> {
        self.shared.journal.list(status, model, after, limit)
    }

    /// Cancels a job: at once where it waits, within one block of work where it runs.
    pub fn cancel(&self, id: &str) -> Result<Job, JobError> {
        let job = self.shared.journal.cancel(id)?;
        if let Some(control) = self.shared.state().running.get(id) {
            control.stop(StopReason::Canceled);
        }
        self.shared.changed(id);
        Ok(job)
    }

    /// Forgets a finished job.
    pub fn delete(&self, id: &str) -> Result<(), JobError> {
        self.shared.journal.delete(id)
    }

    /// The job an idempotency key was used for, if it was; refused for a different request.
    pub fn find_key(&self, key: &str, fingerprint: &str) -> Result<Option<Job>, JobError> {
        self.shared.journal.find_key(key, fingerprint)
    }

    /// Jobs in this state.
    pub fn count(&self, status: JobStatus) -> Result<usize, JobError> {
        self.shared.journal.count(status)
    }

    /// The ids of jobs as they change. A slow listener misses some and should look again.
    pub fn changes(&self) -> broadcast::Receiver<String> {
        self.shared.changes.subscribe()
    }

    /// Takes no more jobs, puts running ones back in the queue and waits for the workers, at most
    /// for `grace`. Whether all of them ended in time.
    pub fn drain(&self, grace: Duration) -> bool {
        {
            let mut state = self.shared.state();
            state.draining = true;
            state.running.values().for_each(|control| control.stop(StopReason::Shutdown));
            self.shared.wake.notify_all();
        }
        let deadline = Instant::now() + grace;
        let threads = std::mem::take(&mut *self.shared.threads.lock().unwrap_or_else(PoisonError::into_inner));
        while !threads.iter().all(JoinHandle::is_finished) {
            if Instant::now() >= deadline {
                return false;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        true
    }
}

impl PoolParts {
    pub(super) fn changed(&self, id: &str) {
        // Nobody listening is fine.
        let _ = self.changes.send(id.to_owned());
    }

    pub(super) fn state(&self) -> MutexGuard<'_, PoolState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use std::sync::mpsc;

    /// Does what its payload says.
    struct Obedient {
        started: Mutex<mpsc::Sender<String>>,
    }

    impl Runner for Obedient {
        fn run(&self, job: &Job, control: &Control) -> Result<Value, Failure> {
            let _ = self.started.lock().unwrap().send(job.id.clone());
            match job.request.payload.as_str() {
                Some("panic") => panic!("on purpose"),
                Some("wait") => {
                    while !control.should_stop() {
                        std::thread::sleep(Duration::from_millis(1));
                    }
                    Err(Failure { code: "stopped".into(), detail: String::new() })
                }
                _ => Ok(json!("done")),
            }
        }
    }

    fn request(payload: &str) -> NewJob {
        NewJob {
            kind: "train".into(),
            model: "m".into(),
            dataset: "ds".into(),
            payload: json!(payload),
            idempotency_key: None,
            fingerprint: payload.into(),
        }
    }

    fn pool(database: &Database, workers: usize) -> (JobPool, mpsc::Receiver<String>) {
        let (sender, started) = mpsc::channel();
        let runner = Arc::new(Obedient { started: Mutex::new(sender) });
        (JobPool::start(database.clone(), PoolSettings { workers, queue_limit: 3 }, runner).unwrap(), started)
    }

    fn database() -> (tempfile::TempDir, Database) {
        let folder = tempfile::tempdir().unwrap();
        let database = Database::open(&folder.path().join("jobs.sqlite")).unwrap();
        let dataset = "INSERT INTO datasets VALUES ('ds', 'ds', '{}', 1, '', '')";
        database.transact(|transaction| transaction.execute(dataset, [])).unwrap();
        (folder, database)
    }

    fn wait_for(pool: &JobPool, id: &str, status: JobStatus) -> Job {
        for _ in 0..2000 {
            let job = pool.find(id).unwrap();
            if job.status == status {
                return job;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        panic!("{:?}", pool.find(id));
    }

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
        pool.shared.state().running[&job.id].stop(StopReason::Canceled);
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
