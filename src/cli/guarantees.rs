//! What is proved of a model file, without a service.

use super::written;
use crate::model::{FittedModel, read_artifact};
use crate::theory::ours::certificate::COVERED_SHARE;
use crate::theory::{RowAccess, SMALLEST_DELTA, Status, best_first, guarantees};
use serde_json::{Value, json};
use std::fs::File;
use std::io::{BufReader, Write};
use std::path::Path;

/// Prints the guarantees of a model, those that apply or all of them.
pub(super) fn show(file: &Path, delta: Option<f64>, all: bool, as_json: bool) -> Result<(), String> {
    if delta.is_some_and(|delta| !(SMALLEST_DELTA..1.0).contains(&delta)) {
        return Err(format!("--delta must be at least {SMALLEST_DELTA:e} and less than 1"));
    }
    let at = |reason: &dyn std::fmt::Display| format!("{}: {reason}", file.display());
    let source = File::open(file).map_err(|error| at(&error))?;
    let model = read_artifact(BufReader::new(source), u64::MAX - 1).map_err(|error| at(&error))?;
    let found = listed(&model, delta, all);
    let text = if as_json { format!("{found:#}\n") } else { page(&found) };
    let mut target = std::io::stdout();
    written("the guarantees", target.write_all(text.as_bytes()).and_then(|()| target.flush()))
}

fn listed(model: &FittedModel, delta: Option<f64>, all: bool) -> Value {
    let delta = delta.unwrap_or(model.failure_probability);
    let circumstances = model.circumstances(RowAccess::Gone);
    let found = model.evidence.as_ref().map(|evidence| guarantees(evidence, delta, COVERED_SHARE, &circumstances));
    let found = found.map(|found| found.guarantees).unwrap_or_default();
    let shown = found.iter().filter(|guarantee| all || guarantee.status != Status::NotApplicable).collect();
    json!({
        "delta": delta,
        "share": COVERED_SHARE,
        "summary": model.summary(&found, delta, false),
        "guarantees": best_first(shown),
        "measured": model.measurements(),
    })
}

fn page(found: &Value) -> String {
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let mut page = format!("{}\n", text(&found["summary"]["verdict"]));
    for guarantee in found["guarantees"].as_array().into_iter().flatten() {
        let (id, status) = (text(&guarantee["id"]), text(&guarantee["status"]));
        let statement = text(&guarantee["statement"]);
        page.extend(["\n", &id, " (", &status, ")\n  ", &statement, "\n"]);
    }
    // A hostile file must not send commands to the terminal.
    page.chars().map(|c| if c.is_control() && c != '\n' { '\u{fffd}' } else { c }).collect()
}
