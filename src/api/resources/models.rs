//! `/api/v1/models`.

/// What requests were about.
pub(crate) mod drift;

/// Sorted, in pages.
pub(crate) mod listing;

use crate::api::AppState;
use crate::api::http::error::ApiError;
use crate::api::http::extract::{ModelName, VersionNumber, VersionedModel};
use crate::api::state::blocking;
use crate::model::{ModelVersion, RegistryError, ScoresByVersion};
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde_json::{Value, json};
use std::sync::Arc;

/// `GET …/{model}`: the newest version, or that of the alias, in full, and a list of all versions.
pub(crate) async fn show(State(state): State<AppState>, ModelName(name): ModelName) -> Result<Json<Value>, ApiError> {
    let entry = state.registry.find(&name, None)?;
    let (registry, name) = (state.registry.clone(), entry.name.clone());
    let scores = blocking(move || registry.scores(Some(&name))).await?;
    let mut body = summary(&state, &state.registry.list(Some(&entry.name)), &scores);
    body["latest"] = describe(&state, entry).await?;
    Ok(Json(body))
}

/// `GET …/{model}/versions/{version}`.
pub(crate) async fn show_version(
    State(state): State<AppState>,
    ModelName(name): ModelName,
    VersionNumber(version): VersionNumber,
) -> Result<Json<Value>, ApiError> {
    let entry = state.registry.find(&name, Some(version))?;
    Ok(Json(describe(&state, entry).await?))
}

/// `DELETE …/{model}`, which deletes all versions, and `DELETE …/{model}/versions/{version}`.
pub(crate) async fn delete(
    State(state): State<AppState>,
    VersionedModel { name, version }: VersionedModel,
) -> Result<StatusCode, ApiError> {
    blocking(move || -> Result<_, RegistryError> {
        for removed in state.registry.delete(&name, version)? {
            state.model_cache.forget(&removed);
        }
        if state.registry.list(Some(&name)).is_empty() {
            state.model_cache.load(&name); // the next model of this name is not unloaded
        }
        Ok(())
    })
    .await?;
    Ok(StatusCode::NO_CONTENT)
}

/// The name, the aliases and the versions of a model.
fn summary(state: &AppState, versions: &[Arc<ModelVersion>], scores: &ScoresByVersion) -> Value {
    let name = versions.first().map(|version| version.name.as_str()).unwrap_or_default();
    json!({
        "name": name,
        "aliases": state.registry.aliases(name),
        "versions": versions.iter().map(|version| brief(version, scores)).collect::<Vec<_>>(),
    })
}

/// A version as the registry has it, with its scores.
fn brief(version: &ModelVersion, scores: &ScoresByVersion) -> Value {
    let mut brief = registered(version);
    brief["scores"] = json!(scores.get(&(version.name.clone(), version.version)).cloned().unwrap_or_default());
    brief
}

/// A version as the registry has it.
fn registered(version: &ModelVersion) -> Value {
    json!({
        "version": version.version,
        "dataset": version.dataset,
        "created_at": version.created_at,
        "artifact_bytes": version.bytes,
        "artifact_sha256": version.sha256,
        "imported": version.imported,
    })
}

/// A version with the description of its model.
pub(crate) async fn describe(state: &AppState, version: Arc<ModelVersion>) -> Result<Value, ApiError> {
    let registry = state.registry.clone();
    let entry = Arc::clone(&version);
    let description = blocking(move || registry.description(&entry)).await?;
    let description: Value = serde_json::from_str(&description).unwrap_or_default();
    let mut body = json!({"model": version.name});
    if let (Value::Object(body), Value::Object(brief), Value::Object(description)) =
        (&mut body, registered(&version), description)
    {
        body.extend(brief);
        body.extend(description);
    }
    Ok(body)
}
