//! `/api/v1/jobs`.

/// Jobs of type `compare`.
pub(crate) mod comparisons;

/// What a training would take.
pub(crate) mod estimates;

/// Where passes over rows run.
mod engines;

use super::certifications;
use super::job_events::read_in_turn;
use crate::api::AppState;
use crate::api::auth::{Caller, Client};
use crate::api::http::error::ApiError;
use crate::api::http::error_code::ErrorCode;
use crate::api::http::extract::{Id, JsonBody, QueryFields, whole_number};
use crate::api::http::observe::trace_parent;
use crate::api::state::blocking;
use crate::jobs::{Job, JobError, JobKind, JobPage, JobPool, JobStatus, NewJob, Progress};
use crate::model::{FittedModel, check_model_name};
use crate::request::problem::{Problem, pointer};
use crate::request::suggest;
use crate::telemetry::trace_parent_or;
use crate::training::{Effort, MetricRule, SpecLimits, TrainSpec};
use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Map, Value, json};
use std::time::Duration;

/// `POST`: a job that trains or certifies a model, or compares samplings.
pub(crate) async fn submit(
    State(state): State<AppState>,
    caller: Caller,
    headers: HeaderMap,
    JsonBody(body): JsonBody,
) -> Result<Response, ApiError> {
    if let Some(model) = body["model"].as_str() {
        caller.check_model(model)?;
    }
    let checker = state.clone();
    accept(state, caller.client(), &headers, canonical(&body), move || check(&checker, &body)).await
}

/// Queues the job that `check` makes and answers 202; with `Prefer: wait=N` it waits for the end. A request with the
/// idempotency key and the `fingerprint` of an earlier one gets the job of that one.
pub(crate) async fn accept(
    state: AppState,
    client: Client,
    headers: &HeaderMap,
    fingerprint: String,
    check: impl FnOnce() -> Result<NewJob, ApiError> + Send + 'static,
) -> Result<Response, ApiError> {
    let idempotency_key = idempotency_key(headers, client)?;
    let wait = wait_preference(headers);
    let trace_parent = trace_parent_or(trace_parent(headers));
    let mut changes = state.jobs.changes();
    let (jobs, disk) = (state.jobs.clone(), state.registry.disk().clone());
    let mut job = blocking(move || -> Result<Job, ApiError> {
        if let Some(key) = &idempotency_key
            && let Some(known) = jobs.find_key(key, &fingerprint)?
        {
            return Ok(known);
        }
        disk.check()?;
        let client = client.to_string();
        Ok(jobs.submit(&NewJob { client, idempotency_key, fingerprint, trace_parent, ..check()? })?)
    })
    .await?;

    if let Some(wait) = wait {
        let deadline = tokio::time::Instant::now() + wait;
        while !job.status.is_final() {
            // The job is read after every change, so that a missed one does no harm.
            let waiting = tokio::select! {
                _ = changes.recv() => true,
                () = tokio::time::sleep_until(deadline) => false,
                () = state.draining() => false,
            };
            let (jobs, id) = (state.jobs.clone(), job.id.clone());
            job = read_in_turn(&state, blocking(move || jobs.find(&id))).await?;
            if !waiting {
                break;
            }
        }
    }
    let status = if job.status.is_final() { StatusCode::OK } else { StatusCode::ACCEPTED };
    let location = format!("/api/v1/jobs/{}", job.id);
    Ok((status, [(header::LOCATION, location)], Json(view(&state, job).await?)).into_response())
}

/// `GET`: newest first; reports only with `?include=report`, since each may have hundreds of kilobytes.
pub(crate) async fn list(
    State(state): State<AppState>,
    caller: Caller,
    query: QueryFields,
) -> Result<Json<Value>, ApiError> {
    let query = query.only(&["status", "model", "include", "limit", "cursor"])?;
    let reports = match query.text("include") {
        None => false,
        Some("report") => true,
        Some(_) => return Err(ApiError::invalid_parameter("?include", "must be 'report'")),
    };
    let status = match query.text("status") {
        None => None,
        Some(name) => Some(JobStatus::from_name(name).ok_or_else(|| {
            let names = JobStatus::ALL.map(JobStatus::name).join(", ");
            ApiError::invalid_parameter("?status", format!("must be one of {names}"))
        })?),
    };
    let limit = query.limit()?;
    let model = query.text("model").map(str::to_owned);
    if let Some(model) = &model {
        caller.check_model(model)?;
    }
    let mut cursor = query.text("cursor").map(str::to_owned);
    let page = blocking(move || -> Result<_, JobError> {
        let mut jobs = Vec::new();
        // Jobs of models that the caller may not see are passed over until the page is full.
        loop {
            let (model, after) = (model.as_deref(), cursor.as_deref());
            let next = state.jobs.list(JobPage { status, model, after, limit, reports })?;
            let is_last = next.len() < limit;
            cursor = next.last().map(|job| job.id.clone());
            jobs.extend(next.into_iter().filter(|job| is_visible(job, &caller)).take(limit - jobs.len()));
            if is_last || jobs.len() == limit {
                break;
            }
        }
        let next_cursor = (jobs.len() == limit).then(|| jobs.last().map(|job| job.id.clone())).flatten();
        let view = |job: &Job| {
            let mut view = render(job, state.jobs.progress(&job.id));
            if let (false, Some(members)) = (reports, view.as_object_mut()) {
                members.shift_remove("report");
            }
            view
        };
        let views = jobs.iter().map(view).collect::<Vec<_>>();
        Ok(json!({"jobs": views, "next_cursor": next_cursor}))
    });
    Ok(Json(page.await?))
}

/// `GET …/{id}`.
pub(crate) async fn show(State(state): State<AppState>, caller: Caller, Id(id): Id) -> Result<Json<Value>, ApiError> {
    let jobs = state.jobs.clone();
    let job = blocking(move || find_visible(&jobs, &caller, &id)).await?;
    Ok(Json(view(&state, job).await?))
}

/// `POST …/{id}/cancel`: a running job ends within one block of work.
pub(crate) async fn cancel(State(state): State<AppState>, caller: Caller, Id(id): Id) -> Result<Response, ApiError> {
    let jobs = state.jobs.clone();
    let job = blocking(move || find_visible(&jobs, &caller, &id).and_then(|job| jobs.cancel(&job.id))).await?;
    let status = if job.status.is_final() { StatusCode::OK } else { StatusCode::ACCEPTED };
    Ok((status, Json(view(&state, job).await?)).into_response())
}

/// `DELETE …/{id}`: finished jobs only.
pub(crate) async fn delete(State(state): State<AppState>, caller: Caller, Id(id): Id) -> Result<StatusCode, ApiError> {
    blocking(move || find_visible(&state.jobs, &caller, &id).and_then(|job| state.jobs.delete(&job.id))).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// A job of a model that the caller may see. To the caller, others are not there.
pub(crate) fn find_visible(jobs: &JobPool, caller: &Caller, id: &str) -> Result<Job, JobError> {
    let job = jobs.find(id)?;
    if is_visible(&job, caller) { Ok(job) } else { Err(JobError::NotFound { id: job.id }) }
}

/// Comparisons are about no model.
fn is_visible(job: &Job, caller: &Caller) -> bool {
    job.request.model.is_empty() || caller.covers(&job.request.model)
}

/// A job with its progress.
pub(crate) async fn view(state: &AppState, job: Job) -> Result<Value, ApiError> {
    let jobs = state.jobs.clone();
    blocking(move || Ok::<_, ApiError>(render(&job, jobs.progress(&job.id)))).await
}

/// A job and how far it has come.
pub(crate) fn render(job: &Job, progress: Option<Progress>) -> Value {
    let result = job.result.as_ref();
    // Progress is read a moment after the job, and may belong to its next state.
    let running = matches!(job.status, JobStatus::Running | JobStatus::Canceling);
    let progress = progress.filter(|_| running).map(
        |progress| json!({"stage": progress.stage.name(), "fraction": progress.fraction, "eta_seconds": progress.eta_seconds}),
    );
    json!({
        "id": job.id,
        "type": job.request.kind.name(),
        "model": Some(&job.request.model).filter(|name| !name.is_empty()),
        "version": result.map(|result| &result["version"]),
        "dataset": job.request.dataset,
        "engine": job.request.engine.name(),
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

/// A text that is the same for equal JSON, whatever the order of its members.
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

/// The request as a job, after all checks that are possible before it runs.
fn check(state: &AppState, body: &Value) -> Result<NewJob, ApiError> {
    let Some(body) = body.as_object() else {
        return Err(ApiError::not_an_object());
    };
    let mut problems = refuse_unknown(body, &["type", "model", "dataset", "spec", "engine"]);
    match requested_kind(body) {
        Some(JobKind::Train) => {}
        Some(JobKind::Certify) => return certifications::check(state, body),
        Some(JobKind::Compare) => return comparisons::check(state, body),
        Some(JobKind::Update) | None => {
            problems.push(Problem::new("/type", "must be 'train', 'certify' or 'compare'"));
        }
    }
    let model = required_text(body, "model", &mut problems);
    if let Err(error) = check_model_name(model)
        && !model.is_empty()
    {
        problems.push(Problem::new("/model", error.to_string()));
    }
    let dataset = required_text(body, "dataset", &mut problems);
    let engine = engines::requested_engine(state, body, &mut problems);
    let limits = SpecLimits { feature_count: state.config.max_features };
    let spec = TrainSpec::check("/spec", body.get("spec"), limits);
    let spec = match spec {
        Ok(spec) if problems.is_empty() => spec,
        outcome => {
            problems.extend(outcome.err().unwrap_or_default());
            return Err(ApiError::invalid(ErrorCode::InvalidJob, problems));
        }
    };
    let dataset = state.datasets.find(dataset)?;
    engines::check_dataset(state, &dataset, engine, &spec)?;
    spec.check_against(&dataset.schema, "/dataset")
        .map_err(|problems| ApiError::invalid(ErrorCode::InvalidJob, problems))?;
    let threads = state.config.training_threads;
    let spec = spec.within_memory(&dataset.schema, threads, state.config.training_memory.0);
    let need = engines::memory_need(&spec, &dataset, threads);
    // A search leaves out full metrics that would be large unless the spec asks for them.
    let advice = match (spec.metric, spec.effort) {
        (MetricRule::Full, _) | (MetricRule::Search, Effort::Fast) => "use kernel.metric 'diagonal', or fewer features",
        _ if spec.sampling.has_pool() => "use a smaller pool or fewer features",
        (MetricRule::None | MetricRule::Diagonal | MetricRule::Search, _) => "use fewer features",
    };
    refuse_too_large(state, need, "training", advice)?;
    Ok(NewJob {
        kind: JobKind::Train,
        engine,
        model: model.to_owned(),
        dataset: dataset.id,
        payload: spec.for_task(dataset.schema.task).to_json(),
        client: String::new(),
        idempotency_key: None,
        fingerprint: String::new(),
        trace_parent: None,
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
        Problem::new(pointer("", name), format!("unknown field{nearest}"))
    };
    unknown.map(problem).collect()
}

/// A string that is required, or a problem.
pub(crate) fn required_text<'a>(body: &'a Map<String, Value>, name: &str, problems: &mut Vec<Problem>) -> &'a str {
    match body.get(name).and_then(Value::as_str) {
        Some(text) if !text.is_empty() => text,
        _ => {
            problems.push(Problem::new(format!("/{name}"), "is required and must be a string"));
            ""
        }
    }
}

/// The version that a request names, if any, or a problem.
pub(crate) fn named_version(body: &Map<String, Value>, problems: &mut Vec<Problem>) -> Option<u32> {
    let named = body.get("version")?;
    let version = whole_number(named);
    if version.is_none() {
        problems.push(Problem::new("/version", "must be a version number"));
    }
    version
}

/// The spec that a model was trained with.
pub(crate) fn stored_spec(model: &FittedModel) -> Result<TrainSpec, ApiError> {
    let invalid = |error| ApiError::internal(format!("the stored spec of the model is not JSON: {error}"));
    let raw: Value = serde_json::from_str(&model.spec).map_err(invalid)?;
    let limits = SpecLimits { feature_count: model.map.feature_count() };
    TrainSpec::check_stored("", &raw, limits).map_err(|problems| ApiError::invalid(ErrorCode::InvalidJob, problems))
}

/// Refuses a job that needs more memory than one may use.
pub(crate) fn refuse_too_large(state: &AppState, need: u64, what: &str, advice: &str) -> Result<(), ApiError> {
    let have = state.config.training_memory.0;
    if need > have {
        let detail =
            format!("{what} would need about {} MiB of memory; the limit is {} MiB; {advice}", need >> 20, have >> 20);
        return Err(ApiError::new(ErrorCode::MemoryBudget, detail));
    }
    Ok(())
}

/// The idempotency key of a request as it is stored. A client with a key has idempotency keys of its own: what separates
/// them from those of others cannot be in a header.
fn idempotency_key(headers: &HeaderMap, client: Client) -> Result<Option<String>, ApiError> {
    let Some(value) = headers.get("idempotency-key") else { return Ok(None) };
    match value.to_str() {
        Ok(key) if (1..=200).contains(&key.len()) => Ok(Some(match client {
            Client::Key(_) => format!("{client}\n{key}"),
            Client::Address(_) => key.to_owned(),
        })),
        _ => Err(ApiError::new(ErrorCode::MalformedHeader, "Idempotency-Key must be 1 to 200 ASCII characters")),
    }
}

/// `Prefer: wait=N` in seconds, at most 60. Other preferences are ignored. [RFC 7240, section 2]
fn wait_preference(headers: &HeaderMap) -> Option<Duration> {
    const LONGEST: u64 = 60;
    let prefer = headers.get("prefer")?.to_str().ok()?;
    let wait = prefer.split([',', ';']).find_map(|part| part.trim().strip_prefix("wait="))?;
    Some(Duration::from_secs(wait.trim().parse::<u64>().ok()?.min(LONGEST)))
}
