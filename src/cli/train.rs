//! Train a model on a table, without a service: the same library as a training job.

use super::cluster::{EngineArguments, FilesAt, train_files};
use super::inputs::{ResourceArguments, TableArguments, listed, raw_spec, stem};
use super::progress::StageLine;
use super::{STOPPED, written};
use crate::dataset::{Finding, Schema, Severity};
use crate::model::{FittedModel, encode};
use crate::theory::RowAccess;
use crate::training::{TrainError, TrainSpec, Trained, estimate_memory, train};
use clap::Args;
use serde_json::{Value, json};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Table, spec and outputs of `bochner train`.
#[derive(Debug, Args)]
pub struct TrainArguments {
    /// Table to train on: CSV, JSON, Arrow, Parquet or LIBSVM, as for uploads, optionally compressed as .gz or .zst; or a folder
    /// of Parquet files, which are read where they are, or with --engine spark the URI of one, such as s3a://bucket/folder.
    data: PathBuf,

    #[command(flatten)]
    table: TableArguments,

    /// The training spec: JSON such as '{"features": {"count": 1000}}', or a file of it.
    #[arg(long, default_value = "{}")]
    spec: String,

    /// File to write the model to. The default is the name of the table with the ending .bochner.
    #[arg(long, short)]
    output: Option<PathBuf>,

    #[command(flatten)]
    resources: ResourceArguments,

    #[command(flatten)]
    engine: EngineArguments,

    /// Print the description of the model as JSON, with the path of its file.
    #[arg(long)]
    json: bool,
}

/// Trains, writes the model file, and prints the verdict.
pub(super) fn run(arguments: &TrainArguments) -> Result<ExitCode, String> {
    let allowed = &arguments.resources;
    let spec = TrainSpec::check("/spec", Some(&raw_spec(&arguments.spec)?), allowed.spec_limits()).map_err(listed)?;
    let trained = if let Some(files) = FilesAt::argument(&arguments.data)? {
        let table = arguments.table.of_files()?;
        let line = StageLine::start();
        let trained = train_files(&files, table, &spec, &arguments.engine, (allowed, &line));
        line.finish();
        trained?
    } else {
        arguments.engine.check_for_file()?;
        train_file(arguments, &spec)?
    };
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

/// Reads a table as the service reads an upload, and trains on it.
fn train_file(arguments: &TrainArguments, spec: &TrainSpec) -> Result<Result<Trained, TrainError>, String> {
    let allowed = &arguments.resources;
    let file = arguments.table.read(&arguments.data)?;
    let schema = &file.dataset.schema;
    spec.check_against(schema, "/dataset").map_err(listed)?;
    let spec = spec.within_memory(schema, allowed.threads(), allowed.memory());
    let need = estimate_memory(&spec, schema, allowed.threads());
    let resources = allowed.grant(need, "training", "use fewer features")?;
    note_table(schema, &file.dataset.name);
    let line = StageLine::start();
    let trained = train(&file.table, schema, &file.dataset.id, &spec, resources, &line);
    line.finish();
    Ok(trained)
}

/// What was read and found, on standard error.
fn note_table(schema: &Schema, name: &str) {
    let targets: Vec<&str> = schema.target_columns().map(|column| column.name.as_str()).collect();
    let (rows, columns, labelled) = (schema.row_count, schema.columns.len(), schema.labelled_rows());
    eprintln!("{name}: {rows} rows of {columns} columns; target {}", targets.join(", "));
    if labelled < rows {
        eprintln!("{} rows have no target; they are used to scale inputs and never fitted", rows - labelled);
    }
    for finding in &schema.findings {
        eprintln!("{}", finding_line(finding));
    }
}

/// A finding about the table, without what a hostile table could send to the terminal.
fn finding_line(Finding { column, severity, detail, action, .. }: &Finding) -> String {
    let word = match severity {
        Severity::Note => "note",
        Severity::Warning => "warning",
    };
    let place = column.as_ref().map_or_else(String::new, |column| format!("column '{column}': "));
    format!("{word}: {place}{detail}. {action}").replace(char::is_control, "\u{fffd}")
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
