//! The model repository extension.

use super::super::AppState;
use super::super::error::ApiError;
use super::super::extract::ModelName;
use crate::model::check_model_name;
use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::http::StatusCode;
use serde_json::{Value, json};

/// `POST /v2/repository/index`: every version, and whether it is served; with `{"ready": true}` only those that are.
pub(in crate::api) async fn index(State(state): State<AppState>, body: Body) -> Result<Json<Value>, ApiError> {
    let only_ready = only_ready(body).await?;
    let entry = |entry: &std::sync::Arc<crate::model::ModelVersion>| {
        let (state, reason) = match (state.shelf.is_unloaded(&entry.name), state.shelf.holds(entry)) {
            (true, _) if only_ready => return None,
            (true, _) => ("UNAVAILABLE", "unloaded"),
            (false, true) => ("READY", ""),
            (false, false) => ("READY", "read when first asked for"),
        };
        Some(json!({"name": entry.name, "version": entry.version.to_string(), "state": state, "reason": reason}))
    };
    Ok(Json(state.registry.list(None).iter().filter_map(entry).collect()))
}

/// The one member that the protocol has here; the body may be empty.
async fn only_ready(body: Body) -> Result<bool, ApiError> {
    const LARGEST: usize = 1 << 16;
    let bytes = axum::body::to_bytes(body, LARGEST).await.map_err(|_| ApiError::too_large(LARGEST as u64))?;
    if bytes.is_empty() {
        return Ok(false);
    }
    let body: Value = serde_json::from_slice(&bytes)
        .map_err(|error| ApiError::malformed("malformed_json", format!("not JSON: {error}")))?;
    match body.get("ready") {
        None => Ok(false),
        Some(ready) => ready
            .as_bool()
            .ok_or_else(|| ApiError::invalid_field("invalid_parameter", "/ready", "must be true or false")),
    }
}

/// `POST /v2/repository/models/{model}/load`: served again, and its newest version made ready. The body may hold
/// parameters, of which there are none here.
pub(in crate::api) async fn load(
    State(state): State<AppState>,
    ModelName(name): ModelName,
    _: Body,
) -> Result<(StatusCode, Json<Value>), ApiError> {
    check_model_name(&name)?;
    state.registry.find(&name, None)?;
    state.shelf.load(&name);
    state.load(&name, None).await?;
    Ok((StatusCode::OK, Json(json!({"name": name, "state": "READY"}))))
}

/// `POST /v2/repository/models/{model}/unload`: out of memory, and not served until it is loaded.
pub(in crate::api) async fn unload(
    State(state): State<AppState>,
    ModelName(name): ModelName,
    _: Body,
) -> Result<(StatusCode, Json<Value>), ApiError> {
    check_model_name(&name)?;
    state.registry.find(&name, None)?;
    state.shelf.unload(&name);
    Ok((StatusCode::OK, Json(json!({"name": name, "state": "UNAVAILABLE"}))))
}
