//! Compare samplings on a table, without a service: the same library as a job of type `compare`.

use super::inputs::{ResourceArguments, TableArguments, listed, raw_spec};
use super::progress::ProgressLine;
use super::{STOPPED, written};
use crate::plots::Size;
use crate::training::{CompareSpec, Comparison, TrainError, compare, estimate_comparison};
use clap::Args;
use serde_json::{Value, json};
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

/// Table, samplings and outputs of `bochner compare`.
#[derive(Debug, Args)]
pub struct CompareArguments {
    /// Table to compare on: CSV, JSON, Arrow, Parquet or LIBSVM, as for uploads, optionally compressed as .gz or .zst.
    #[arg(long)]
    data: PathBuf,

    #[command(flatten)]
    table: TableArguments,

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

    #[command(flatten)]
    resources: ResourceArguments,

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

/// Prints the table of means, and writes the files that were asked for.
pub(super) fn compare_samplings(arguments: &CompareArguments) -> Result<ExitCode, String> {
    let allowed = &arguments.resources;
    let spec = CompareSpec::check(&request(arguments)?, allowed.spec_limits()).map_err(listed)?;
    let file = arguments.table.read(&arguments.data)?;
    let schema = &file.dataset.schema;
    spec.check_against(schema).map_err(listed)?;
    let need = estimate_comparison(&spec, schema, allowed.threads());
    let resources = allowed.grant(need, "comparison", "use fewer features or rows")?;
    let line = ProgressLine::start("fits", spec.trial_count());
    let found = compare(&file.table, schema, &file.dataset.name, &spec, resources, &line);
    line.finish();
    let found = match found {
        Ok(found) => found,
        Err(TrainError::Stopped) => {
            eprintln!("bochner: stopped; nothing was written");
            return Ok(ExitCode::from(STOPPED));
        }
        Err(error) => return Err(error.to_string()),
    };
    write_files(arguments, &found)?;
    let mut target = std::io::stdout();
    written("the table", target.write_all(page(&found).as_bytes()).and_then(|()| target.flush()))?;
    Ok(ExitCode::SUCCESS)
}

/// The arguments as a request of the API has them.
fn request(arguments: &CompareArguments) -> Result<Value, String> {
    let mut base = raw_spec(&arguments.spec)?;
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

fn write_files(arguments: &CompareArguments, found: &Comparison) -> Result<(), String> {
    let to = |path: &Option<PathBuf>, text: &dyn Fn() -> String| match path {
        Some(path) => std::fs::write(path, text()).map_err(|error| format!("{}: {error}", path.display())),
        None => Ok(()),
    };
    to(&arguments.json, &|| format!("{:#}\n", json!(found)))?;
    to(&arguments.csv, &|| found.to_csv())?;
    to(&arguments.svg, &|| found.chart().to_svg(Size::Wide))
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
