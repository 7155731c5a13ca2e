//! Training on tables in files: here or on Apache Spark, and the passes that its executors run.

/// Run one pass over files or a stream of rows.
mod pass;

/// Merge the statistics of passes.
mod merge;

/// Train on a folder of Parquet files.
mod train_files;

/// The program of executors.
mod worker;

pub use merge::MergeArguments;
pub(super) use merge::merge;
pub use pass::PassArguments;
pub(super) use pass::pass;
pub use train_files::EngineArguments;
pub(super) use train_files::{FilesAt, train_files};
pub use worker::WorkerCli;

/// Statistics of more bytes are refused.
const LARGEST_PARTIAL: u64 = 16 << 30;
