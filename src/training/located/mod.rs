//! Training on a table in files that stay where they are: what is asked of all rows becomes tasks, and an engine runs them on
//! the machines that have the rows. Everything else works on a sample that comes with the first task.

/// The part of a row by its hash.
mod hash_split;

/// What a pass is to do, as it travels.
mod task;

/// A function as it travels.
mod task_function;

/// The sums of a task, chunk by chunk.
mod pass_sums;

/// A table that was profiled, with its sample.
mod located_table;

/// What such a table cannot have yet.
mod refusals;

pub use located_table::{FileColumn, LocatedTable, train_located};
pub use pass_sums::{CHUNK_ROWS, Chunk, PassSums};
pub use task::{PassKind, PassTask};

use super::{Partial, TrainError};

/// What runs a task over all files and merges the statistics of them. The statistics of a task are the same bytes from every
/// engine.
pub trait Engine: Sync {
    /// Runs a task. `tick` takes the share that is done; its error ends the task, and nothing is left running.
    fn run(
        &self,
        task: &PassTask,
        tick: &(dyn Fn(f64) -> Result<(), TrainError> + Sync),
    ) -> Result<Partial, TrainError>;
}
