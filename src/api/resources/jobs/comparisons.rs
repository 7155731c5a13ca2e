//! Jobs of type `compare`: samplings next to each other on one dataset, as JSON, CSV and a chart.

use super::{find_visible, refuse_too_large, required_text};
use crate::api::AppState;
use crate::api::auth::Caller;
use crate::api::http::error::ApiError;
use crate::api::http::error_code::ErrorCode;
use crate::api::http::extract::Id;
use crate::api::state::blocking;
use crate::jobs::{JobEngine, JobKind, JobStatus, NewJob};
use crate::plots::Size;
use crate::training::{CompareSpec, Comparison, SpecLimits, estimate_comparison};
use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use serde_json::{Map, Value};

/// The request as a job, after all checks that are possible before it runs.
pub(super) fn check(state: &AppState, body: &Map<String, Value>) -> Result<NewJob, ApiError> {
    let mut problems = Vec::new();
    let dataset = required_text(body, "dataset", &mut problems);
    let limits = SpecLimits { feature_count: state.config.max_features };
    let spec = match CompareSpec::check(&Value::Object(body.clone()), limits) {
        Ok(spec) if problems.is_empty() => spec,
        outcome => {
            problems.extend(outcome.err().unwrap_or_default());
            return Err(ApiError::invalid(ErrorCode::InvalidJob, problems));
        }
    };
    let dataset = state.datasets.find(dataset)?;
    dataset.check_stored()?;
    spec.check_against(&dataset.schema).map_err(|problems| ApiError::invalid(ErrorCode::InvalidJob, problems))?;
    let need = estimate_comparison(&spec, &dataset.schema, state.config.training_threads);
    refuse_too_large(state, need, "the comparison", "use fewer features or rows")?;
    Ok(NewJob {
        kind: JobKind::Compare,
        engine: JobEngine::Local,
        model: String::new(),
        dataset: dataset.id,
        payload: spec.to_json(),
        client: String::new(),
        idempotency_key: None,
        fingerprint: String::new(),
        trace_parent: None,
    })
}

/// `GET …/{id}/comparison.csv`: means and standard errors.
pub(crate) async fn csv(State(state): State<AppState>, caller: Caller, Id(id): Id) -> Result<Response, ApiError> {
    let text = found(state, caller, id).await?.to_csv();
    Ok(([(header::CONTENT_TYPE, "text/csv; charset=utf-8")], text).into_response())
}

/// `GET …/{id}/comparison.svg`: the same as a chart.
pub(crate) async fn svg(State(state): State<AppState>, caller: Caller, Id(id): Id) -> Result<Response, ApiError> {
    let svg = found(state, caller, id).await?.chart().to_svg(Size::Wide);
    // Opened by itself, the chart must not be able to run or load anything.
    let policy = "default-src 'none'; style-src 'unsafe-inline'";
    Ok(([(header::CONTENT_TYPE, "image/svg+xml"), (header::CONTENT_SECURITY_POLICY, policy)], svg).into_response())
}

/// What a comparison that succeeded has found.
async fn found(state: AppState, caller: Caller, id: String) -> Result<Comparison, ApiError> {
    let jobs = state.jobs.clone();
    let job = blocking(move || find_visible(&jobs, &caller, &id)).await?;
    let refuse = |detail: String| Err(ApiError::new(ErrorCode::WrongState, detail));
    if job.request.kind != JobKind::Compare {
        return refuse(format!(
            "job '{}' is of type {}; only a job of type compare has this",
            job.id,
            job.request.kind.name()
        ));
    }
    if job.status != JobStatus::Succeeded {
        return refuse(format!("job '{}' is {}; the comparison is there once it succeeded", job.id, job.status.name()));
    }
    let report = job.result.map(|mut result| result["report"].take()).unwrap_or_default();
    serde_json::from_value(report)
        .map_err(|error| ApiError::internal(format!("the stored comparison cannot be read: {error}")))
}
