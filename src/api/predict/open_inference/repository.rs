//! The model repository extension: loading and unloading of models.

use crate::api::AppState;
use crate::api::auth::Caller;
use crate::api::http::body::read_whole;
use crate::api::http::error::ApiError;
use crate::api::http::error_code::ErrorCode;
use crate::api::http::extract::{ModelName, read_json};
use crate::api::predict::pipeline::deadline;
use crate::model::{ModelVersion, check_model_name};
use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use serde_json::{Map, Value, json};
use std::sync::Arc;
use std::time::Instant;

/// `POST /v2/repository/index`: every version that the caller may see and its state; with `{"ready": true}` only those that are served.
pub(crate) async fn index(
    State(state): State<AppState>,
    caller: Caller,
    headers: HeaderMap,
    body: Body,
) -> Result<Json<Value>, ApiError> {
    let only_ready = match read_object(&state, &headers, body).await?.get("ready") {
        None => false,
        Some(Value::Bool(ready)) => *ready,
        Some(_) => return Err(ApiError::invalid_parameter("/ready", "must be true or false")),
    };
    let entry = |entry: &Arc<ModelVersion>| {
        let (state, reason) = match (state.model_cache.is_unloaded(&entry.name), state.model_cache.holds(entry)) {
            (true, _) if only_ready => return None,
            (true, _) => ("UNAVAILABLE", "unloaded"),
            (false, true) => ("READY", ""),
            (false, false) => ("READY", "read on the first request"),
        };
        Some(json!({"name": entry.name, "version": entry.version.to_string(), "state": state, "reason": reason}))
    };
    let mut versions = state.registry.list(None);
    versions.retain(|version| caller.covers(&version.name));
    Ok(Json(versions.iter().filter_map(entry).collect()))
}

/// The members of a JSON object; none if the body is empty.
async fn read_object(state: &AppState, headers: &HeaderMap, body: Body) -> Result<Map<String, Value>, ApiError> {
    let deadline = deadline(state, headers, Instant::now())?;
    let bytes = read_whole(state, headers, body, deadline).await?;
    if bytes.is_empty() {
        return Ok(Map::new());
    }
    match read_json(&bytes)? {
        Value::Object(members) => Ok(members),
        _ => Err(ApiError::not_an_object()),
    }
}

/// Refuses unless the configuration lets clients load and unload models.
fn check_control(state: &AppState) -> Result<(), ApiError> {
    if state.config.allow_model_control {
        return Ok(());
    }
    let detail = "models are loaded when they are needed; to let clients load and unload them, start the service with \
                  --allow-model-control";
    Err(ApiError::new(ErrorCode::ModelControlOff, detail))
}

/// `POST /v2/repository/models/{model}/load`: serves the model again and loads its newest version. Parameters, which
/// would load another configuration or other files, are refused.
pub(crate) async fn load(
    State(state): State<AppState>,
    ModelName(name): ModelName,
    headers: HeaderMap,
    body: Body,
) -> Result<(StatusCode, Json<Value>), ApiError> {
    check_control(&state)?;
    check_model_name(&name)?;
    let body = read_object(&state, &headers, body).await?;
    if let Some(parameter) = body.get("parameters").and_then(Value::as_object).and_then(|given| given.keys().next()) {
        let detail = format!("/parameters/{parameter}: a model is loaded as it was trained; send no parameters");
        return Err(ApiError::new(ErrorCode::MalformedRequest, detail));
    }
    state.registry.find(&name, None)?;
    state.model_cache.load(&name);
    state.load(&name, None).await?;
    Ok((StatusCode::OK, Json(json!({"name": name, "state": "READY"}))))
}

/// `POST /v2/repository/models/{model}/unload`: frees its memory, and refuses predictions until it is loaded again.
pub(crate) async fn unload(
    State(state): State<AppState>,
    ModelName(name): ModelName,
    headers: HeaderMap,
    body: Body,
) -> Result<(StatusCode, Json<Value>), ApiError> {
    check_control(&state)?;
    check_model_name(&name)?;
    read_object(&state, &headers, body).await?;
    state.registry.find(&name, None)?;
    state.model_cache.unload(&name);
    Ok((StatusCode::OK, Json(json!({"name": name, "state": "UNAVAILABLE"}))))
}
