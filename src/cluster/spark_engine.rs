//! Passes on Apache Spark: a task goes to the Spark session, the executors start this program on their files, and the merged
//! statistics come back.

use super::spark_driver::{SparkDriver, SparkOptions};
use super::table_files::{StatedColumn, StatedFile};
use super::{TableFiles, TableFolder};
use crate::config::{RemoteUri, SparkReader};
use crate::training::{Engine, InstructionSet, Partial, PassTask, TrainError};
use serde::Deserialize;
use serde_json::{Value, json};
use std::fs::File;
use std::io::BufReader;
use std::sync::{Mutex, PoisonError};
use tempfile::TempDir;

/// Statistics of more bytes are refused: 16,384 features take a tenth of it.
const LARGEST_PARTIAL: u64 = 16 << 30;

type Tick<'t> = dyn Fn(f64) -> Result<(), TrainError> + 't;

/// A Spark session.
pub struct SparkEngine {
    driver: Mutex<SparkDriver>,
    /// Tasks and statistics on their way; removed with the engine.
    folder: TempDir,
    instructions: Option<InstructionSet>,
}

/// A file as the session lists it.
#[derive(Deserialize)]
struct ListedFile {
    name: String,
    bytes: u64,
    rows: u64,
    /// Names and types.
    columns: Vec<(String, String)>,
}

impl SparkEngine {
    /// Starts a session on the files of a folder. The error of `tick` ends the wait for it.
    pub fn start(folder: &TableFolder, options: &SparkOptions, tick: &Tick<'_>) -> Result<Self, TrainError> {
        let engine = Self::session(options, options.reader, tick)?;
        let files: Vec<_> = folder.files.iter().map(|file| file.path.display().to_string()).collect();
        let files = json!({"use": {
            "root": folder.root.display().to_string(),
            "files": files,
            "largest_file": folder.table.largest_file,
        }});
        engine.ask(&files, "used", tick)?;
        Ok(engine)
    }

    /// Starts a session on the files of a folder that only Spark can read, and which Spark therefore lists and reads.
    pub fn open(
        uri: &RemoteUri,
        ignored: &[String],
        options: &SparkOptions,
        tick: &Tick<'_>,
    ) -> Result<(Self, TableFiles), TrainError> {
        let engine = Self::session(options, SparkReader::Spark, tick)?;
        let output = engine.folder.path().join("files.json");
        engine.ask(
            &json!({"list": {"location": uri.as_str(), "output": output.display().to_string()}}),
            "listed",
            tick,
        )?;
        let listed = BufReader::new(File::open(&output).map_err(TrainError::Rows)?);
        let listed: Vec<ListedFile> = serde_json::from_reader(listed)
            .map_err(|error| TrainError::Engine(format!("the Spark session listed files in other words: {error}")))?;
        let mut files: Vec<StatedFile> = listed.into_iter().map(StatedFile::from).collect();
        files.sort_by(|one, other| one.name.cmp(&other.name));
        let table = TableFiles::of(&files, ignored).map_err(|reason| TrainError::Data(format!("{uri}: {reason}")))?;
        Ok((engine, table))
    }

    fn session(options: &SparkOptions, reader: SparkReader, tick: &Tick<'_>) -> Result<Self, TrainError> {
        let folder = tempfile::tempdir().map_err(TrainError::Rows)?;
        let driver = Mutex::new(SparkDriver::start(options, folder.path())?);
        let engine = Self { driver, folder, instructions: options.instructions };
        let start = json!({"start": {
            "master": options.master,
            "conf": options.settings,
            "program": options.program.display().to_string(),
            "partitions": options.partitions,
            "reader": reader.name(),
        }});
        engine.ask(&start, "ready", tick)?;
        Ok(engine)
    }

    /// Sends a request and waits for the answer to it.
    fn ask(&self, request: &Value, wanted: &str, tick: &Tick<'_>) -> Result<(), TrainError> {
        let mut driver = self.driver.lock().unwrap_or_else(PoisonError::into_inner);
        driver.send(request)?;
        driver.wait_for(wanted, tick)
    }
}

impl From<ListedFile> for StatedFile {
    fn from(ListedFile { name, bytes, rows, columns }: ListedFile) -> Self {
        let columns = columns.into_iter().map(|(name, kind)| StatedColumn { boolean: is_boolean(&kind), name, kind });
        Self { name, bytes, rows, columns: columns.collect() }
    }
}

/// Whether a type of Spark is that of truth values instead of numbers; none if no pass can read it.
fn is_boolean(kind: &str) -> Option<bool> {
    match kind {
        "boolean" => Some(true),
        "tinyint" | "smallint" | "int" | "bigint" | "float" | "double" => Some(false),
        _ => None,
    }
}

impl Engine for SparkEngine {
    fn run(
        &self,
        task: &PassTask,
        tick: &(dyn Fn(f64) -> Result<(), TrainError> + Sync),
    ) -> Result<Partial, TrainError> {
        let (written, output) = (self.folder.path().join("task.json"), self.folder.path().join("partial"));
        std::fs::write(&written, task.write()).map_err(TrainError::Rows)?;
        let pass = json!({"pass": {
            "kind": task.kind().name(),
            "columns": task.columns(),
            "bytes": task.statistics_bytes(),
            "task": written.display().to_string(),
            "output": output.display().to_string(),
        }});
        self.ask(&pass, "done", tick)?;
        let (source, mut total) = (BufReader::new(File::open(&output).map_err(TrainError::Rows)?), None);
        Partial::add_all(&mut total, source, LARGEST_PARTIAL).map_err(|error| TrainError::Engine(error.to_string()))?;
        std::fs::remove_file(&output).map_err(TrainError::Rows)?;
        total.ok_or_else(|| TrainError::Engine("the Spark session has sent no statistics".into()))
    }

    fn instructions(&self) -> Option<InstructionSet> {
        self.instructions
    }
}
