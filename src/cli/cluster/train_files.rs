//! Train on a folder of Parquet files, here or on Apache Spark. The model is the same bytes.

use crate::cli::inputs::{ResourceArguments, listed};
use crate::cluster::{LocalEngine, RowReader, SparkEngine, SparkOptions, TableFolder, worker_program};
use crate::linalg;
use crate::training::{
    Engine, InstructionSet, LocatedTable, Observer, TrainError, TrainSpec, Trained, estimate_memory, train_located,
};
use clap::{Args, ValueEnum};
use std::path::{Path, PathBuf};

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

    /// Python with pyspark, on this machine.
    #[arg(long, value_name = "PATH", default_value = "python3")]
    spark_python: PathBuf,

    /// The program that executors run passes with. The default is bochner-worker in the folder of this program, or this program
    /// itself if that is not there.
    #[arg(long, value_name = "PATH")]
    spark_program: Option<PathBuf>,

    /// Instructions that every pass must use, on a cluster whose machines have different ones: scalar, avx2, avx512 or neon.
    /// The default is the widest of each machine, and machines that differ are refused.
    #[arg(long, value_name = "SET", value_parser = parse_instructions)]
    spark_instructions: Option<InstructionSet>,

    /// Partitions, where the program reads the files. The default is one a file, 200 at most. The model does not depend on it.
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    spark_partitions: Option<u32>,

    /// Who reads the files on the executors: workers (this program, by the paths of the files) or spark.
    #[arg(long, value_name = "WHO", value_parser = parse_reader, default_value = "workers")]
    spark_reader: RowReader,

    /// A setting of the Spark session, such as spark.executor.memory=2g; may be repeated.
    #[arg(long, value_name = "NAME=VALUE", value_parser = parse_setting)]
    spark_conf: Vec<String>,
}

impl EngineArguments {
    /// Refuses an engine that does not take single files.
    pub(in crate::cli) fn check_for_file(&self) -> Result<(), String> {
        match self.engine {
            EngineName::Local => Ok(()),
            EngineName::Spark => Err("--engine spark takes a folder of Parquet files, not a single file".into()),
        }
    }

    fn options(&self) -> Result<SparkOptions, String> {
        let found = || worker_program().map_err(|error| format!("the path of this program is not known: {error}"));
        Ok(SparkOptions {
            master: self.spark_master.clone(),
            python: self.spark_python.clone(),
            program: self.spark_program.clone().map_or_else(found, Ok)?,
            partitions: self.spark_partitions.map(|count| count as usize),
            settings: self.spark_conf.clone(),
        })
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
        EngineName::Spark => match SparkEngine::start(&folder, &engine.options()?, engine.spark_reader) {
            Ok(session) => {
                let engine = session.with_instructions(engine.spark_instructions);
                train_with(&engine, &folder, &targets, spec, (allowed, observer))
            }
            Err(error) => Ok(Err(error)),
        },
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
    let need = estimate_memory(&spec, schema, allowed.threads());
    let resources = allowed.grant(need, "training", "use fewer features")?;
    let (rows, columns) = (schema.row_count, schema.columns.len());
    eprintln!("{} files: {rows} rows of {columns} columns, split by a hash of seed, file and row", folder.files.len());
    Ok(train_located(&table, &folder.id, &spec, resources, observer))
}

fn parse_reader(text: &str) -> Result<RowReader, String> {
    let reader = RowReader::ALL.iter().find(|(name, _)| *name == text).map(|(_, reader)| *reader);
    reader.ok_or_else(|| "must be workers or spark".into())
}

fn parse_instructions(text: &str) -> Result<InstructionSet, String> {
    let key = |set: &InstructionSet| set.name().to_lowercase().replace('-', "");
    let set = InstructionSet::ALL.into_iter().find(|set| key(set) == text);
    set.ok_or_else(|| "must be scalar, avx2, avx512 or neon".into())
}

fn parse_setting(text: &str) -> Result<String, String> {
    let is_setting = text.split_once('=').is_some_and(|(name, _)| !name.is_empty());
    if is_setting { Ok(text.to_owned()) } else { Err("must be NAME=VALUE".into()) }
}
