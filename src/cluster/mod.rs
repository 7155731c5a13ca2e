//! Tables in files that stay where they are, and the engines that run passes over them: this process, or Apache Spark, which
//! starts this program next to the rows.

/// What the files of a table say about themselves.
mod table_files;

/// A folder of Parquet files that are one table.
mod table_folder;

/// Arrow columns as cells.
mod column_cells;

/// Rows of files, cut into chunks.
mod file_rows;

/// Rows that come as a stream.
mod row_stream;

/// Passes in this process.
mod local_engine;

/// Which folders may be read where they are.
mod locations;

/// A table in files as a dataset.
mod located_dataset;

/// Passes on Apache Spark.
mod spark_engine;

/// The process that runs the Spark session.
mod spark_driver;

pub use file_rows::{FileOfTable, add_file};
pub use local_engine::LocalEngine;
pub use located_dataset::{Registration, open_unchanged, open_unchanged_remote, place_of, register};
pub use locations::{LocationError, Locations, TablePlace};
pub use row_stream::add_stream;
pub use spark_driver::SparkOptions;
pub use spark_engine::SparkEngine;
pub use table_files::TableFiles;
pub use table_folder::TableFolder;

use rustix::process::{Signal, getppid, set_parent_process_death_signal};

/// Has the system end this process with its parent, so that no pass outlives the task that started it.
pub fn end_with_parent() -> std::io::Result<()> {
    let parent = getppid();
    set_parent_process_death_signal(Some(Signal::KILL))?;
    // A parent that ended before the call sends no signal.
    if getppid() == parent { Ok(()) } else { Err(std::io::Error::other("the process that started this one has ended")) }
}
