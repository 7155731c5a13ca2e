//! `/api/v1/models/{model}/guarantees`.

use super::AppState;
use super::error::ApiError;
use super::extract::{ModelName, QueryFields, VersionNumber};
use crate::theory;
use axum::Json;
use axum::extract::State;
use serde_json::{Value, json};

/// `GET …/{model}/guarantees`: of the newest version.
pub(super) async fn show(
    State(state): State<AppState>,
    ModelName(name): ModelName,
    query: QueryFields,
) -> Result<Json<Value>, ApiError> {
    guarantees(state, name, None, query).await
}

/// `GET …/{model}/versions/{version}/guarantees`.
pub(super) async fn show_version(
    State(state): State<AppState>,
    ModelName(name): ModelName,
    VersionNumber(version): VersionNumber,
    query: QueryFields,
) -> Result<Json<Value>, ApiError> {
    guarantees(state, name, Some(version), query).await
}

/// Closed forms, worked out anew for any δ from what the model keeps.
async fn guarantees(
    state: AppState,
    name: String,
    version: Option<u32>,
    query: QueryFields,
) -> Result<Json<Value>, ApiError> {
    let delta: Option<f64> = query.only(&["delta"])?.parsed("delta", "a number")?;
    if delta.is_some_and(|delta| !(delta > 0.0 && delta < 1.0)) {
        return Err(ApiError::invalid_field("invalid_parameter", "?delta", "must lie between 0 and 1"));
    }
    let ready = state.load(&name, version).await?;
    let (entry, model) = (&ready.entry, ready.predictor.model());
    let delta = delta.unwrap_or(model.failure_probability);
    let guarantees = model.evidence.as_ref().map(|evidence| theory::guarantees(evidence, delta));
    let numbers = model.report.numbers();
    let evidence = model.evidence.as_ref();
    let kernel = evidence.and_then(|evidence| evidence.kernel.as_ref());
    Ok(Json(json!({
        "model": entry.name,
        "version": entry.version,
        "delta": delta,
        "guarantees": guarantees.unwrap_or_default(),
        "measured": {
            "exact_krr_error": model.measured.exact_krr_error,
            "exact_krr": model.measured.exact_krr,
            "jackknife_error": evidence.and_then(|evidence| evidence.estimates.jackknife),
            "spectral_delta": kernel.and_then(|kernel| kernel.spectral_delta),
            "kernel_dimension": kernel.map(|kernel| kernel.dimension),
            "validation_mse": numbers.map(|errors| errors.validation_mse),
            "validation_r2": numbers.map(|errors| errors.validation_r2),
            "validation_accuracy": model.report.labels().map(|errors| errors.validation_accuracy),
        },
    })))
}
