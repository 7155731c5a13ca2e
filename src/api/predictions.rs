//! `/api/v1/models/{model}/predict`.

use super::AppState;
use super::error::ApiError;
use super::extract::{JsonBody, ModelName, VersionNumber};
use super::outputs::{Computed, Outputs};
use super::state::blocking;
use crate::dataset::{Cell, InputColumn};
use crate::model::{FittedModel, MissingRule, Predictor};
use crate::suggest;
use crate::telemetry::ModelLabel;
use crate::training::{Problem, pointer};
use axum::Json;
use axum::extract::State;
use serde_json::{Map, Value, json};

/// Above so many cells·features a request leaves the async threads: about a millisecond of work.
const INLINE_WORK: usize = 1 << 21;

/// `POST …/{model}/predict`: by the newest version.
pub(super) async fn predict(
    State(state): State<AppState>,
    ModelName(name): ModelName,
    body: JsonBody,
) -> Result<Json<Value>, ApiError> {
    answer(state, name, None, body).await
}

/// `POST …/{model}/versions/{version}/predict`.
pub(super) async fn predict_version(
    State(state): State<AppState>,
    ModelName(name): ModelName,
    VersionNumber(version): VersionNumber,
    body: JsonBody,
) -> Result<Json<Value>, ApiError> {
    answer(state, name, Some(version), body).await
}

async fn answer(
    state: AppState,
    name: String,
    version: Option<u32>,
    JsonBody(body): JsonBody,
) -> Result<Json<Value>, ApiError> {
    let (entry, predictor) = state.load(name, version).await?;
    let request = Request::read(&body, predictor.model(), state.config.max_prediction_rows)?;
    let (outputs, unknown_levels, source) = (request.outputs.clone(), request.unknown_levels, request.source);
    let model = predictor.model();
    let row_work = model.map.operations_per_row() + model.weights.len() + outputs.extra_work(model);
    let work = request.codes.len() * row_work;
    let head = model.head.clone();
    let computed = if work <= INLINE_WORK {
        request.predict(&predictor)
    } else {
        let permit = state.predictions.clone().try_acquire_owned();
        let permit = permit.map_err(|_| ApiError::busy("overloaded", "too many large predictions are running"))?;
        blocking(move || {
            let _permit = permit;
            Ok::<_, ApiError>(request.predict(&predictor))
        })
        .await?
    };
    let values = &computed.values;
    if let Some(row) = values.rows().into_iter().position(|row| row.iter().any(|value| !value.is_finite())) {
        let detail = "an input is so far from the training data that its prediction is not a finite number";
        return Err(invalid(format!("/{source}/{row}"), detail));
    }
    let label = ModelLabel { model: entry.name.clone() };
    state.metrics.predicted_rows.get_or_create(&label).inc_by(values.nrows() as u64);
    if unknown_levels > 0 {
        state.metrics.unknown_levels.get_or_create(&label).inc_by(unknown_levels);
    }
    let predictions = outputs.render(&computed, &head);
    Ok(Json(json!({"model": entry.name, "version": entry.version, "predictions": predictions})))
}

/// A prediction request, decoded against a model.
struct Request {
    /// One row of codes each.
    codes: Vec<Vec<f64>>,
    unknown_levels: u64,
    /// `rows` or `records`.
    source: &'static str,
    outputs: Outputs,
}

impl Request {
    fn read(body: &Value, model: &FittedModel, row_limit: usize) -> Result<Self, ApiError> {
        const KNOWN: [&str; 6] = ["rows", "columns", "records", "outputs", "top_k", "delta"];
        let Some(body) = body.as_object() else {
            return Err(ApiError::malformed("malformed_request", "the body must be a JSON object"));
        };
        if let Some(name) = body.keys().find(|name| !KNOWN.contains(&name.as_str())) {
            let nearest = suggest::nearest(name, KNOWN.into_iter());
            return Err(invalid(pointer("", name), format!("unknown field{nearest}")));
        }
        let outputs = Outputs::read(body, model)?;
        let columns = &model.inputs.encoding.columns;
        let cells = match (body.get("rows"), body.get("records")) {
            (Some(rows), None) => {
                let order = column_order(body.get("columns"), columns)?;
                read_each(rows, "/rows", row_limit, |row, parent| row_cells(row, parent, &order, columns))?
            }
            (None, Some(records)) if !body.contains_key("columns") => {
                read_each(records, "/records", row_limit, |record, parent| record_cells(record, parent, columns))?
            }
            (None, Some(_)) => return Err(invalid("/columns", "goes with rows; records name their own columns")),
            _ => return Err(invalid("", "send either 'rows' or 'records'")),
        };
        let source = if body.contains_key("rows") { "rows" } else { "records" };
        let mut request = Self { codes: Vec::with_capacity(cells.len()), unknown_levels: 0, source, outputs };
        for (index, row) in cells.iter().enumerate() {
            request.push(row, model, &format!("/{source}/{index}"))?;
        }
        Ok(request)
    }

    fn push(&mut self, row: &[Cell], model: &FittedModel, parent: &str) -> Result<(), ApiError> {
        let mut codes = Vec::with_capacity(row.len());
        for (cell, column) in row.iter().zip(&model.inputs.encoding.columns) {
            let place = || pointer(parent, &column.name);
            let code = column.code(cell).map_err(|error| invalid(place(), error.to_string()))?;
            if code.is_nan() && model.missing == MissingRule::Refuse {
                return Err(invalid(place(), "missing, and this model was trained to refuse missing cells"));
            }
            self.unknown_levels += u64::from(column.is_unknown(code));
            codes.push(code);
        }
        self.codes.push(codes);
        Ok(())
    }

    fn predict(&self, predictor: &Predictor) -> Computed {
        let rows: Vec<&[f64]> = self.codes.iter().map(Vec::as_slice).collect();
        self.outputs.compute(predictor, &rows)
    }
}

pub(super) fn invalid(pointer: impl Into<String>, detail: impl Into<String>) -> ApiError {
    ApiError::invalid_field("invalid_prediction_request", pointer, detail)
}

/// For each column of the model, its position in a request row.
fn column_order(named: Option<&Value>, columns: &[InputColumn]) -> Result<Order, ApiError> {
    let Some(named) = named else {
        return Ok(Order { width: columns.len(), positions: (0..columns.len()).collect() });
    };
    let names: Option<Vec<&str>> = named.as_array().map(|names| names.iter().filter_map(Value::as_str).collect());
    let names = names.filter(|names| named.as_array().is_some_and(|all| all.len() == names.len()));
    let names = names.ok_or_else(|| invalid("/columns", "must be a list of texts"))?;
    let mut problems = Vec::new();
    let mut positions = Vec::with_capacity(columns.len());
    for column in columns {
        match names.iter().position(|name| *name == column.name) {
            Some(position) => positions.push(position),
            None => problems.push(Problem {
                pointer: "/columns".into(),
                detail: format!("the model needs column '{}'", column.name),
            }),
        }
    }
    if problems.is_empty() {
        Ok(Order { width: names.len(), positions })
    } else {
        Err(ApiError::invalid("invalid_prediction_request", problems))
    }
}

struct Order {
    width: usize,
    positions: Vec<usize>,
}

fn read_each<'a>(
    list: &'a Value,
    pointer: &str,
    limit: usize,
    read: impl Fn(&'a Value, &str) -> Result<Vec<Cell>, ApiError>,
) -> Result<Vec<Vec<Cell>>, ApiError> {
    let list = list.as_array().ok_or_else(|| invalid(pointer, "must be a list"))?;
    if list.is_empty() {
        return Err(invalid(pointer, "is empty"));
    }
    if list.len() > limit {
        return Err(invalid(pointer, format!("has {} rows; the limit is {limit}", list.len())));
    }
    list.iter().enumerate().map(|(index, item)| read(item, &format!("{pointer}/{index}"))).collect()
}

fn row_cells(row: &Value, parent: &str, order: &Order, columns: &[InputColumn]) -> Result<Vec<Cell>, ApiError> {
    let row = row.as_array().ok_or_else(|| invalid(parent, "must be a list of cells"))?;
    if row.len() != order.width {
        return Err(invalid(parent, format!("has {} cells where {} are expected", row.len(), order.width)));
    }
    let cells = order.positions.iter().zip(columns);
    cells.map(|(&position, column)| cell(&row[position], || pointer(parent, &column.name))).collect()
}

fn record_cells(record: &Value, parent: &str, columns: &[InputColumn]) -> Result<Vec<Cell>, ApiError> {
    let record: &Map<String, Value> = record.as_object().ok_or_else(|| invalid(parent, "must be an object"))?;
    let read = |column: &InputColumn| {
        let value = record.get(&column.name).ok_or_else(|| {
            let nearest = suggest::nearest(&column.name, record.keys().map(String::as_str));
            let detail = format!("column '{}' is not there{nearest}; send null for a missing cell", column.name);
            invalid(parent, detail)
        })?;
        cell(value, || pointer(parent, &column.name))
    };
    columns.iter().map(read).collect()
}

fn cell(value: &Value, pointer: impl Fn() -> String) -> Result<Cell, ApiError> {
    match value {
        Value::Null => Ok(Cell::Missing),
        Value::Bool(value) => Ok(Cell::Boolean(*value)),
        Value::Number(number) => Ok(Cell::Number(number.as_f64().unwrap_or(f64::NAN))),
        Value::String(text) => Ok(Cell::Text(text.clone())),
        Value::Array(_) | Value::Object(_) => Err(invalid(pointer(), "must be a number, a text, a boolean or null")),
    }
}
