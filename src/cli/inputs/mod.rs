//! What commands that learn from a table have in common: how the table is read, what the work may take, and the spec.

/// How a table is read.
mod table_arguments;

/// Threads and memory.
mod resource_arguments;

pub use resource_arguments::ResourceArguments;
pub use table_arguments::TableArguments;

use crate::request::problem::Problem;
use serde_json::Value;
use std::path::Path;

/// A spec as JSON, or the path of a file of it.
pub(super) fn raw_spec(text: &str) -> Result<Value, String> {
    if text.trim_start().starts_with(['{', '[']) {
        return serde_json::from_str(text).map_err(|error| format!("--spec is not JSON: {error}"));
    }
    let content = std::fs::read_to_string(text).map_err(|error| format!("--spec {text}: {error}"))?;
    serde_json::from_str(&content).map_err(|error| format!("--spec {text} is not JSON: {error}"))
}

/// Problems on one line, each with its place.
pub(super) fn listed(problems: Vec<Problem>) -> String {
    let details: Vec<String> = problems.into_iter().map(|p| format!("{}: {}", p.pointer, p.detail)).collect();
    details.join("; ")
}

/// The name of a file up to its first dot.
pub(super) fn stem(path: &Path) -> String {
    let name = path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    name.split('.').next().unwrap_or_default().to_owned()
}
