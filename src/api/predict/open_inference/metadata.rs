//! Health, server and model metadata, statistics.

use super::response::{datatype, inner_shape};
use crate::api::AppState;
use crate::api::auth::Caller;
use crate::api::http::error::ApiError;
use crate::api::http::extract::VersionedModel;
use crate::dataset::{ColumnKind, InputColumn};
use crate::model::{FittedModel, ModelVersion};
use crate::serving::Output;
use crate::telemetry::{ModelMeters, PredictionStage};
use axum::Json;
use axum::extract::State;
use serde_json::{Value, json};

/// `GET /v2/health/live`.
pub(crate) async fn live() -> Json<Value> {
    Json(json!({"live": true}))
}

/// `GET /v2/health/ready`.
pub(crate) async fn ready(State(state): State<AppState>) -> Result<Json<Value>, ApiError> {
    if state.is_ready() { Ok(Json(json!({"ready": true, "live": true}))) } else { Err(ApiError::draining()) }
}

/// `GET /v2`.
pub(crate) async fn server() -> Json<Value> {
    Json(json!({
        "name": env!("CARGO_PKG_NAME"),
        "version": env!("CARGO_PKG_VERSION"),
        "extensions": ["binary_tensor_data", "classification", "model_repository", "statistics"],
    }))
}

/// `GET /v2/models/{model}/ready` and `GET /v2/models/{model}/versions/{version}/ready`: loads the model if it is not in
/// memory.
pub(crate) async fn model_ready(
    State(state): State<AppState>,
    VersionedModel { name, version }: VersionedModel,
) -> Result<Json<Value>, ApiError> {
    let model = state.load(&name, version).await?;
    Ok(Json(json!({"name": model.entry.name, "ready": true})))
}

/// `GET /v2/models/stats`: the statistics of every version in memory that the caller may see.
pub(crate) async fn stats(State(state): State<AppState>, caller: Caller) -> Json<Value> {
    let mut all = state.model_cache.all();
    all.retain(|model| caller.covers(&model.entry.name));
    let all: Vec<Value> = all.iter().map(|model| statistics(&model.entry, Some(&model.meters))).collect();
    Json(json!({"model_stats": all}))
}

/// `GET /v2/models/{model}/stats` and `GET /v2/models/{model}/versions/{version}/stats`. Does not load the model, which
/// could evict another.
pub(crate) async fn model_stats(
    State(state): State<AppState>,
    VersionedModel { name, version }: VersionedModel,
) -> Result<Json<Value>, ApiError> {
    let entry = state.registry.find(&name, version)?;
    let ready = state.model_cache.ready(&entry)?;
    Ok(Json(json!({"model_stats": [statistics(&entry, ready.as_ref().map(|model| &*model.meters))]})))
}

/// `GET /v2/models/{model}` and `GET /v2/models/{model}/versions/{version}`.
pub(crate) async fn model(
    State(state): State<AppState>,
    VersionedModel { name, version }: VersionedModel,
) -> Result<Json<Value>, ApiError> {
    let model = state.load(&name, version).await?;
    let versions = state.registry.list(Some(&model.entry.name));
    let fitted = model.predictor.model();
    let output = |output: &Output| {
        let mut shape = vec![-1];
        shape.extend(inner_shape(*output, fitted).into_iter().map(|size| i64::try_from(size).unwrap_or(-1)));
        json!({"name": output.name(), "datatype": datatype(*output).name(), "shape": shape})
    };
    Ok(Json(json!({
        "name": model.entry.name,
        "versions": versions.iter().rev().map(|entry| entry.version.to_string()).collect::<Vec<_>>(),
        "platform": "bochner",
        "inputs": inputs(fitted),
        "outputs": Output::of(fitted).iter().map(output).collect::<Vec<_>>(),
    })))
}

/// One matrix if all columns are numeric, else a tensor for each column.
fn inputs(model: &FittedModel) -> Vec<Value> {
    let columns = &model.inputs.encoding.columns;
    if columns.iter().all(|column| column.kind == ColumnKind::Numeric) {
        let names: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
        let parameters = json!({"columns": names});
        return vec![
            json!({"name": "inputs", "datatype": "FP64", "shape": [-1, columns.len()], "parameters": parameters}),
        ];
    }
    let datatype = |kind| match kind {
        ColumnKind::Numeric => "FP64",
        ColumnKind::Boolean => "BOOL",
        ColumnKind::Categorical | ColumnKind::Date | ColumnKind::Datetime | ColumnKind::Text => "BYTES",
    };
    let column = |column: &InputColumn| json!({"name": column.name, "datatype": datatype(column.kind), "shape": [-1]});
    columns.iter().map(column).collect()
}

/// Counts since the version was loaded; zeros if it is not in memory.
fn statistics(entry: &ModelVersion, meters: Option<&ModelMeters>) -> Value {
    let number = |read: fn(&ModelMeters) -> u64| meters.map(read).unwrap_or_default();
    let total = |read: fn(&ModelMeters) -> (u64, u64)| {
        let (count, nanoseconds) = meters.map(read).unwrap_or_default();
        json!({"count": count, "ns": nanoseconds})
    };
    json!({
        "name": entry.name,
        "version": entry.version.to_string(),
        "last_inference": number(ModelMeters::last_answer_ms),
        "inference_count": number(ModelMeters::rows_predicted),
        "execution_count": number(|meters| meters.stage(PredictionStage::Compute).0),
        "inference_stats": {
            "success": total(|meters| meters.successes.get()),
            "fail": total(|meters| meters.failures.get()),
            "queue": total(|meters| meters.stage(PredictionStage::Queue)),
            "compute_input": total(|meters| meters.stage(PredictionStage::Decode)),
            "compute_infer": total(|meters| meters.stage(PredictionStage::Compute)),
            "compute_output": total(|meters| meters.stage(PredictionStage::Encode)),
        },
        "batch_stats": [],
    })
}
