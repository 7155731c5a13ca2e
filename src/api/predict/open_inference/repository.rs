//! The model repository extension.

use crate::api::AppState;
use crate::api::http::body::read_whole;
use crate::api::http::error::ApiError;
use crate::api::http::extract::{ModelName, read_json};
use crate::api::predict::pipeline::deadline;
use crate::model::check_model_name;
use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use serde_json::{Map, Value, json};
use std::time::Instant;

/// `POST /v2/repository/index`: every version, and whether it is served; with `{"ready": true}` only those that are.
pub(crate) async fn index(
    State(state): State<AppState>,
    headers: HeaderMap,
    body: Body,
) -> Result<Json<Value>, ApiError> {
    let only_ready = match read_object(&state, &headers, body).await?.get("ready") {
        None => false,
        Some(Value::Bool(ready)) => *ready,
        Some(_) => return Err(ApiError::invalid_field("invalid_parameter", "/ready", "must be true or false")),
    };
    let entry = |entry: &std::sync::Arc<crate::model::ModelVersion>| {
        let (state, reason) = match (state.model_cache.is_unloaded(&entry.name), state.model_cache.holds(entry)) {
            (true, _) if only_ready => return None,
            (true, _) => ("UNAVAILABLE", "unloaded"),
            (false, true) => ("READY", ""),
            (false, false) => ("READY", "read when first asked for"),
        };
        Some(json!({"name": entry.name, "version": entry.version.to_string(), "state": state, "reason": reason}))
    };
    Ok(Json(state.registry.list(None).iter().filter_map(entry).collect()))
}

/// The members of a body, which may be empty.
async fn read_object(state: &AppState, headers: &HeaderMap, body: Body) -> Result<Map<String, Value>, ApiError> {
    let deadline = deadline(state, headers, Instant::now())?;
    let bytes = read_whole(state, headers, body, deadline).await?;
    if bytes.is_empty() {
        return Ok(Map::new());
    }
    match read_json(&bytes)? {
        Value::Object(members) => Ok(members),
        _ => Err(ApiError::malformed("malformed_request", "the body must be a JSON object")),
    }
}

/// `POST /v2/repository/models/{model}/load`: served again, and its newest version made ready. Another configuration or
/// other files cannot be loaded in its place.
pub(crate) async fn load(
    State(state): State<AppState>,
    ModelName(name): ModelName,
    headers: HeaderMap,
    body: Body,
) -> Result<(StatusCode, Json<Value>), ApiError> {
    check_model_name(&name)?;
    let asked = read_object(&state, &headers, body).await?;
    if let Some(parameter) = asked.get("parameters").and_then(Value::as_object).and_then(|given| given.keys().next()) {
        let detail = format!("/parameters/{parameter}: a model is loaded as it was trained; there are no parameters");
        return Err(ApiError::malformed("malformed_request", detail));
    }
    state.registry.find(&name, None)?;
    state.model_cache.load(&name);
    state.load(&name, None).await?;
    Ok((StatusCode::OK, Json(json!({"name": name, "state": "READY"}))))
}

/// `POST /v2/repository/models/{model}/unload`: out of memory, and not served until it is loaded.
pub(crate) async fn unload(
    State(state): State<AppState>,
    ModelName(name): ModelName,
    headers: HeaderMap,
    body: Body,
) -> Result<(StatusCode, Json<Value>), ApiError> {
    check_model_name(&name)?;
    read_object(&state, &headers, body).await?;
    state.registry.find(&name, None)?;
    state.model_cache.unload(&name);
    Ok((StatusCode::OK, Json(json!({"name": name, "state": "UNAVAILABLE"}))))
}
