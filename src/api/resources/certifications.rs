//! Jobs of type `certify`: measure for an existing model what training left out.

use super::jobs::{named_version, refuse_too_large, refuse_unknown, required_text, stored_spec};
use crate::api::AppState;
use crate::api::http::error::ApiError;
use crate::api::http::error_code::ErrorCode;
use crate::api::state::blocking;
use crate::dataset::DatasetError;
use crate::jobs::{JobEngine, JobKind, NewJob};
use crate::serving::ReadyModel;
use crate::theory::RowAccess;
use crate::training::{LARGEST_EXACT_ROWS, estimate_certification};
use serde_json::{Map, Value, json};

/// Whether a certify job can read the rows that a model was trained on.
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
        Ok(dataset) if dataset.location.is_some() => Ok(RowAccess::Elsewhere),
        other => other.map(|_| RowAccess::Kept),
    });
    found.await
}

/// The request as a job, after all checks that are possible before it runs.
pub(crate) fn check(state: &AppState, body: &Map<String, Value>) -> Result<NewJob, ApiError> {
    let mut problems = refuse_unknown(body, &["type", "model", "version"]);
    let name = required_text(body, "model", &mut problems);
    let version = named_version(body, &mut problems);
    if !problems.is_empty() {
        return Err(ApiError::invalid(ErrorCode::InvalidJob, problems));
    }
    let entry = state.registry.find(name, version)?;
    let ready = state.model_cache.get(&entry)?;
    let model = ready.predictor.model();
    let report = &model.report;
    let conflict = |detail: String| Err(ApiError::new(ErrorCode::ModelNotCertifiable, detail));
    if model.is_exact() {
        return conflict("the model is the exact kernel method itself; there is nothing to compare it with".into());
    }
    if report.base_version.is_some() {
        let detail = "the model was updated, and the datasets of its earlier rows are not known; train it on all rows";
        return conflict(detail.into());
    }
    if report.training_rows as u64 > LARGEST_EXACT_ROWS {
        let rows = report.training_rows;
        return conflict(format!(
            "certification needs at most {LARGEST_EXACT_ROWS} training rows; the model has {rows}"
        ));
    }
    let dataset = state.datasets.find(&entry.dataset)?;
    if let Err(error) = dataset.check_stored() {
        return conflict(error.to_string());
    }
    let spec = stored_spec(model)?;
    let need = estimate_certification(&spec, &dataset.schema, state.config.training_threads);
    refuse_too_large(state, need, "the exact solve", "certify a model with fewer training rows")?;
    Ok(NewJob {
        kind: JobKind::Certify,
        engine: JobEngine::Local,
        model: entry.name.clone(),
        dataset: dataset.id,
        payload: json!({"version": entry.version}),
        client: String::new(),
        idempotency_key: None,
        fingerprint: String::new(),
        trace_parent: None,
    })
}
