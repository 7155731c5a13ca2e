//! Describe a model file, without a service.

use super::written;
use crate::model::{decode, read_header};
use serde_json::{Value, json};
use std::io::Write;
use std::path::Path;

/// Most levels, labels or columns that are listed; of more, the first ones.
const LONGEST_LIST: usize = 12;

/// Prints a description of `file`: one page of text, or everything as JSON.
pub(super) fn inspect(file: &Path, as_json: bool) -> Result<(), String> {
    let refusal = |reason: &dyn std::fmt::Display| format!("{}: {reason}", file.display());
    // Reading a pipe or a device might never end.
    if !std::fs::metadata(file).map_err(|error| refusal(&error))?.is_file() {
        return Err(refusal(&"not a regular file"));
    }
    let bytes = std::fs::read(file).map_err(|error| refusal(&error))?;
    let description = describe(&bytes).map_err(|error| refusal(&error))?;
    let text = if as_json { format!("{description:#}\n") } else { page(&description) };
    let mut target = std::io::stdout();
    written("the description", target.write_all(text.as_bytes()).and_then(|()| target.flush()))
}

/// The service's description of a model, after the header of the file.
fn describe(bytes: &[u8]) -> Result<Value, crate::model::ArtifactError> {
    let header = read_header(bytes)?;
    let model = decode(bytes)?;
    let mut description = json!({
        "format_version": header.format_version,
        "artifact_bytes": header.bytes,
        "artifact_sha256": header.sha256,
        "dataset": model.dataset,
    });
    if let (Value::Object(description), Value::Object(members)) = (&mut description, model.describe()) {
        description.extend(members);
    }
    Ok(description)
}

/// The summary, one fact per line, then the figures of the report.
fn page(description: &Value) -> String {
    let spec = &description["spec"];
    let shapes = &description["shapes"];
    let facts = [
        ("artifact", format!("format {}, {} bytes", description["format_version"], description["artifact_bytes"])),
        ("sha256", plain(&description["artifact_sha256"])),
        ("dataset", plain(&description["dataset"])),
        ("learner", plain(&spec["learner"])),
        ("kernel", members(&description["kernel"])),
        ("features", members(&spec["features"])),
        ("shapes", format!("{} inputs, {} draws, {} features", shapes["inputs"], shapes["draws"], shapes["features"])),
        ("columns", list(&description["columns"], column)),
        ("targets", list(&description["targets"], plain)),
        ("labels", list(&description["labels"], plain)),
        ("outputs", list(&description["outputs"], plain)),
    ];
    let summary = &description["report"]["summary"];
    let claims = ["proved", "estimated"].into_iter().flat_map(|kind| {
        let claims = summary[kind].as_object().into_iter().flatten();
        claims.map(move |(id, says)| (kind, format!("{} [{id}]", plain(says))))
    });
    let advice = summary["advice"].as_array().into_iter().flatten();
    let said = [("verdict", plain(&summary["verdict"]))]
        .into_iter()
        .chain(claims)
        .chain(advice.map(|advice| ("advice", plain(advice))));
    let figures = description["report"].as_object().into_iter().flatten();
    let figures = figures.filter(|(_, figure)| figure.is_number() || figure.is_string());
    let warnings = description["report"]["warnings"].as_array().into_iter().flatten();
    let lines = said
        .chain(facts)
        .chain(figures.map(|(name, figure)| (name.as_str(), plain(figure))))
        .chain(warnings.map(|warning| ("warning", plain(warning))));
    lines.filter(|(_, fact)| !fact.is_empty()).map(|(name, fact)| line(name, &fact)).collect()
}

/// Control characters are replaced: a hostile file must not send commands to the terminal.
fn line(name: &str, fact: &str) -> String {
    let fact: String = fact.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect();
    format!("{name:<29} {fact}\n")
}

fn plain(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn list(values: &Value, render: fn(&Value) -> String) -> String {
    let values = values.as_array().map_or(&[][..], Vec::as_slice);
    let mut shown: Vec<String> = values.iter().take(LONGEST_LIST).map(render).collect();
    if values.len() > LONGEST_LIST {
        shown.push(format!("… {} in all", values.len()));
    }
    shown.join(", ")
}

fn members(object: &Value) -> String {
    let members = object.as_object().into_iter().flatten();
    members.map(|(name, value)| format!("{name} {}", plain(value))).collect::<Vec<_>>().join(", ")
}

fn column(column: &Value) -> String {
    let levels = list(&column["levels"], plain);
    let separator = if levels.is_empty() { "" } else { ": " };
    format!("{} ({}{separator}{levels})", plain(&column["name"]), plain(&column["kind"]))
}
