//! Compare samplings on a table, without a service: the same library as a job of type `compare`.

use super::progress::ProgressLine;
use super::{own_program, written};
use crate::app::table_file::TableFile;
use crate::config::Bytes;
use crate::dataset::{
    ColumnOptions, ContentEncoding, CsvOptions, DatasetError, Task, UploadFormat, UploadOptions, parse_delimiter,
};
use crate::training::{CompareSpec, Comparison, Resources, SpecLimits, TrainError, compare, estimate_comparison};
use clap::Args;
use serde_json::{Value, json};
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Table, samplings and outputs of `bochner compare`.
#[derive(Debug, Args)]
pub struct CompareArguments {
    /// Table to compare on: CSV, JSON, Arrow, Parquet or LIBSVM, as for uploads, optionally compressed as .gz or .zst.
    #[arg(long)]
    data: PathBuf,

    /// Column to predict. The default is the last one.
    #[arg(long)]
    target: Option<String>,

    /// What is predicted: regression or classification. The default follows from the cells of the target.
    #[arg(long, value_parser = parse_task)]
    task: Option<Task>,

    /// Samplings, the one to compare with first: plain, leverage, elss1, elss2, eerf, lkrf, pooled_ridge and others; linear
    /// stands for the inputs themselves.
    #[arg(long, value_delimiter = ',', default_value = "plain,leverage,pooled_ridge")]
    sampling: Vec<String>,

    /// Feature counts.
    #[arg(long, value_delimiter = ',', default_value = "20,50,100,200")]
    features: Vec<u64>,

    /// Labelled rows of each label; all other rows that are not tested on count as unlabelled. Needs one feature count.
    #[arg(long, value_delimiter = ',')]
    labels: Option<Vec<u64>>,

    /// Random splits. Every sampling sees the same ones.
    #[arg(long, default_value_t = 20)]
    repeats: u64,

    /// Share of the labelled rows that errors are measured on.
    #[arg(long, default_value_t = 0.2)]
    test_fraction: f64,

    /// Use at most this many labelled rows, chosen at random.
    #[arg(long)]
    rows: Option<u64>,

    /// Learner: ridge, logistic, hinge or squared_hinge. The default follows from the task.
    #[arg(long)]
    learner: Option<String>,

    /// Seed of the first split and its draws; each split has one more than the one before.
    #[arg(long, default_value_t = 0)]
    seed: u64,

    /// More of the training spec as JSON, such as '{"kernel": {"name": "laplace"}, "lambda": 0.01}'.
    #[arg(long, default_value = "{}")]
    spec: String,

    /// Delimiter of CSV cells: a name (comma, semicolon, tab, pipe, space) or one character.
    #[arg(long, default_value = "comma")]
    delimiter: String,

    /// The CSV has no header line.
    #[arg(long)]
    no_header: bool,

    /// Threads. The default is all cores; the result does not depend on it.
    #[arg(long)]
    threads: Option<usize>,

    /// Memory that the comparison may need, by estimate.
    #[arg(long, default_value = "4GiB")]
    memory: Bytes,

    /// Largest feature count.
    #[arg(long, default_value_t = 16_384)]
    max_features: usize,

    /// Write everything here as JSON: means, standard errors, every trial, every seed and split.
    #[arg(long)]
    json: Option<PathBuf>,

    /// Write means and standard errors here as CSV.
    #[arg(long)]
    csv: Option<PathBuf>,

    /// Draw a chart here as SVG.
    #[arg(long)]
    svg: Option<PathBuf>,
}

pub(super) fn parse_task(text: &str) -> Result<Task, String> {
    match text {
        "regression" => Ok(Task::Regression),
        "classification" => Ok(Task::Classification),
        _ => Err("must be regression or classification".into()),
    }
}

/// Prints the table of means, and writes the files that were asked for.
pub(super) fn compare_samplings(arguments: &CompareArguments) -> Result<(), String> {
    let limits = SpecLimits { feature_count: arguments.max_features };
    let spec = CompareSpec::check(&request(arguments)?, limits).map_err(listed)?;
    let file = read(arguments)?;
    let schema = &file.dataset.schema;
    spec.check_against(schema).map_err(listed)?;
    let cores = || std::thread::available_parallelism().map_or(1, usize::from);
    let threads = arguments.threads.unwrap_or_else(cores).max(1);
    let need = estimate_comparison(&spec, schema, threads);
    if need > arguments.memory.0 {
        let (need, have) = (need >> 20, arguments.memory.0 >> 20);
        return Err(format!(
            "the comparison would need about {need} MiB of memory and --memory allows {have} MiB; use fewer features or rows"
        ));
    }
    let resources = Resources { threads, cache_bytes: arguments.memory.0 - need };
    let line = ProgressLine::start("fits", spec.trial_count());
    let found = compare(&file.table, schema, &file.dataset.name, &spec, resources, &line);
    line.finish();
    let found = found.map_err(|error| match error {
        TrainError::Stopped => "stopped".to_owned(),
        error => error.to_string(),
    })?;
    write_files(arguments, &found)?;
    let mut target = std::io::stdout();
    written("the table", target.write_all(page(&found).as_bytes()).and_then(|()| target.flush()))
}

/// The arguments as a request of the API has them.
fn request(arguments: &CompareArguments) -> Result<Value, String> {
    let mut base: Value =
        serde_json::from_str(&arguments.spec).map_err(|error| format!("--spec is not JSON: {error}"))?;
    if !base.is_object() {
        return Err("--spec must be a JSON object".into());
    }
    if let Some(learner) = &arguments.learner {
        base["learner"] = json!(learner);
    }
    if base["features"].is_null() {
        base["features"] = json!({});
    }
    if base["features"].is_object() {
        base["features"]["seed"] = json!(arguments.seed);
    }
    let mut request = json!({
        "samplings": arguments.sampling,
        "features": arguments.features,
        "repeats": arguments.repeats,
        "test_fraction": arguments.test_fraction,
        "spec": base,
    });
    if let Some(labels) = &arguments.labels {
        request["labels_per_class"] = json!(labels);
    }
    if let Some(rows) = arguments.rows {
        request["rows"] = json!(rows);
    }
    Ok(request)
}

fn listed(problems: Vec<crate::request::problem::Problem>) -> String {
    let details: Vec<String> = problems.into_iter().map(|p| format!("{}: {}", p.pointer, p.detail)).collect();
    details.join("; ")
}

fn read(arguments: &CompareArguments) -> Result<TableFile, String> {
    let path = &arguments.data;
    let at = |reason: &dyn std::fmt::Display| format!("{}: {reason}", path.display());
    let delimiter = parse_delimiter(&arguments.delimiter).map_err(|error: DatasetError| error.to_string())?;
    let options = UploadOptions {
        name: Some(stem(path)),
        target: arguments.target.clone(),
        task: arguments.task,
        numeric: Vec::new(),
        columns: ColumnOptions::default(),
        format: (delimiter != b',').then_some(UploadFormat::Csv),
        file_name: path.file_name().map(|name| name.to_string_lossy().into_owned()),
        csv: CsvOptions { delimiter, header: arguments.no_header.then_some(false) },
        encoding: ContentEncoding::Identity,
    };
    let source = File::open(path).map_err(|error| at(&error))?;
    TableFile::read(source, &options, Some(own_program())).map_err(|error| at(&error))
}

/// The name of a file up to its first dot.
fn stem(path: &Path) -> String {
    let name = path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    name.split('.').next().unwrap_or_default().to_owned()
}

fn write_files(arguments: &CompareArguments, found: &Comparison) -> Result<(), String> {
    let to = |path: &Option<PathBuf>, text: &dyn Fn() -> String| match path {
        Some(path) => std::fs::write(path, text()).map_err(|error| format!("{}: {error}", path.display())),
        None => Ok(()),
    };
    to(&arguments.json, &|| format!("{:#}\n", json!(found)))?;
    to(&arguments.csv, &|| found.to_csv())?;
    to(&arguments.svg, &|| found.chart().to_svg())
}

/// The table, with what it is of.
fn page(found: &Comparison) -> String {
    let metric = match found.metric.as_str() {
        "rmse" => format!("test RMSE of {}", found.target),
        _ => format!("share of wrong labels of {} on test rows", found.target),
    };
    let repetitions = &found.repetitions;
    let (first, last) = (repetitions.first(), repetitions.last());
    let seeds =
        first.zip(last).map_or_else(String::new, |(first, last)| format!(", seeds {} to {}", first.seed, last.seed));
    let rows = first.map_or_else(String::new, |rows| {
        let (training, validation) = (rows.training_rows, rows.validation_rows);
        format!(
            "{training} training, {validation} validation, {} test and {} unlabelled rows",
            rows.test_rows, rows.unlabelled_rows
        )
    });
    format!(
        "{}: {metric}, mean ± standard error over {} random splits{seeds}; {rows}; learner {}\n\n{}",
        found.dataset,
        repetitions.len(),
        found.learner,
        found.to_text()
    )
}
