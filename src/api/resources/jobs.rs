//! `/api/v1/jobs`.

use super::certifications;
use crate::api::AppState;
use crate::api::http::error::ApiError;
use crate::api::http::extract::{Id, JsonBody, QueryFields};
use crate::api::state::blocking;
use crate::jobs::{Job, JobError, JobKind, JobStatus, NewJob, Progress};
use crate::model::check_model_name;
use crate::request::problem::{Problem, pointer};
use crate::request::suggest;
use crate::training::{SpecLimits, TrainSpec, estimate_memory};
use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Map, Value, json};
use std::time::Duration;

/// `POST`: a job that trains a model, or certifies one.
pub(crate) async fn submit(
    State(state): State<AppState>,
    headers: HeaderMap,
    JsonBody(body): JsonBody,
) -> Result<Response, ApiError> {
    let checker = state.clone();
    accept(state, &headers, canonical(&body), move || check(&checker, &body)).await
}

/// Puts the job that `check` makes on disk and answers 202; with `Prefer: wait=N` it waits for the end.
/// A request with the key and the `fingerprint` of an earlier one gets the job that one made.
pub(crate) async fn accept(
    state: AppState,
    headers: &HeaderMap,
    fingerprint: String,
    check: impl FnOnce() -> Result<NewJob, ApiError> + Send + 'static,
) -> Result<Response, ApiError> {
    let idempotency_key = idempotency_key(headers)?;
    let wait = wait_preference(headers);
    let mut changes = state.jobs.changes();
    let jobs = state.jobs.clone();
    let mut job = blocking(move || -> Result<Job, ApiError> {
        if let Some(key) = &idempotency_key
            && let Some(known) = jobs.find_key(key, &fingerprint)?
        {
            return Ok(known);
        }
        Ok(jobs.submit(&NewJob { idempotency_key, fingerprint, ..check()? })?)
    })
    .await?;

    if let Some(patience) = wait {
        let deadline = tokio::time::Instant::now() + patience;
        while !job.status.is_final() {
            // A missed change is caught up with by looking again.
            let patient = tokio::select! {
                _ = changes.recv() => true,
                () = tokio::time::sleep_until(deadline) => false,
                () = state.draining() => false,
            };
            let (jobs, id) = (state.jobs.clone(), job.id.clone());
            job = blocking(move || jobs.find(&id)).await?;
            if !patient {
                break;
            }
        }
    }
    let status = if job.status.is_final() { StatusCode::OK } else { StatusCode::ACCEPTED };
    let location = format!("/api/v1/jobs/{}", job.id);
    Ok((status, [(header::LOCATION, location)], Json(view(&state, job).await?)).into_response())
}

/// `GET`: newest first.
pub(crate) async fn list(State(state): State<AppState>, query: QueryFields) -> Result<Json<Value>, ApiError> {
    let query = query.only(&["status", "model", "limit", "cursor"])?;
    let status = match query.text("status") {
        None => None,
        Some(name) => Some(JobStatus::from_name(name).ok_or_else(|| {
            let names = JobStatus::ALL.map(JobStatus::name).join(", ");
            ApiError::invalid_field("invalid_parameter", "?status", format!("must be one of {names}"))
        })?),
    };
    let limit = query.limit()?;
    let model = query.text("model").map(str::to_owned);
    let cursor = query.text("cursor").map(str::to_owned);
    let page = blocking(move || -> Result<_, JobError> {
        let jobs = state.jobs.list(status, model.as_deref(), cursor.as_deref(), limit)?;
        let next_cursor = (jobs.len() == limit).then(|| jobs.last().map(|job| job.id.clone())).flatten();
        let views = jobs.iter().map(|job| render(job, state.jobs.progress(&job.id))).collect::<Vec<_>>();
        Ok(json!({"jobs": views, "next_cursor": next_cursor}))
    });
    Ok(Json(page.await?))
}

/// `GET …/{id}`.
pub(crate) async fn show(State(state): State<AppState>, Id(id): Id) -> Result<Json<Value>, ApiError> {
    let jobs = state.jobs.clone();
    let job = blocking(move || jobs.find(&id)).await?;
    Ok(Json(view(&state, job).await?))
}

/// `POST …/{id}/cancel`: takes effect within one block of work.
pub(crate) async fn cancel(State(state): State<AppState>, Id(id): Id) -> Result<Response, ApiError> {
    let jobs = state.jobs.clone();
    let job = blocking(move || jobs.cancel(&id)).await?;
    let status = if job.status.is_final() { StatusCode::OK } else { StatusCode::ACCEPTED };
    Ok((status, Json(view(&state, job).await?)).into_response())
}

/// `DELETE …/{id}`: finished jobs only.
pub(crate) async fn delete(State(state): State<AppState>, Id(id): Id) -> Result<StatusCode, ApiError> {
    blocking(move || state.jobs.delete(&id)).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// A job with its progress, as the API shows it.
pub(crate) async fn view(state: &AppState, job: Job) -> Result<Value, ApiError> {
    let jobs = state.jobs.clone();
    blocking(move || Ok::<_, ApiError>(render(&job, jobs.progress(&job.id)))).await
}

fn render(job: &Job, progress: Option<Progress>) -> Value {
    let result = job.result.as_ref();
    // Read a moment later, it may already be of the next state.
    let running = matches!(job.status, JobStatus::Running | JobStatus::Canceling);
    let progress = progress.filter(|_| running).map(
        |progress| json!({"stage": progress.stage.name(), "fraction": progress.fraction, "eta_seconds": progress.eta_seconds}),
    );
    json!({
        "id": job.id,
        "type": job.request.kind.name(),
        "model": job.request.model,
        "version": result.map(|result| &result["version"]),
        "dataset": job.request.dataset,
        "spec": job.request.payload,
        "status": job.status,
        "progress": progress,
        "attempt": job.attempt,
        "created_at": job.created_at,
        "started_at": job.started_at,
        "finished_at": job.finished_at,
        "report": result.map(|result| &result["report"]),
        "error": job.error,
    })
}

/// The same text for the same JSON, whatever the order of its members.
pub(crate) fn canonical(value: &Value) -> String {
    match value {
        Value::Object(members) => {
            let mut members: Vec<String> =
                members.iter().map(|(name, value)| format!("{}:{}", json!(name), canonical(value))).collect();
            members.sort();
            format!("{{{}}}", members.join(","))
        }
        Value::Array(items) => format!("[{}]", items.iter().map(canonical).collect::<Vec<_>>().join(",")),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.to_string(),
    }
}

/// The request as a job, with everything that can be known before it runs checked.
fn check(state: &AppState, body: &Value) -> Result<NewJob, ApiError> {
    let Some(body) = body.as_object() else {
        return Err(ApiError::malformed("malformed_request", "the body must be a JSON object"));
    };
    let mut problems = refuse_unknown(body, &["type", "model", "dataset", "spec"]);
    match requested_kind(body) {
        Some(JobKind::Train) => {}
        Some(JobKind::Certify) => return certifications::check(state, body),
        Some(JobKind::Update) | None => {
            problems.push(Problem { pointer: "/type".into(), detail: "must be 'train' or 'certify'".into() });
        }
    }
    let model = required_text(body, "model", &mut problems);
    if let Err(error) = check_model_name(model)
        && !model.is_empty()
    {
        problems.push(Problem { pointer: "/model".into(), detail: error.to_string() });
    }
    let dataset = required_text(body, "dataset", &mut problems);
    let limits = SpecLimits { feature_count: state.config.max_features };
    let spec = TrainSpec::check("/spec", body.get("spec"), limits);
    let spec = match spec {
        Ok(spec) if problems.is_empty() => spec,
        outcome => {
            problems.extend(outcome.err().unwrap_or_default());
            return Err(ApiError::invalid("invalid_job", problems));
        }
    };
    let dataset = state.datasets.find(dataset)?;
    spec.check_against(&dataset.schema, "/dataset").map_err(|problems| ApiError::invalid("invalid_job", problems))?;
    let need = estimate_memory(&spec, &dataset.schema, state.config.training_threads);
    refuse_too_large(state, need, "training", "use fewer features")?;
    Ok(NewJob {
        kind: JobKind::Train,
        model: model.to_owned(),
        dataset: dataset.id,
        payload: spec.for_task(dataset.schema.task).to_json(),
        idempotency_key: None,
        fingerprint: String::new(),
    })
}

/// The kind that a request names: training unless it says otherwise, none if there is no such kind.
fn requested_kind(body: &Map<String, Value>) -> Option<JobKind> {
    body.get("type").map_or(Some(JobKind::Train), |kind| JobKind::from_name(kind.as_str()?))
}

/// A problem for every field that is not `known`.
pub(crate) fn refuse_unknown(body: &Map<String, Value>, known: &[&str]) -> Vec<Problem> {
    let unknown = body.keys().filter(|name| !known.contains(&name.as_str()));
    let problem = |name: &String| {
        let nearest = suggest::nearest(name, known.iter().copied());
        Problem { pointer: pointer("", name), detail: format!("unknown field{nearest}") }
    };
    unknown.map(problem).collect()
}

/// A text that must be there, or a problem.
pub(crate) fn required_text<'a>(body: &'a Map<String, Value>, name: &str, problems: &mut Vec<Problem>) -> &'a str {
    match body.get(name).and_then(Value::as_str) {
        Some(text) if !text.is_empty() => text,
        _ => {
            problems.push(Problem { pointer: format!("/{name}"), detail: "is required, as a text".into() });
            ""
        }
    }
}

/// The version that a request names, if it does, or a problem.
pub(crate) fn named_version(body: &Map<String, Value>, problems: &mut Vec<Problem>) -> Option<u32> {
    let named = body.get("version")?;
    let version = named.as_u64().and_then(|number| u32::try_from(number).ok());
    if version.is_none() {
        problems.push(Problem { pointer: "/version".into(), detail: "must be the number of a version".into() });
    }
    version
}

/// Refuses a job that needs more bytes than training may take.
pub(crate) fn refuse_too_large(state: &AppState, need: u64, what: &str, advice: &str) -> Result<(), ApiError> {
    let have = state.config.training_memory.0;
    if need > have {
        let detail =
            format!("{what} would need about {} MiB and the limit is {} MiB; {advice}", need >> 20, have >> 20);
        return Err(ApiError::new(StatusCode::INSUFFICIENT_STORAGE, "memory_budget", detail));
    }
    Ok(())
}

fn idempotency_key(headers: &HeaderMap) -> Result<Option<String>, ApiError> {
    let Some(value) = headers.get("idempotency-key") else { return Ok(None) };
    match value.to_str() {
        Ok(key) if (1..=200).contains(&key.len()) => Ok(Some(key.to_owned())),
        _ => Err(ApiError::malformed("malformed_header", "Idempotency-Key must be 1 to 200 ASCII characters")),
    }
}

/// `Prefer: wait=N`, N in seconds, at most 60. What cannot be understood is ignored, as RFC 7240 asks.
fn wait_preference(headers: &HeaderMap) -> Option<Duration> {
    const LONGEST: u64 = 60;
    let prefer = headers.get("prefer")?.to_str().ok()?;
    let wait = prefer.split([',', ';']).find_map(|part| part.trim().strip_prefix("wait="))?;
    Some(Duration::from_secs(wait.trim().parse::<u64>().ok()?.min(LONGEST)))
}
