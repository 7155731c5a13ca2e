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

/// `POST /v2/repository/index`: every version, and whether it is served.
pub(in crate::api) async fn index(State(state): State<AppState>) -> Json<Value> {
    let entry = |entry: &std::sync::Arc<crate::model::ModelVersion>| {
        let (state, reason) = match (state.shelf.is_unloaded(&entry.name), state.shelf.holds(entry)) {
            (true, _) => ("UNAVAILABLE", "unloaded"),
            (false, true) => ("READY", ""),
            (false, false) => ("READY", "read when first asked for"),
        };
        json!({"name": entry.name, "version": entry.version.to_string(), "state": state, "reason": reason})
    };
    Json(state.registry.list(None).iter().map(entry).collect())
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
