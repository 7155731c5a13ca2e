//! What a training would take, without training.

use super::check;
use super::engines::memory_need;
use crate::api::AppState;
use crate::api::auth::Caller;
use crate::api::http::error::ApiError;
use crate::api::http::error_code::ErrorCode;
use crate::api::http::extract::JsonBody;
use crate::api::state::blocking;
use crate::jobs::JobKind;
use crate::training::{SpecLimits, TrainSpec};
use axum::Json;
use axum::extract::State;
use serde_json::{Value, json};

/// `POST /api/v1/jobs/estimate`: a request that `POST /api/v1/jobs` would take, checked in the same way.
pub(crate) async fn show(
    State(state): State<AppState>,
    caller: Caller,
    JsonBody(body): JsonBody,
) -> Result<Json<Value>, ApiError> {
    if let Some(model) = body["model"].as_str() {
        caller.check_model(model)?;
    }
    Ok(Json(blocking(move || estimate(&state, &body)).await?))
}

fn estimate(state: &AppState, body: &Value) -> Result<Value, ApiError> {
    let job = check(state, body)?;
    if job.kind != JobKind::Train {
        let detail = "only a job of type train has an estimate";
        return Err(ApiError::invalid_field(ErrorCode::InvalidJob, "/type", detail));
    }
    let limits = SpecLimits { feature_count: state.config.max_features };
    let spec = TrainSpec::check("/spec", Some(&job.payload), limits)
        .map_err(|problems| ApiError::invalid(ErrorCode::InvalidJob, problems))?;
    let dataset = state.datasets.find(&job.dataset)?;
    let features = if spec.is_exact() { 0 } else { spec.feature_count };
    Ok(json!({
        "model": job.model,
        "dataset": job.dataset,
        "spec": job.payload,
        "training_rows": spec.training_rows(&dataset.schema),
        "features": features,
        "memory_bytes": memory_need(&spec, &dataset, state.config.training_threads),
        "memory_limit_bytes": state.config.training_memory.0,
    }))
}
