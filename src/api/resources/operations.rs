//! Health, metrics, version, limits, and the OpenAPI document.

use crate::api::AppState;
use crate::api::auth::Caller;
use crate::api::http::connections::MAX_HEAD;
use crate::api::http::error::ApiError;
use crate::api::state::blocking;
use crate::config::{memory_limit, share_of_one};
use crate::dataset::COMPRESSION_RATIO;
use crate::jobs::{JobError, JobStatus};
use crate::telemetry::StatusLabel;
use crate::theory;
use crate::training::{Learner, samplings};
use axum::Json;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::header;
use axum::response::IntoResponse;
use serde_json::{Value, json};
use std::sync::LazyLock;
use std::time::SystemTime;

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
        let readings = &state.metrics.readings;
        readings.set_oldest_queued(state.jobs.oldest_queued()?.map_or(0.0, |since| age(&since)));
        if let Ok(disk) = state.registry.disk().usage() {
            readings.set_disk(disk.used, disk.free, disk.room());
        }
        readings.read_process();
        Ok(state.metrics.render())
    })
    .await?;
    Ok(([(header::CONTENT_TYPE, MEDIA_TYPE)], text))
}

/// Seconds since a moment in RFC 3339.
fn age(since: &str) -> f64 {
    let age = humantime::parse_rfc3339(since).ok().and_then(|since| SystemTime::now().duration_since(since).ok());
    age.unwrap_or_default().as_secs_f64()
}

/// `GET /api/v1/info`: the limits in force and what can be requested.
pub(crate) async fn info(State(state): State<AppState>, caller: Caller) -> Result<Json<Value>, ApiError> {
    let disk = state.registry.disk().clone();
    let disk = blocking(move || disk.usage()).await?;
    Ok(Json(json!({
        "name": env!("CARGO_PKG_NAME"),
        "version": env!("CARGO_PKG_VERSION"),
        "limits": limits(&state, disk.budget, disk.low_water),
        "offers": {
            "learners": Learner::names(),
            "kernels": ["gaussian", "laplace", "matern", "cauchy", "angular", "spline", "linear"],
            "maps": ["pair", "phase", "sign", "spline", "linear"],
            "samplings": samplings(),
            "guarantees": theory::IDS,
        },
        "disk": {"used_bytes": disk.used, "free_bytes": disk.free, "room_bytes": disk.room(), "low": disk.is_low()},
        "authentication": state.keys.is_some(),
        "key": caller.describe_key(),
    })))
}

/// The limits in force, with those of the disk in bytes.
fn limits(state: &AppState, disk: Option<u64>, free_disk: u64) -> Value {
    let (config, connections) = (&state.config, state.connection_limits());
    let mut limits = json!({
        "upload_bytes": config.max_upload.0,
        "concurrent_uploads": config.max_concurrent_uploads,
        "concurrent_uploads_per_client": share_of_one(config.max_concurrent_uploads),
        "compression_ratio": COMPRESSION_RATIO,
        "upload_pause_seconds": config.upload_idle_seconds,
        "columns": config.max_columns,
        "cells": config.max_cells,
        "levels": config.max_levels,
        "request_bytes": config.max_request.0,
        "request_memory_bytes": config.max_request_memory.0,
        "answer_memory_bytes": config.max_answer_memory.0,
        "prediction_rows": config.max_prediction_rows,
        "answer_numbers": config.max_answer_numbers,
        "table_rows": config.max_table_rows,
        "table_answer_bytes": config.max_table_answer.0,
        "concurrent_table_predictions": config.max_concurrent_predictions,
        "concurrent_table_predictions_per_client": share_of_one(config.max_concurrent_predictions),
        "prediction_timeout_ms": config.prediction_timeout_ms,
        "prediction_threads": config.prediction_threads,
        "batch_rows": config.max_batch_rows,
        "queue_delay_us": config.max_queue_delay_us,
        "queue_rows": config.max_queue_rows,
        "bypass_rows": config.bypass_rows,
    });
    let of_models = json!({
        "features": config.max_features,
        "artifact_bytes": config.max_artifact.0,
        "queued_jobs": config.max_queued_jobs,
        "queued_jobs_per_client": config.queued_jobs_per_client(),
        "requests_per_second": config.access.max_requests_per_second,
        "job_seconds": config.max_job_seconds,
        "training_workers": config.training_workers,
        "training_threads": config.training_threads,
        "memory_bytes": memory_limit(),
        "training_memory_bytes": config.training_memory.0,
        "model_memory_bytes": config.model_memory.0,
        "disk_bytes": disk,
        "free_disk_bytes": free_disk,
        "kept_jobs": config.keep_jobs,
        "kept_job_days": config.keep_job_days,
        "kept_versions": config.keep_versions,
        "kept_version_days": config.keep_version_days,
        "metric_versions": config.max_metric_versions,
        "connections": connections.total,
        "connections_per_address": connections.per_address,
        "head_bytes": MAX_HEAD,
        "head_seconds": config.head_timeout_seconds,
        "connection_idle_seconds": config.connection_idle_seconds,
    });
    if let (Some(limits), Value::Object(rest)) = (limits.as_object_mut(), of_models) {
        limits.extend(rest);
    }
    limits
}

/// `GET /openapi.yaml`.
pub(crate) async fn openapi() -> impl IntoResponse {
    ([(header::CONTENT_TYPE, "application/yaml")], OPENAPI)
}

/// `GET /openapi.json`: the same document for tools that read no YAML, converted by the first request for it.
pub(crate) async fn openapi_json() -> Result<impl IntoResponse, ApiError> {
    static CONVERTED: LazyLock<Result<Bytes, String>> = LazyLock::new(|| {
        let document: Value = serde_yaml_ng::from_str(OPENAPI).map_err(|error| error.to_string())?;
        Ok(document.to_string().into())
    });
    let text = CONVERTED.clone().map_err(|error| ApiError::internal(format!("the contract is not YAML: {error}")))?;
    Ok(([(header::CONTENT_TYPE, "application/json")], text))
}
