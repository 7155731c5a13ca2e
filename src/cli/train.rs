//! Train a model on a table, without a service: the same library as a training job.

use super::progress::StageLine;
use super::{own_program, written};
use crate::app::table_file::TableFile;
use crate::config::Bytes;
use crate::dataset::{
    ColumnOptions, ContentEncoding, CsvOptions, DatasetError, Schema, Task, UploadFormat, UploadOptions,
    parse_delimiter,
};
use crate::model::{FittedModel, encode};
use crate::request::problem::Problem;
use crate::theory::RowAccess;
use crate::training::{Resources, SpecLimits, TrainError, TrainSpec, estimate_memory, train};
use clap::Args;
use serde_json::{Value, json};
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The exit code after Ctrl-C, as of a process that SIGINT ends.
const STOPPED: u8 = 130;

/// Table, spec and outputs of `bochner train`.
#[derive(Debug, Args)]
pub struct TrainArguments {
    /// Table to train on: CSV, JSON, Arrow, Parquet or LIBSVM, as for uploads, optionally compressed as .gz or .zst.
    data: PathBuf,

    /// Column to predict. The default is the last one.
    #[arg(long)]
    target: Option<String>,

    /// What is predicted: regression or classification. The default follows from the cells of the target.
    #[arg(long, value_parser = super::compare::parse_task)]
    task: Option<Task>,

    /// The training spec: JSON such as '{"features": {"count": 1000}}', or a file of it.
    #[arg(long, default_value = "{}")]
    spec: String,

    /// File to write the model to. The default is the name of the table with the ending .bochner.
    #[arg(long, short)]
    output: Option<PathBuf>,

    /// Delimiter of CSV cells: a name (comma, semicolon, tab, pipe, space) or one character.
    #[arg(long)]
    delimiter: Option<String>,

    /// The CSV has no header line.
    #[arg(long)]
    no_header: bool,

    /// Threads. The default is all cores; the model does not depend on it.
    #[arg(long)]
    threads: Option<usize>,

    /// Memory that the training may need, by estimate.
    #[arg(long, default_value = "4GiB")]
    memory: Bytes,

    /// Largest feature count.
    #[arg(long, default_value_t = 16_384)]
    max_features: usize,

    /// Print the description of the model as JSON, with the path of its file.
    #[arg(long)]
    json: bool,
}

/// Trains, writes the model file, and prints the verdict.
pub(super) fn run(arguments: &TrainArguments) -> Result<ExitCode, String> {
    let limits = SpecLimits { feature_count: arguments.max_features };
    let spec = TrainSpec::check("/spec", Some(&raw_spec(&arguments.spec)?), limits).map_err(listed)?;
    let file = read(arguments)?;
    let schema = &file.dataset.schema;
    spec.check_against(schema, "/dataset").map_err(listed)?;
    let threads =
        arguments.threads.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from)).max(1);
    let spec = spec.within_memory(schema, threads, arguments.memory.0);
    let need = estimate_memory(&spec, schema, threads);
    if need > arguments.memory.0 {
        let (need, have) = (need >> 20, arguments.memory.0 >> 20);
        return Err(format!(
            "the training would need about {need} MiB of memory and --memory allows {have} MiB; use fewer features"
        ));
    }
    note_table(schema, &file.dataset.name);
    let resources = Resources { threads, cache_bytes: arguments.memory.0 - need };
    let line = StageLine::start();
    let trained = train(&file.table, schema, &file.dataset.id, &spec, resources, &line);
    line.finish();
    let model = match trained {
        Ok(trained) => trained.model,
        Err(TrainError::Stopped) => {
            eprintln!("bochner: stopped; no model was written");
            return Ok(ExitCode::from(STOPPED));
        }
        Err(error) => return Err(error.to_string()),
    };
    let output =
        arguments.output.clone().unwrap_or_else(|| PathBuf::from(format!("{}.bochner", stem(&arguments.data))));
    write_whole(&output, &encode(&model).map_err(|error| error.to_string())?)
        .map_err(|error| format!("{}: {error}", output.display()))?;
    let text = if arguments.json { described(&model, &output) } else { page(&model, &output) };
    let mut target = std::io::stdout();
    written("the result", target.write_all(text.as_bytes()).and_then(|()| target.flush()))?;
    Ok(ExitCode::SUCCESS)
}

/// JSON, or the path of a file of it.
fn raw_spec(text: &str) -> Result<Value, String> {
    if text.trim_start().starts_with('{') {
        return serde_json::from_str(text).map_err(|error| format!("--spec is not JSON: {error}"));
    }
    let content = std::fs::read_to_string(text).map_err(|error| format!("--spec {text}: {error}"))?;
    serde_json::from_str(&content).map_err(|error| format!("--spec {text} is not JSON: {error}"))
}

fn listed(problems: Vec<Problem>) -> String {
    let details: Vec<String> = problems.into_iter().map(|p| format!("{}: {}", p.pointer, p.detail)).collect();
    details.join("; ")
}

fn read(arguments: &TrainArguments) -> Result<TableFile, String> {
    let path = &arguments.data;
    let at = |reason: &dyn std::fmt::Display| format!("{}: {reason}", path.display());
    let delimiter = arguments.delimiter.as_deref().map(parse_delimiter).transpose();
    let delimiter = delimiter.map_err(|error: DatasetError| error.to_string())?;
    let options = UploadOptions {
        name: Some(stem(path)),
        target: arguments.target.clone(),
        task: arguments.task,
        numeric: Vec::new(),
        columns: ColumnOptions::default(),
        format: delimiter.map(|_| UploadFormat::Csv),
        file_name: path.file_name().map(|name| name.to_string_lossy().into_owned()),
        csv: CsvOptions { delimiter: delimiter.unwrap_or(b','), header: arguments.no_header.then_some(false) },
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

/// What was read, on standard error.
fn note_table(schema: &Schema, name: &str) {
    let targets: Vec<&str> = schema.target_columns().map(|column| column.name.as_str()).collect();
    let (rows, columns, labelled) = (schema.row_count, schema.columns.len(), schema.labelled_rows());
    eprintln!("{name}: {rows} rows of {columns} columns; target {}", targets.join(", "));
    if labelled < rows {
        eprintln!("{} rows have no target; they are used to scale inputs and never fitted", rows - labelled);
    }
}

/// Whole or not at all.
fn write_whole(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(bytes)?;
    file.as_file().sync_all()?;
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}

fn described(model: &FittedModel, output: &Path) -> String {
    let mut description = model.describe_with(RowAccess::Gone);
    description["artifact"] = json!(output.display().to_string());
    format!("{description:#}\n")
}

/// The verdict, what is proved and estimated, advice and warnings.
fn page(model: &FittedModel, output: &Path) -> String {
    let report = model.describe_with(RowAccess::Gone)["report"].take();
    let summary = &report["summary"];
    let mut lines = vec![plain(&summary["verdict"])];
    for kind in ["proved", "estimated"] {
        let claims = summary[kind].as_object().into_iter().flatten();
        lines.extend(claims.map(|(id, says)| format!("{kind}: {} [{id}]", plain(says))));
    }
    for (word, list) in [("advice", &summary["advice"]), ("warning", &report["warnings"])] {
        lines.extend(list.as_array().into_iter().flatten().map(|text| format!("{word}: {}", plain(text))));
    }
    lines.push(format!("model: {}", output.display()));
    lines.join("\n") + "\n"
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
