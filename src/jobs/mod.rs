//! When and where work runs: states, queue, workers. Knows nothing of kernels.

/// What a job does, and what it is doing.
mod kind;

/// One job and its states.
mod job;

/// All jobs in the database.
mod journal;

/// The handle through which a running job reports progress and learns that it should stop.
mod control;

/// The estimate of the time left in a stage.
mod eta;

/// What happened to jobs, kept for a while.
mod events;

/// The priority of worker threads.
mod priority;

/// The queue and its workers.
mod worker_pool;

/// What a worker thread does.
mod worker;

/// Jobs that do what their payload says.
#[cfg(test)]
mod scripted;

pub(crate) use control::{Control, Progress};
pub(crate) use events::{EventId, JobEvent};
pub(crate) use job::{Failure, Job, JobPage, JobStatus, NewJob};
pub(crate) use journal::JobError;
pub(crate) use kind::{JobEngine, JobKind, JobStage};
pub(crate) use worker::DISK_FULL;
pub(crate) use worker_pool::{JobPool, PoolSettings, Runner};
