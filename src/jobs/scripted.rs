//! Jobs that do what their payload says, for the tests of this room.

use super::{Control, DISK_FULL, Failure, Job, JobEngine, JobKind, JobPool, JobStatus, NewJob, PoolSettings, Runner};
use crate::storage::database::Database;
use serde_json::{Value, json};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

/// Does what its payload says.
struct ScriptedRunner {
    started: Mutex<mpsc::Sender<String>>,
    is_disk_full: Arc<AtomicBool>,
}

impl Runner for ScriptedRunner {
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
            Some("deaf") => {
                std::thread::sleep(Duration::from_millis(500));
                Err(Failure { code: "stopped".into(), detail: String::new() })
            }
            Some("write") if self.is_disk_full.load(Ordering::Relaxed) => {
                Err(Failure { code: DISK_FULL.into(), detail: "no room".into() })
            }
            _ => Ok(json!("done")),
        }
    }

    fn obstacle(&self) -> Option<String> {
        None
    }
}

pub(super) fn request(payload: &str) -> NewJob {
    NewJob {
        kind: JobKind::Train,
        engine: JobEngine::Local,
        model: "m".into(),
        dataset: "ds".into(),
        payload: json!(payload),
        client: String::new(),
        idempotency_key: None,
        fingerprint: payload.into(),
        trace_parent: None,
    }
}

pub(super) fn pool(database: &Database, workers: usize) -> (JobPool, mpsc::Receiver<String>) {
    let (pool, started, _) = pool_with(database, workers, None);
    (pool, started)
}

/// With a time limit, and a switch that fills the disk.
pub(super) fn pool_with(
    database: &Database,
    workers: usize,
    time_limit: Option<Duration>,
) -> (JobPool, mpsc::Receiver<String>, Arc<AtomicBool>) {
    let settings = PoolSettings { workers, queue_limit: 3, client_limit: 3, time_limit };
    let (sender, started) = mpsc::channel();
    let is_disk_full: Arc<AtomicBool> = Arc::default();
    let runner = ScriptedRunner { started: Mutex::new(sender), is_disk_full: Arc::clone(&is_disk_full) };
    (JobPool::start(database.clone(), settings, Arc::new(runner)).unwrap(), started, is_disk_full)
}

pub(super) fn database() -> (tempfile::TempDir, Database) {
    let folder = tempfile::tempdir().unwrap();
    let database = Database::open(&folder.path().join("jobs.sqlite")).unwrap();
    let dataset = "INSERT INTO datasets VALUES ('ds', 'ds', '{}', 1, '', '', NULL)";
    database.transact(|transaction| transaction.execute(dataset, [])).unwrap();
    (folder, database)
}

pub(super) fn wait_for(pool: &JobPool, id: &str, status: JobStatus) -> Job {
    for _ in 0..30_000 {
        let job = pool.find(id).unwrap();
        if job.status == status {
            return job;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    panic!("{:?}", pool.find(id));
}
