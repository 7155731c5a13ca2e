//! Passes on Apache Spark: a task goes to the Spark session, the executors start this program on their files, and the merged
//! statistics come back.

use super::TableFolder;
use super::spark_driver::{SparkDriver, SparkOptions};
use crate::training::{Engine, InstructionSet, Partial, PassTask, TrainError};
use serde_json::json;
use std::fs::File;
use std::io::BufReader;
use std::sync::{Mutex, PoisonError};
use tempfile::TempDir;

/// Statistics of more bytes are refused: 16,384 features take a tenth of it.
const LARGEST_PARTIAL: u64 = 16 << 30;

/// A Spark session.
pub struct SparkEngine {
    driver: Mutex<SparkDriver>,
    /// Tasks and statistics on their way; removed with the engine.
    folder: TempDir,
    instructions: Option<InstructionSet>,
}

impl SparkEngine {
    /// Starts a session on the files of a folder. The error of `tick` ends the wait for it.
    pub fn start(
        folder: &TableFolder,
        options: &SparkOptions,
        tick: &dyn Fn(f64) -> Result<(), TrainError>,
    ) -> Result<Self, TrainError> {
        let scratch = tempfile::tempdir().map_err(TrainError::Rows)?;
        let mut driver = SparkDriver::start(options, scratch.path())?;
        let files: Vec<_> = folder.files.iter().map(|file| file.path.display().to_string()).collect();
        driver.send(&json!({"start": {
            "master": options.master,
            "conf": options.settings,
            "program": options.program.display().to_string(),
            "root": folder.root.display().to_string(),
            "files": files,
            "partitions": options.partitions,
            "reader": options.reader.name(),
            "largest_file": folder.largest_file,
        }}))?;
        driver.wait_for("ready", tick)?;
        Ok(Self { driver: Mutex::new(driver), folder: scratch, instructions: options.instructions })
    }
}

impl Engine for SparkEngine {
    fn run(
        &self,
        task: &PassTask,
        tick: &(dyn Fn(f64) -> Result<(), TrainError> + Sync),
    ) -> Result<Partial, TrainError> {
        let mut driver = self.driver.lock().unwrap_or_else(PoisonError::into_inner);
        let (written, output) = (self.folder.path().join("task.json"), self.folder.path().join("partial"));
        std::fs::write(&written, task.write()).map_err(TrainError::Rows)?;
        driver.send(&json!({"pass": {
            "kind": task.kind().name(),
            "columns": task.columns(),
            "task": written.display().to_string(),
            "output": output.display().to_string(),
        }}))?;
        driver.wait_for("done", tick)?;
        let source = BufReader::new(File::open(&output).map_err(TrainError::Rows)?);
        let partial = Partial::read(source, LARGEST_PARTIAL).map_err(|error| TrainError::Engine(error.to_string()))?;
        std::fs::remove_file(&output).map_err(TrainError::Rows)?;
        Ok(partial)
    }

    fn instructions(&self) -> Option<InstructionSet> {
        self.instructions
    }
}
