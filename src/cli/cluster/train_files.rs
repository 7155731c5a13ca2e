//! Train on a folder of Parquet files, here or on Apache Spark. The model is the same bytes.

use crate::cli::inputs::{ResourceArguments, listed};
use crate::cluster::{LocalEngine, SparkEngine, SparkOptions, TableFiles, TableFolder};
use crate::config::{RemoteUri, SparkConfig};
use crate::linalg;
use crate::training::{
    Engine, LocatedTable, Observer, TrainError, TrainSpec, Trained, estimate_located_memory, train_located,
};
use clap::{Args, ValueEnum};
use std::path::Path;

/// Where passes over the rows run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum EngineName {
    /// In this process.
    Local,
    /// On Apache Spark.
    Spark,
}

/// The engine and what it needs.
#[derive(Debug, Args)]
pub struct EngineArguments {
    /// Where passes over the rows run. Spark takes a folder of Parquet files.
    #[arg(long, value_enum, default_value = "local")]
    pub(in crate::cli) engine: EngineName,

    /// Master of the Spark session: local[N,4], spark://host:7077, yarn, k8s://…, or sc://host for Spark Connect.
    #[arg(long, value_name = "URL", default_value = "local[*,4]")]
    spark_master: String,

    #[command(flatten)]
    spark: SparkConfig,
}

impl EngineArguments {
    /// Refuses an engine that does not take single files.
    pub(in crate::cli) fn check_for_file(&self) -> Result<(), String> {
        match self.engine {
            EngineName::Local => Ok(()),
            EngineName::Spark => Err("--engine spark takes a folder of Parquet files, not a single file".into()),
        }
    }
}

/// Where the files of a table are.
pub(in crate::cli) enum FilesAt<'p> {
    /// In a folder of this machine.
    Folder(&'p Path),
    /// Where only Spark can read them.
    Remote(RemoteUri),
}

impl<'p> FilesAt<'p> {
    /// What an argument of the command line names; none if it is a single file.
    pub(in crate::cli) fn argument(path: &'p Path) -> Result<Option<Self>, String> {
        match path.to_str() {
            Some(text) if RemoteUri::is_meant_by(text) => {
                RemoteUri::parse(text).map(|uri| Some(Self::Remote(uri))).map_err(|reason| format!("'{text}' {reason}"))
            }
            Some(_) | None => Ok(path.is_dir().then_some(Self::Folder(path))),
        }
    }
}

/// Trains; an error within is one of the training itself.
pub(in crate::cli) fn train_files(
    files: &FilesAt<'_>,
    (target, ignored): (Option<&str>, &[String]),
    spec: &TrainSpec,
    engine: &EngineArguments,
    (allowed, observer): (&ResourceArguments, &dyn Observer),
) -> Result<Result<Trained, TrainError>, String> {
    linalg::use_one_blas_thread();
    spec.check_for_files("/spec").map_err(listed)?;
    let train = |engine: &dyn Engine, table: &TableFiles| {
        let targets = table.targets(target)?;
        train_with(engine, table, &targets, spec, (allowed, observer))
    };
    let tick = |_| if observer.should_stop() { Err(TrainError::Stopped) } else { Ok(()) };
    let options = || SparkOptions::new(&engine.spark_master, &engine.spark);
    match (files, engine.engine) {
        (FilesAt::Folder(path), EngineName::Local) => {
            let folder = TableFolder::open(path, ignored)?;
            train(&LocalEngine { folder: &folder, threads: allowed.threads() }, &folder.table)
        }
        (FilesAt::Folder(path), EngineName::Spark) => {
            let folder = TableFolder::open(path, ignored)?;
            folder.table.targets(target)?; // before a session is started
            match SparkEngine::start(&folder, &options()?, &tick) {
                Ok(engine) => train(&engine, &folder.table),
                Err(error) => Ok(Err(error)),
            }
        }
        (FilesAt::Remote(uri), EngineName::Spark) => match SparkEngine::open(uri, ignored, &options()?, &tick) {
            Ok((engine, table)) => train(&engine, &table),
            Err(error) => Ok(Err(error)),
        },
        (FilesAt::Remote(uri), EngineName::Local) => {
            Err(format!("'{uri}' can only be read on Spark: use --engine spark and --spark-master"))
        }
    }
}

fn train_with(
    engine: &dyn Engine,
    files: &TableFiles,
    targets: &[usize],
    spec: &TrainSpec,
    (allowed, observer): (&ResourceArguments, &dyn Observer),
) -> Result<Result<Trained, TrainError>, String> {
    let table = match LocatedTable::profile(engine, (&files.columns, files.rows), targets, spec, observer) {
        Ok(table) => table,
        Err(error) => return Ok(Err(error)),
    };
    let schema = table.schema();
    spec.check_against(schema, "/dataset").map_err(listed)?;
    let spec = spec.within_memory(schema, allowed.threads(), allowed.memory());
    let need = estimate_located_memory(&spec, schema, allowed.threads());
    let resources = allowed.grant(need, "training", "use fewer features")?;
    let (rows, columns) = (schema.row_count, schema.columns.len());
    eprintln!("{} files: {rows} rows of {columns} columns, split by a hash of seed, file and row", files.count);
    Ok(train_located(&table, &files.id, &spec, resources, observer))
}
