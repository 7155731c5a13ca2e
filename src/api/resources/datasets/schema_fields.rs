//! What a request says about columns: parameters of an upload, or the same as one JSON object.

use crate::api::http::error::ApiError;
use crate::api::http::extract::{QueryFields, read_json};
use crate::dataset::{ColumnOptions, DecimalMark, Task};
use crate::request::problem::pointer;
use crate::request::suggest;
use serde_json::Value;

/// Targets, task, and how columns are read.
#[derive(Debug, Default, PartialEq)]
pub(super) struct SchemaFields {
    pub(super) target: Option<String>,
    pub(super) task: Option<Task>,
    pub(super) numeric: Vec<String>,
    pub(super) columns: ColumnOptions,
}

impl SchemaFields {
    /// The parameters of an upload.
    pub(super) const NAMES: [&str; 10] =
        ["target", "task", "numeric", "categorical", "datetime", "ignore", "missing", "decimal", "day_first", "schema"];

    /// From the parameters of a request: `schema` alone, or the others.
    pub(super) fn of_query(query: &QueryFields) -> Result<Self, ApiError> {
        let list = |name| query.text(name).map(|list| list.split(',').map(|item| item.trim().to_owned()).collect());
        if let Some(schema) = query.text("schema") {
            let other = Self::NAMES.iter().find(|name| **name != "schema" && query.text(name).is_some());
            if let Some(other) = other {
                let detail = format!("is part of schema; send either schema or {other}");
                return Err(ApiError::invalid_parameter(format!("?{other}"), detail));
            }
            return Self::of_json(&read_json(schema.as_bytes())?, "?schema");
        }
        Ok(Self {
            target: query.text("target").map(str::to_owned),
            task: query.text("task").map(|text| task(text, "?task")).transpose()?,
            // Names in `numeric` were never trimmed.
            numeric: query.text("numeric").map(|list| list.split(',').map(str::to_owned).collect()).unwrap_or_default(),
            columns: ColumnOptions {
                categorical: list("categorical").unwrap_or_default(),
                datetime: list("datetime").unwrap_or_default(),
                ignore: list("ignore").unwrap_or_default(),
                missing: list("missing").unwrap_or_default(),
                decimal: query.text("decimal").map(|text| decimal(text, "?decimal")).transpose()?.unwrap_or_default(),
                day_first: query.parsed("day_first", "true or false")?,
            },
        })
    }

    /// From a JSON object at `place`.
    pub(super) fn of_json(value: &Value, place: &str) -> Result<Self, ApiError> {
        let known = || Self::NAMES.into_iter().filter(|name| *name != "schema");
        let Some(object) = value.as_object() else {
            return Err(ApiError::invalid_parameter(place, "must be a JSON object"));
        };
        let mut fields = Self::default();
        for (name, value) in object {
            let at = pointer(place, name);
            match name.as_str() {
                "target" => fields.target = Some(texts(value, &at)?.join(",")),
                "task" => fields.task = Some(task(value.as_str().unwrap_or_default(), &at)?),
                "numeric" => fields.numeric = texts(value, &at)?,
                "categorical" => fields.columns.categorical = texts(value, &at)?,
                "datetime" => fields.columns.datetime = texts(value, &at)?,
                "ignore" => fields.columns.ignore = texts(value, &at)?,
                "missing" => fields.columns.missing = texts(value, &at)?,
                "decimal" => fields.columns.decimal = decimal(value.as_str().unwrap_or_default(), &at)?,
                "day_first" => {
                    let flag =
                        value.as_bool().ok_or_else(|| ApiError::invalid_parameter(&at, "must be true or false"))?;
                    fields.columns.day_first = Some(flag);
                }
                _ => {
                    let nearest = suggest::nearest(name, known());
                    let detail = format!("unknown field{nearest} (known: {})", known().collect::<Vec<_>>().join(", "));
                    return Err(ApiError::invalid_parameter(at, detail));
                }
            }
        }
        Ok(fields)
    }
}

/// A text, or a list of texts.
fn texts(value: &Value, place: &str) -> Result<Vec<String>, ApiError> {
    let found = match value {
        Value::String(text) => Some(vec![text.clone()]),
        Value::Array(items) => items.iter().map(|item| item.as_str().map(str::to_owned)).collect(),
        _ => None,
    };
    found.ok_or_else(|| ApiError::invalid_parameter(place, "must be a text or a list of texts"))
}

fn task(text: &str, place: &str) -> Result<Task, ApiError> {
    match text {
        "regression" => Ok(Task::Regression),
        "classification" => Ok(Task::Classification),
        _ => Err(ApiError::invalid_parameter(place, "must be regression or classification")),
    }
}

fn decimal(text: &str, place: &str) -> Result<DecimalMark, ApiError> {
    match text {
        "point" => Ok(DecimalMark::Point),
        "comma" => Ok(DecimalMark::Comma),
        _ => Err(ApiError::invalid_parameter(place, "must be point or comma")),
    }
}
