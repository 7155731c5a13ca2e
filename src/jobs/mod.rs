//! When and where work runs: states, queue, workers. Knows nothing of kernels.

/// One job and its states.
mod job;

/// Every transition, durable.
mod journal;

/// What a running job is told and tells.
mod control;

/// Who goes first on a full machine.
mod priority;

/// The queue and who works it off.
mod pool;

/// The life of one of its threads.
mod worker;

pub(crate) use control::{Control, Progress};
pub(crate) use job::{Failure, Job, JobStatus, NewJob};
pub(crate) use journal::JobError;
pub(crate) use pool::{JobPool, PoolSettings, Runner};
