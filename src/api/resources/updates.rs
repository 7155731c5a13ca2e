//! `/api/v1/models/{model}/update`: rows added to a model, as a job.

use super::jobs::{accept, canonical, named_version, refuse_too_large, refuse_unknown, required_text};
use crate::api::AppState;
use crate::api::http::error::ApiError;
use crate::api::http::extract::{JsonBody, ModelName};
use crate::jobs::{JobKind, NewJob};
use crate::request::problem::Problem;
use crate::training::{SpecLimits, TrainSpec, alignment, estimate_memory};
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use serde_json::{Value, json};

/// `POST`: a new version with the rows of a data set added, from the statistics the model keeps.
pub(crate) async fn submit(
    State(state): State<AppState>,
    ModelName(name): ModelName,
    headers: HeaderMap,
    JsonBody(body): JsonBody,
) -> Result<Response, ApiError> {
    let fingerprint = format!("update {name} {}", canonical(&body));
    let checker = state.clone();
    accept(state, &headers, fingerprint, move || check(&checker, &name, &body)).await
}

/// The request as a job, with everything that can be known before it runs checked.
fn check(state: &AppState, name: &str, body: &Value) -> Result<NewJob, ApiError> {
    let Some(body) = body.as_object() else {
        return Err(ApiError::malformed("malformed_request", "the body must be a JSON object"));
    };
    let mut problems = refuse_unknown(body, &["dataset", "version"]);
    let dataset = required_text(body, "dataset", &mut problems);
    let version = named_version(body, &mut problems);
    if !problems.is_empty() {
        return Err(ApiError::invalid("invalid_job", problems));
    }
    let dataset = state.datasets.find(dataset)?;
    let entry = state.registry.find(name, version)?;
    let ready = state.model_cache.get(&entry)?;
    let model = ready.predictor.model();
    let limits = SpecLimits { feature_count: model.map.feature_count() };
    let raw: Value = serde_json::from_str(&model.spec).unwrap_or_default();
    let spec =
        TrainSpec::check("", Some(&raw), limits).map_err(|problems| ApiError::invalid("invalid_job", problems))?;
    if !spec.updatable {
        let detail = format!("version {} keeps no statistics to add to; train with \"updatable\": true", entry.version);
        return Err(ApiError::new(StatusCode::CONFLICT, "model_not_updatable", detail));
    }
    alignment(model, &spec, &dataset.schema).map_err(|details| {
        let problem = |detail| Problem { pointer: "/dataset".into(), detail };
        ApiError::invalid("invalid_job", details.into_iter().map(problem).collect())
    })?;
    let need = estimate_memory(&spec, &dataset.schema, state.config.training_threads);
    refuse_too_large(state, need, "training", "use fewer features")?;
    Ok(NewJob {
        kind: JobKind::Update,
        model: entry.name.clone(),
        dataset: dataset.id,
        // Without a version or an alias the newest one at the time the job runs: updates in a row add up.
        payload: json!({"version": version.or((name != entry.name).then_some(entry.version))}),
        idempotency_key: None,
        fingerprint: String::new(),
    })
}
