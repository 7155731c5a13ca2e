//! Health, metrics, version, limits, and the OpenAPI document.

use crate::api::AppState;
use crate::api::http::error::ApiError;
use crate::api::state::blocking;
use crate::config::memory_limit;
use crate::jobs::{JobError, JobStatus};
use crate::telemetry::StatusLabel;
use crate::theory;
use crate::training::Learner;
use axum::Json;
use axum::extract::State;
use axum::http::header;
use axum::response::IntoResponse;
use serde_json::{Value, json};

const OPENAPI: &str = include_str!("../../../openapi/openapi.yaml");

/// `GET /livez`: succeeds while the process answers.
pub(crate) async fn livez() -> Json<Value> {
    Json(json!({"live": true}))
}

/// `GET /readyz`: succeeds until the service begins to shut down.
pub(crate) async fn readyz(State(state): State<AppState>) -> Result<Json<Value>, ApiError> {
    if state.is_ready() { Ok(Json(json!({"ready": true}))) } else { Err(ApiError::draining()) }
}

/// `GET /version`.
pub(crate) async fn version() -> Json<Value> {
    Json(json!({"name": env!("CARGO_PKG_NAME"), "version": env!("CARGO_PKG_VERSION")}))
}

/// `GET /metrics`.
pub(crate) async fn metrics(State(state): State<AppState>) -> Result<impl IntoResponse, ApiError> {
    const MEDIA_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    let text = blocking(move || -> Result<_, JobError> {
        for status in JobStatus::ALL {
            let count = i64::try_from(state.jobs.count(status)?).unwrap_or(i64::MAX);
            state.metrics.jobs.get_or_create(&StatusLabel { status: status.name() }).set(count);
        }
        Ok(state.metrics.render())
    })
    .await?;
    Ok(([(header::CONTENT_TYPE, MEDIA_TYPE)], text))
}

/// `GET /api/v1/info`: the limits in force and what can be requested.
pub(crate) async fn info(State(state): State<AppState>) -> Json<Value> {
    let (config, connections) = (&state.config, state.connection_limits());
    Json(json!({
        "name": env!("CARGO_PKG_NAME"),
        "version": env!("CARGO_PKG_VERSION"),
        "limits": {
            "upload_bytes": config.max_upload.0,
            "concurrent_uploads": config.max_concurrent_uploads,
            "columns": config.max_columns,
            "levels": config.max_levels,
            "request_bytes": config.max_request.0,
            "request_memory_bytes": config.max_request_memory.0,
            "answer_memory_bytes": config.max_answer_memory.0,
            "prediction_rows": config.max_prediction_rows,
            "answer_numbers": config.max_answer_numbers,
            "table_rows": config.max_table_rows,
            "table_answer_bytes": config.max_table_answer.0,
            "concurrent_table_predictions": config.max_concurrent_predictions,
            "prediction_timeout_ms": config.prediction_timeout_ms,
            "prediction_threads": config.prediction_threads,
            "batch_rows": config.max_batch_rows,
            "queue_delay_us": config.max_queue_delay_us,
            "queue_rows": config.max_queue_rows,
            "bypass_rows": config.bypass_rows,
            "features": config.max_features,
            "artifact_bytes": config.max_artifact.0,
            "queued_jobs": config.max_queued_jobs,
            "training_workers": config.training_workers,
            "training_threads": config.training_threads,
            "memory_bytes": memory_limit(),
            "training_memory_bytes": config.training_memory.0,
            "model_memory_bytes": config.model_memory.0,
            "connections": connections.total,
            "connections_per_address": connections.per_address,
            "head_seconds": config.head_timeout_seconds,
            "connection_idle_seconds": config.connection_idle_seconds,
        },
        "offers": {
            "learners": Learner::names(),
            "kernels": ["gaussian", "laplace", "matern", "cauchy", "angular", "spline", "linear"],
            "maps": ["pair", "phase", "sign", "spline", "linear"],
            "samplings": ["plain", "orthogonal", "structured", "quasi_monte_carlo"],
            "guarantees": theory::IDS,
        },
        "authentication": false,
    }))
}

/// `GET /openapi.yaml`.
pub(crate) async fn openapi() -> impl IntoResponse {
    ([(header::CONTENT_TYPE, "application/yaml")], OPENAPI)
}
