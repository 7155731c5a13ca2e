//! The pages, one file for each noun.

/// Three steps to a first model, and what is going on.
pub(super) mod start;

/// Entering a key.
pub(super) mod login;

/// Tables: the list and uploads.
pub(super) mod datasets;

/// One table: its quality, the roles of its columns, its first rows.
pub(super) mod dataset;

/// An upload from a form.
mod upload;

/// The form that starts a training.
pub(super) mod train;

/// What a training will take, before it starts.
mod forecast;

/// What runs, waits and has ended.
pub(super) mod jobs;

/// Models, their verdicts, versions and aliases.
pub(super) mod models;

/// One version of a model as its page shows it.
mod model_view;

/// A prediction from a form.
pub(super) mod try_it;

/// What a prediction would be with one column changed.
mod what_if;

/// The documentation.
pub(super) mod docs;

use serde_json::Value;

/// A text of the API, empty if there is none.
fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// The items of a list, none if there is no list.
fn items(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}
