//! All jobs in the database; every change is durable before it is announced.

use super::{Failure, Job, JobEngine, JobKind, JobPage, JobStatus, NewJob};
use crate::storage::database::{Database, now, refused_by_trigger};
use rusqlite::types::Type;
use rusqlite::{Connection, OptionalExtension, Row, params};
use serde_json::Value;

/// Why a job could not be submitted, read or changed.
#[derive(Debug, thiserror::Error)]
pub enum JobError {
    /// No such job.
    #[error("there is no job '{id}'")]
    NotFound {
        /// As asked for.
        id: String,
    },
    /// Too many jobs wait.
    #[error("{limit} jobs are already waiting, which is the limit; try again later")]
    QueueFull {
        /// Of jobs that wait.
        limit: usize,
    },
    /// Too many jobs of one client wait.
    #[error("{limit} jobs of this client are already waiting, which is its limit; try again later")]
    ClientQueueFull {
        /// Of jobs of one client that wait.
        limit: usize,
    },
    /// The service is shutting down.
    #[error("the service is shutting down and accepts no new jobs")]
    Draining,
    /// Not possible in this state.
    #[error("job '{id}' is {}; {detail}", status.name())]
    State {
        /// Of the job.
        id: String,
        /// Its state.
        status: JobStatus,
        /// What is possible.
        detail: &'static str,
    },
    /// Deleted while the job was being submitted.
    #[error("there is no data set '{id}'")]
    NoDataset {
        /// As asked for.
        id: String,
    },
    /// The key was used for another request.
    #[error("the Idempotency-Key was used before for a different request")]
    KeyReused,
    /// Stored by a release that has other kinds.
    #[error(
        "job '{id}' is stored with the kind '{kind}', which this build does not know; it knows train, update, \
         certify and compare. Start the release that stored it, or delete the job there"
    )]
    UnknownKind {
        /// Of the job.
        id: String,
        /// As stored.
        kind: String,
    },
    /// The system gives no more threads.
    #[error("training thread {number} could not be started: {cause}")]
    Thread {
        /// From 0.
        number: usize,
        /// As the system says.
        cause: std::io::Error,
    },
    /// The database failed.
    #[error("the database failed: {0}")]
    Database(#[from] rusqlite::Error),
}

/// All jobs of a data directory.
#[derive(Clone)]
pub(super) struct Journal {
    database: Database,
}

/// A job that was running this many times when the process ended is taken to be the cause and fails.
const MOST_ATTEMPTS: u32 = 3;

impl Journal {
    /// Opens the journal and puts jobs that an earlier process left running back in the queue. Fails if a stored job has
    /// a kind that this build does not know: no later read can meet one.
    pub(super) fn open(database: Database) -> Result<Self, JobError> {
        let interrupted = Failure {
            code: "interrupted".into(),
            detail: format!("the service ended {MOST_ATTEMPTS} times while this job was running"),
        };
        let interrupted = serde_json::to_string(&interrupted).unwrap_or_default();
        database.transact(|transaction| -> Result<(), JobError> {
            check_kinds(transaction)?;
            let now = now();
            transaction
                .execute("UPDATE jobs SET status = 'canceled', finished_at = ?1 WHERE status = 'canceling'", [&now])?;
            // A job whose model is already published is queued again: the runner finds the model and reports it.
            transaction.execute(
                "UPDATE jobs SET status = 'failed', finished_at = ?1, error = ?2
                 WHERE status = 'running' AND attempt >= ?3
                 AND NOT EXISTS (SELECT 1 FROM models WHERE artifact = jobs.id)",
                params![now, interrupted, MOST_ATTEMPTS],
            )?;
            transaction.execute("UPDATE jobs SET status = 'queued' WHERE status = 'running'", [])?;
            Ok(())
        })?;
        Ok(Self { database })
    }

    /// Queues a job. The same idempotency key gives the job it gave before.
    pub(super) fn submit(&self, request: &NewJob, queue_limit: usize, client_limit: usize) -> Result<Job, JobError> {
        self.database.transact(|transaction| {
            if let Some(key) = &request.idempotency_key
                && let Some(known) = find_key(transaction, key, &request.fingerprint)?
            {
                return Ok(known);
            }
            if count(transaction, JobStatus::Queued)? >= queue_limit {
                return Err(JobError::QueueFull { limit: queue_limit });
            }
            if count_waiting(transaction, &request.client)? >= client_limit {
                return Err(JobError::ClientQueueFull { limit: client_limit });
            }
            let id = format!("job-{}", uuid::Uuid::now_v7().simple());
            let inserted = transaction.execute(
                "INSERT INTO jobs (id, kind, model, dataset, payload, status, attempt, created_at,
                                   idempotency_key, fingerprint, client, trace_parent, engine)
                 VALUES (?1, ?2, ?3, ?4, ?5, 'queued', 0, ?6, ?7, ?8, ?9, ?10, ?11)",
                params![
                    id,
                    request.kind.name(),
                    request.model,
                    request.dataset,
                    request.payload.to_string(),
                    now(),
                    request.idempotency_key,
                    request.fingerprint,
                    request.client,
                    request.trace_parent.map(|parent| parent.to_string()),
                    request.engine.name()
                ],
            );
            inserted.map_err(|error| {
                let id = request.dataset.clone();
                if refused_by_trigger(&error) { JobError::NoDataset { id } } else { error.into() }
            })?;
            find(transaction, &id)
        })
    }

    /// Hands the oldest waiting job to a worker.
    pub(super) fn claim(&self) -> Result<Option<Job>, JobError> {
        self.database.transact(|transaction| {
            let claimed = transaction
                .query_row(
                    "UPDATE jobs SET status = 'running', attempt = attempt + 1, started_at = ?1, error = NULL
                     WHERE id = (SELECT id FROM jobs WHERE status = 'queued' ORDER BY id LIMIT 1) RETURNING *",
                    [now()],
                    from_row,
                )
                .optional()?;
            Ok(claimed)
        })
    }

    /// Records the end of a job.
    pub(super) fn finish(&self, id: &str, outcome: &Result<Value, Failure>) -> Result<(), JobError> {
        let (status, result, error) = match outcome {
            Ok(result) => (JobStatus::Succeeded, Some(result.to_string()), None),
            Err(failure) => (JobStatus::Failed, None, serde_json::to_string(failure).ok()),
        };
        self.database.transact(|transaction| {
            transaction.execute(
                "UPDATE jobs SET status = ?2, result = ?3, error = ?4, finished_at = ?5 WHERE id = ?1",
                params![id, status.name(), result, error, now()],
            )?;
            Ok(())
        })
    }

    /// Records that a job stopped on request.
    pub(super) fn canceled(&self, id: &str) -> Result<(), JobError> {
        self.database.transact(|transaction| {
            transaction
                .execute("UPDATE jobs SET status = 'canceled', finished_at = ?2 WHERE id = ?1", params![id, now()])?;
            Ok(())
        })
    }

    /// Puts a job back that stopped because the service shuts down; that start does not count. A job that was canceled
    /// meanwhile stays canceled.
    pub(super) fn requeue(&self, id: &str) -> Result<(), JobError> {
        self.database.transact(|transaction| {
            transaction.execute(
                "UPDATE jobs SET status = 'queued', attempt = max(attempt - 1, 0) WHERE id = ?1 AND status = 'running'",
                [id],
            )?;
            transaction.execute(
                "UPDATE jobs SET status = 'canceled', finished_at = ?2 WHERE id = ?1 AND status = 'canceling'",
                params![id, now()],
            )?;
            Ok(())
        })
    }

    /// Puts a job back that found no room on the disk, with the reason; that start does not count. A job that was canceled
    /// meanwhile stays canceled.
    pub(super) fn postpone(&self, id: &str, reason: &Failure) -> Result<(), JobError> {
        let _room = self.database.lend_room();
        self.database.transact(|transaction| -> Result<_, JobError> {
            let reason = serde_json::to_string(reason).ok();
            let query = "UPDATE jobs SET error = ?2 WHERE id = ?1 AND status = 'running'";
            Ok(transaction.execute(query, params![id, reason])?)
        })?;
        self.requeue(id)
    }

    /// The job that a key was used for, if any.
    pub(super) fn find_key(&self, key: &str, fingerprint: &str) -> Result<Option<Job>, JobError> {
        self.database.read(|connection| find_key(connection, key, fingerprint))
    }

    /// Cancels a waiting job at once and asks a running one to stop.
    pub(super) fn cancel(&self, id: &str) -> Result<Job, JobError> {
        let _room = self.database.lend_room();
        self.database.transact(|transaction| {
            let job = find(transaction, id)?;
            match job.status {
                JobStatus::Queued => transaction.execute(
                    "UPDATE jobs SET status = 'canceled', finished_at = ?2 WHERE id = ?1",
                    params![id, now()],
                )?,
                JobStatus::Running => {
                    transaction.execute("UPDATE jobs SET status = 'canceling' WHERE id = ?1", [id])?
                }
                JobStatus::Canceling | JobStatus::Canceled => 0,
                status @ (JobStatus::Succeeded | JobStatus::Failed) => {
                    let detail = "only a waiting or running job can be canceled";
                    return Err(JobError::State { id: id.to_owned(), status, detail });
                }
            };
            find(transaction, id)
        })
    }

    /// Deletes a finished job.
    pub(super) fn delete(&self, id: &str) -> Result<(), JobError> {
        let _room = self.database.lend_room();
        self.database.transact(|transaction| {
            let job = find(transaction, id)?;
            if !job.status.is_final() {
                let detail = "only a finished job can be deleted; cancel it first";
                return Err(JobError::State { id: id.to_owned(), status: job.status, detail });
            }
            transaction.execute("DELETE FROM jobs WHERE id = ?1", [id])?;
            Ok(())
        })
    }

    /// Deletes finished jobs but the newest `keep`, and those that ended before `oldest`; gives how many.
    pub(super) fn delete_finished(&self, keep: Option<usize>, oldest: Option<&str>) -> Result<usize, JobError> {
        let _room = self.database.lend_room();
        let keep = keep.map_or(i64::MAX, |keep| i64::try_from(keep).unwrap_or(i64::MAX));
        self.database.transact(|transaction| {
            Ok(transaction.execute(
                "DELETE FROM jobs WHERE status IN ('succeeded', 'failed', 'canceled') AND (
                     finished_at < ?1 OR id NOT IN (
                         SELECT id FROM jobs WHERE status IN ('succeeded', 'failed', 'canceled')
                         ORDER BY id DESC LIMIT ?2))",
                params![oldest, keep],
            )?)
        })
    }

    /// When the oldest waiting job was submitted.
    pub(super) fn oldest_queued(&self) -> Result<Option<String>, JobError> {
        let query = "SELECT min(created_at) FROM jobs WHERE status = 'queued'";
        self.database.read(|connection| Ok(connection.query_row(query, [], |row| row.get(0))?))
    }

    pub(super) fn find(&self, id: &str) -> Result<Job, JobError> {
        self.database.read(|connection| find(connection, id))
    }

    /// One page of jobs, newest first.
    pub(super) fn list(&self, page: JobPage) -> Result<Vec<Job>, JobError> {
        let JobPage { status, model, after, limit, reports } = page;
        // A report may have hundreds of kilobytes; the database looks up the version in it without handing it over.
        let result = if reports {
            "result"
        } else {
            "iif(result IS NULL, NULL, json_object('version', json_extract(result, '$.version'))) AS result"
        };
        self.database.read(|connection| {
            let mut query = connection.prepare(&format!(
                "SELECT id, kind, engine, model, dataset, payload, client, idempotency_key, fingerprint, trace_parent, status,
                        attempt, created_at, started_at, finished_at, error, {result}
                 FROM jobs
                 WHERE (?1 IS NULL OR status = ?1) AND (?2 IS NULL OR model = ?2) AND (?3 IS NULL OR id < ?3)
                 ORDER BY id DESC LIMIT ?4"
            ))?;
            let rows = query.query_map(params![status.map(JobStatus::name), model, after, limit], from_row)?;
            Ok(rows.collect::<Result<_, _>>()?)
        })
    }

    pub(super) fn count(&self, status: JobStatus) -> Result<usize, JobError> {
        self.database.read(|connection| count(connection, status))
    }
}

fn check_kinds(connection: &Connection) -> Result<(), JobError> {
    let mut query = connection.prepare("SELECT kind, min(id) FROM jobs GROUP BY kind")?;
    let kinds = query.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    for found in kinds {
        let (kind, id): (String, String) = found?;
        if JobKind::from_name(&kind).is_none() {
            return Err(JobError::UnknownKind { id, kind });
        }
    }
    Ok(())
}

fn count(connection: &Connection, status: JobStatus) -> Result<usize, JobError> {
    Ok(connection.query_row("SELECT count(*) FROM jobs WHERE status = ?1", [status.name()], |row| row.get(0))?)
}

fn count_waiting(connection: &Connection, client: &str) -> Result<usize, JobError> {
    let query = "SELECT count(*) FROM jobs WHERE status = 'queued' AND client = ?1";
    Ok(connection.query_row(query, [client], |row| row.get(0))?)
}

fn find_key(connection: &Connection, key: &str, fingerprint: &str) -> Result<Option<Job>, JobError> {
    let known = connection.query_row("SELECT * FROM jobs WHERE idempotency_key = ?1", [key], from_row).optional()?;
    match known {
        Some(job) if job.request.fingerprint != fingerprint => Err(JobError::KeyReused),
        known => Ok(known),
    }
}

fn find(connection: &Connection, id: &str) -> Result<Job, JobError> {
    connection
        .query_row("SELECT * FROM jobs WHERE id = ?1", [id], from_row)
        .optional()?
        .ok_or_else(|| JobError::NotFound { id: id.chars().take(80).collect() })
}

fn from_row(row: &Row) -> rusqlite::Result<Job> {
    let damaged = |column: &str| rusqlite::Error::InvalidColumnType(0, column.to_owned(), Type::Text);
    let json = |column: &str| -> rusqlite::Result<Option<Value>> {
        let text: Option<String> = row.get(column)?;
        text.map(|text| serde_json::from_str(&text).map_err(|_| damaged(column))).transpose()
    };
    let (kind, status): (String, String) = (row.get("kind")?, row.get("status")?);
    let engine: String = row.get("engine")?;
    Ok(Job {
        id: row.get("id")?,
        request: NewJob {
            kind: JobKind::from_name(&kind).ok_or_else(|| damaged("kind"))?,
            engine: JobEngine::from_name(&engine).ok_or_else(|| damaged("engine"))?,
            model: row.get("model")?,
            dataset: row.get("dataset")?,
            payload: json("payload")?.ok_or_else(|| damaged("payload"))?,
            client: row.get("client")?,
            idempotency_key: row.get("idempotency_key")?,
            fingerprint: row.get("fingerprint")?,
            trace_parent: row.get::<_, Option<String>>("trace_parent")?.and_then(|parent| parent.parse().ok()),
        },
        status: JobStatus::from_name(&status).ok_or_else(|| damaged("status"))?,
        attempt: row.get("attempt")?,
        created_at: row.get("created_at")?,
        started_at: row.get("started_at")?,
        finished_at: row.get("finished_at")?,
        result: json("result")?,
        error: json("error")?.map(serde_json::from_value).transpose().map_err(|_| damaged("error"))?,
    })
}
