//! `/api/v1/models/{model}/update`: jobs that add rows to a model.

use super::jobs::{accept, canonical, named_version, refuse_too_large, refuse_unknown, required_text, stored_spec};
use crate::api::AppState;
use crate::api::auth::Caller;
use crate::api::http::error::ApiError;
use crate::api::http::error_code::ErrorCode;
use crate::api::http::extract::{JsonBody, ModelName};
use crate::jobs::{JobEngine, JobKind, NewJob};
use crate::request::problem::Problem;
use crate::training::{alignment, estimate_memory};
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use serde_json::{Value, json};

/// `POST`: a job that adds the rows of a dataset to the statistics that the model stores, and makes a new version.
pub(crate) async fn submit(
    State(state): State<AppState>,
    caller: Caller,
    ModelName(name): ModelName,
    headers: HeaderMap,
    JsonBody(body): JsonBody,
) -> Result<Response, ApiError> {
    let fingerprint = format!("update {name} {}", canonical(&body));
    let checker = state.clone();
    accept(state, caller.client(), &headers, fingerprint, move || check(&checker, &name, &body)).await
}

/// The request as a job, after all checks that are possible before it runs.
fn check(state: &AppState, name: &str, body: &Value) -> Result<NewJob, ApiError> {
    let Some(body) = body.as_object() else {
        return Err(ApiError::not_an_object());
    };
    let mut problems = refuse_unknown(body, &["dataset", "version"]);
    let dataset = required_text(body, "dataset", &mut problems);
    let version = named_version(body, &mut problems);
    if !problems.is_empty() {
        return Err(ApiError::invalid(ErrorCode::InvalidJob, problems));
    }
    let dataset = state.datasets.find(dataset)?;
    dataset.check_stored()?;
    let entry = state.registry.find(name, version)?;
    let ready = state.model_cache.get(&entry)?;
    let model = ready.predictor.model();
    let spec = stored_spec(model)?;
    if !spec.updatable {
        let detail =
            format!("version {} stores no statistics to add rows to; train with \"updatable\": true", entry.version);
        return Err(ApiError::new(ErrorCode::ModelNotUpdatable, detail));
    }
    alignment(model, &spec, &dataset.schema).map_err(|details| {
        let problem = |detail| Problem::new("/dataset", detail);
        ApiError::invalid(ErrorCode::InvalidJob, details.into_iter().map(problem).collect())
    })?;
    let need = estimate_memory(&spec, &dataset.schema, state.config.training_threads);
    refuse_too_large(state, need, "training", "use fewer features")?;
    Ok(NewJob {
        kind: JobKind::Update,
        engine: JobEngine::Local,
        model: entry.name.clone(),
        dataset: dataset.id,
        // Without a version or an alias, the newest one when the job runs, so that queued updates add up.
        payload: json!({"version": version.or((name != entry.name).then_some(entry.version))}),
        client: String::new(),
        idempotency_key: None,
        fingerprint: String::new(),
        trace_parent: None,
    })
}
