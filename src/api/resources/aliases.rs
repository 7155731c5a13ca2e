//! `/api/v1/models/{model}/aliases`.

use crate::api::AppState;
use crate::api::http::error::ApiError;
use crate::api::http::error_code::ErrorCode;
use crate::api::http::extract::{AliasName, JsonBody, ModelName, whole_number};
use crate::api::state::blocking;
use crate::model::check_model_name;
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde_json::json;

/// `PUT …/{alias}`: points an alias to a version, atomically. Requests that have begun keep the old version.
pub(crate) async fn point(
    State(state): State<AppState>,
    ModelName(name): ModelName,
    AliasName(alias): AliasName,
    JsonBody(body): JsonBody,
) -> Result<Response, ApiError> {
    check_model_name(&name)?;
    let only_version = body.as_object().is_some_and(|body| body.keys().all(|key| key == "version"));
    let version = whole_number(&body["version"]);
    let Some(version) = version.filter(|_| only_version) else {
        let detail = "must be a whole number, and the only field";
        return Err(ApiError::invalid_field(ErrorCode::InvalidAlias, "/version", detail));
    };
    state.registry.find(&name, None)?; // a missing model is reported as such, not as a missing version
    // Loaded before any request can use the alias.
    let entry = state.registry.find(&name, Some(version))?;
    let answer = json!({"model": name, "alias": alias, "version": version});
    let is_new = blocking(move || -> Result<bool, ApiError> {
        state.model_cache.get(&entry)?;
        Ok(state.registry.point(&name, &alias, version)?)
    })
    .await?;
    Ok((if is_new { StatusCode::CREATED } else { StatusCode::OK }, Json(answer)).into_response())
}

/// `DELETE …/{alias}`: the version stays.
pub(crate) async fn delete(
    State(state): State<AppState>,
    ModelName(name): ModelName,
    AliasName(alias): AliasName,
) -> Result<StatusCode, ApiError> {
    check_model_name(&name)?;
    blocking(move || state.registry.remove_alias(&name, &alias)).await?;
    Ok(StatusCode::NO_CONTENT)
}
