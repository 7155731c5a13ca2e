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

pub use control::{Control, Progress};
pub use job::{Failure, Job, JobStatus, NewJob};
pub use journal::JobError;
pub use pool::{JobPool, PoolSettings, Runner};
