//! `/api/v1/models`.

use super::AppState;
use super::error::ApiError;
use super::extract::{ModelName, VersionNumber};
use super::state::blocking;
use crate::model::{ModelVersion, RegistryError};
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde_json::{Value, json};

/// `GET`: every model with its versions, newest first.
pub(super) async fn list(State(state): State<AppState>) -> Result<Json<Value>, ApiError> {
    let versions = blocking(move || state.registry.list(None)).await?;
    let models: Vec<Value> = versions.chunk_by(|left, right| left.name == right.name).map(summary).collect();
    Ok(Json(json!({"models": models})))
}

/// `GET …/{model}`: its newest version in full, and the list of all.
pub(super) async fn show(State(state): State<AppState>, ModelName(name): ModelName) -> Result<Json<Value>, ApiError> {
    let versions = blocking(move || -> Result<_, RegistryError> {
        state.registry.find(&name, None)?;
        state.registry.list(Some(&name))
    })
    .await?;
    let mut body = summary(&versions);
    body["latest"] = versions.first().map(render).unwrap_or_default();
    Ok(Json(body))
}

/// `GET …/{model}/versions/{version}`.
pub(super) async fn show_version(
    State(state): State<AppState>,
    ModelName(name): ModelName,
    VersionNumber(version): VersionNumber,
) -> Result<Json<Value>, ApiError> {
    Ok(Json(render(&blocking(move || state.registry.find(&name, Some(version))).await?)))
}

/// `DELETE …/{model}`: all versions.
pub(super) async fn delete(State(state): State<AppState>, ModelName(name): ModelName) -> Result<StatusCode, ApiError> {
    remove(state, name, None).await
}

/// `DELETE …/{model}/versions/{version}`.
pub(super) async fn delete_version(
    State(state): State<AppState>,
    ModelName(name): ModelName,
    VersionNumber(version): VersionNumber,
) -> Result<StatusCode, ApiError> {
    remove(state, name, Some(version)).await
}

async fn remove(state: AppState, name: String, version: Option<u32>) -> Result<StatusCode, ApiError> {
    blocking(move || -> Result<_, RegistryError> {
        for removed in state.registry.delete(&name, version)? {
            state.shelf.forget(&removed.artifact);
        }
        Ok(())
    })
    .await?;
    Ok(StatusCode::NO_CONTENT)
}

/// One model: its name and what its versions are.
fn summary(versions: &[ModelVersion]) -> Value {
    let brief = |version: &ModelVersion| {
        json!({
            "version": version.version,
            "dataset": version.dataset,
            "created_at": version.created_at,
            "artifact_bytes": version.bytes,
            "artifact_sha256": version.sha256,
        })
    };
    json!({
        "name": versions.first().map(|version| &version.name),
        "versions": versions.iter().map(brief).collect::<Vec<_>>(),
    })
}

fn render(version: &ModelVersion) -> Value {
    let mut body = json!({
        "model": version.name,
        "version": version.version,
        "dataset": version.dataset,
        "created_at": version.created_at,
        "artifact_bytes": version.bytes,
        "artifact_sha256": version.sha256,
    });
    let description: Value = serde_json::from_str(&version.description).unwrap_or_default();
    if let (Value::Object(body), Value::Object(description)) = (&mut body, description) {
        body.extend(description);
    }
    body
}
