//! Jobs of type `certify`: what training left out is measured for a model that is there.

use super::jobs::{named_version, refuse_too_large, refuse_unknown, required_text};
use crate::api::AppState;
use crate::api::http::error::ApiError;
use crate::api::state::blocking;
use crate::dataset::DatasetError;
use crate::jobs::{JobKind, NewJob};
use crate::serving::ReadyModel;
use crate::theory::RowAccess;
use crate::training::{LARGEST_EXACT_ROWS, SpecLimits, TrainSpec, estimate_certification};
use axum::http::StatusCode;
use serde_json::{Map, Value, json};

/// Whether a certify job could read the rows that a model was trained on.
pub(crate) async fn row_access(state: &AppState, ready: &ReadyModel) -> Result<RowAccess, ApiError> {
    let report = &ready.predictor.model().report;
    if report.base_version.is_some() {
        return Ok(RowAccess::Scattered);
    }
    if report.training_rows as u64 > LARGEST_EXACT_ROWS {
        return Ok(RowAccess::TooMany);
    }
    let (datasets, id) = (state.datasets.clone(), ready.entry.dataset.clone());
    let found = blocking(move || match datasets.find(&id) {
        Err(DatasetError::NotFound { .. }) => Ok(RowAccess::Gone),
        other => other.map(|_| RowAccess::Kept),
    });
    found.await
}

/// The request as a job, with everything that can be known before it runs checked.
pub(crate) fn check(state: &AppState, body: &Map<String, Value>) -> Result<NewJob, ApiError> {
    let mut problems = refuse_unknown(body, &["type", "model", "version"]);
    let name = required_text(body, "model", &mut problems);
    let version = named_version(body, &mut problems);
    if !problems.is_empty() {
        return Err(ApiError::invalid("invalid_job", problems));
    }
    let entry = state.registry.find(name, version)?;
    let ready = state.model_cache.get(&entry)?;
    let model = ready.predictor.model();
    let report = &model.report;
    let conflict = |detail: String| Err(ApiError::new(StatusCode::CONFLICT, "model_not_certifiable", detail));
    if model.is_exact() {
        return conflict("it is the exact kernel method itself: there is nothing to compare it with".into());
    }
    if report.base_version.is_some() {
        return conflict("its rows come from several data sets, of which one alone is known".into());
    }
    if report.training_rows as u64 > LARGEST_EXACT_ROWS {
        let rows = report.training_rows;
        return conflict(format!("the exact solve takes up to {LARGEST_EXACT_ROWS} rows, and it has {rows}"));
    }
    let dataset = state.datasets.find(&entry.dataset)?;
    let raw: Value = serde_json::from_str(&model.spec).unwrap_or_default();
    let limits = SpecLimits { feature_count: model.map.feature_count() };
    let spec = TrainSpec::check("", Some(&raw), limits).map_err(|found| ApiError::invalid("invalid_job", found))?;
    let need = estimate_certification(&spec, &dataset.schema, state.config.training_threads);
    refuse_too_large(state, need, "the exact solve", "a model of fewer training rows takes less")?;
    Ok(NewJob {
        kind: JobKind::Certify,
        model: entry.name.clone(),
        dataset: dataset.id,
        payload: json!({"version": entry.version}),
        idempotency_key: None,
        fingerprint: String::new(),
    })
}
