//! Train on a folder of Parquet files, here or on Apache Spark. The model is the same bytes.

use crate::cli::inputs::{ResourceArguments, listed};
use crate::cluster::{LocalEngine, SparkEngine, SparkOptions, TableFolder};
use crate::config::SparkConfig;
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

/// Trains; an error within is one of the training itself.
pub(in crate::cli) fn train_files(
    folder: &Path,
    (target, ignored): (Option<&str>, &[String]),
    spec: &TrainSpec,
    engine: &EngineArguments,
    (allowed, observer): (&ResourceArguments, &dyn Observer),
) -> Result<Result<Trained, TrainError>, String> {
    linalg::use_one_blas_thread();
    spec.check_for_files("/spec").map_err(listed)?;
    let folder = TableFolder::open(folder, ignored)?;
    let targets = folder.targets(target)?;
    match engine.engine {
        EngineName::Local => {
            let engine = LocalEngine { folder: &folder, threads: allowed.threads() };
            train_with(&engine, &folder, &targets, spec, (allowed, observer))
        }
        EngineName::Spark => {
            let options = SparkOptions::new(&engine.spark_master, &engine.spark)?;
            let tick = |_| if observer.should_stop() { Err(TrainError::Stopped) } else { Ok(()) };
            match SparkEngine::start(&folder, &options, &tick) {
                Ok(engine) => train_with(&engine, &folder, &targets, spec, (allowed, observer)),
                Err(error) => Ok(Err(error)),
            }
        }
    }
}

fn train_with(
    engine: &dyn Engine,
    folder: &TableFolder,
    targets: &[usize],
    spec: &TrainSpec,
    (allowed, observer): (&ResourceArguments, &dyn Observer),
) -> Result<Result<Trained, TrainError>, String> {
    let table = match LocatedTable::profile(engine, &folder.columns, targets, spec, observer) {
        Ok(table) => table,
        Err(error) => return Ok(Err(error)),
    };
    let schema = table.schema();
    spec.check_against(schema, "/dataset").map_err(listed)?;
    let spec = spec.within_memory(schema, allowed.threads(), allowed.memory());
    let need = estimate_located_memory(&spec, schema, allowed.threads());
    let resources = allowed.grant(need, "training", "use fewer features")?;
    let (rows, columns) = (schema.row_count, schema.columns.len());
    eprintln!("{} files: {rows} rows of {columns} columns, split by a hash of seed, file and row", folder.files.len());
    Ok(train_located(&table, &folder.id, &spec, resources, observer))
}
