//! What runs, waits and has ended.

use super::{items, text};
use crate::api::console::api_client::{ApiClient, ApiRefusal};
use crate::api::console::backend::Backend;
use crate::api::console::display::{ago, duration, moment, sentence};
use crate::api::console::page::{FormFields, Frame, Section, html, segment};
use crate::api::http::extract::{Id, QueryFields};
use askama::Template;
use axum::extract::State;
use axum::http::{Method, StatusCode};
use axum::response::{IntoResponse, Redirect, Response};
use serde_json::{Value, json};

/// A job in a list.
pub(super) struct JobRow {
    pub(super) id: String,
    pub(super) kind: String,
    pub(super) model: String,
    pub(super) status: String,
    /// In words, with the stage and the time left if it runs.
    pub(super) state: String,
    /// From 0 to 100 while it runs.
    pub(super) percent: Option<u32>,
    pub(super) created: String,
}

impl JobRow {
    pub(super) fn of(job: &Value) -> Self {
        let status = text(&job["status"]);
        Self {
            id: text(&job["id"]),
            kind: kind_in_words(&text(&job["type"])).to_owned(),
            model: job["model"].as_str().unwrap_or("–").to_owned(),
            state: state_in_words(job),
            percent: job["progress"]["fraction"].as_f64().map(|share| (share * 100.0) as u32),
            created: ago(&text(&job["created_at"])),
            status,
        }
    }
}

fn kind_in_words(kind: &str) -> &str {
    match kind {
        "train" => "Training",
        "update" => "Update",
        "certify" => "Certification",
        "compare" => "Comparison",
        other => other,
    }
}

fn state_in_words(job: &Value) -> String {
    let progress = &job["progress"];
    match (progress["stage"].as_str(), progress["eta_seconds"].as_f64()) {
        (Some(stage), Some(left)) => format!("{}, about {} left", stage_in_words(stage), duration(left)),
        (Some(stage), None) => stage_in_words(stage).to_owned(),
        (None, _) => {
            let status = text(&job["status"]);
            let mut letters = status.chars();
            letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
        }
    }
}

/// Every stage in words.
const STAGES: [(&str, &str); 11] = [
    ("scale", "Reading and scaling the rows"),
    ("search", "Searching for settings"),
    ("choose", "Choosing features"),
    ("accumulate", "Computing features"),
    ("solve", "Solving for the weights"),
    ("evaluate", "Measuring errors"),
    ("certify", "Comparing with the exact method"),
    ("compare", "Comparing samplings"),
    ("cross_validate", "Training and testing on folds"),
    ("learning_curve", "Training on fewer rows"),
    ("publish", "Writing the model"),
];

fn stage_in_words(stage: &str) -> &str {
    STAGES.iter().find(|(name, _)| *name == stage).map_or(stage, |(_, words)| words)
}

#[derive(Template)]
#[template(path = "jobs.html")]
struct JobsPage {
    frame: Frame,
    jobs: Vec<JobRow>,
    next: Option<String>,
    is_first: bool,
}

#[derive(Template)]
#[template(path = "job.html")]
struct SingleJobPage {
    frame: Frame,
    job: JobRow,
    /// From 0 to 1 while it runs.
    share: Option<f64>,
    /// The stages in words, as JSON for the script.
    stage_words: String,
    ended: bool,
    succeeded: bool,
    version: Option<u64>,
    verdict: String,
    warnings: Vec<String>,
    error: Option<String>,
    dataset: String,
    on_spark: bool,
    times: Vec<(&'static str, String)>,
    stages: Vec<(String, String)>,
    spec: String,
}

/// `GET /jobs`.
pub(in crate::api::console) async fn list(
    State(backend): State<Backend>,
    api: ApiClient,
    query: QueryFields,
) -> Result<Response, ApiRefusal> {
    let frame = Frame::load(&api, &backend, "Jobs", Section::Jobs).await?;
    let cursor = query.text("cursor").map(|cursor| format!("&cursor={}", segment(cursor)));
    let found = api.get(&format!("/api/v1/jobs?limit=50{}", cursor.as_deref().unwrap_or_default())).await?;
    let page = JobsPage {
        frame,
        jobs: items(&found["jobs"]).map(JobRow::of).collect(),
        next: found["next_cursor"].as_str().map(segment),
        is_first: cursor.is_none(),
    };
    Ok(html(StatusCode::OK, &page))
}

/// `GET /jobs/{id}`.
pub(in crate::api::console) async fn show(
    State(backend): State<Backend>,
    api: ApiClient,
    Id(id): Id,
) -> Result<Response, ApiRefusal> {
    let job = api.get(&format!("/api/v1/jobs/{}", segment(&id))).await?;
    let row = JobRow::of(&job);
    let title = if job["model"].is_null() { row.kind.clone() } else { format!("{} of {}", row.kind, row.model) };
    let frame = Frame::load(&api, &backend, &title, Section::Jobs).await?;
    let time = |name| job[name].as_str().map_or_else(|| "–".to_owned(), moment);
    let report = &job["report"];
    let page = SingleJobPage {
        frame,
        share: job["progress"]["fraction"].as_f64(),
        stage_words: json!(STAGES.into_iter().collect::<std::collections::BTreeMap<_, _>>()).to_string(),
        ended: matches!(row.status.as_str(), "succeeded" | "failed" | "canceled"),
        succeeded: row.status == "succeeded",
        version: job["version"].as_u64(),
        verdict: text(&report["summary"]["verdict"]),
        warnings: items(&report["warnings"]).map(text).collect(),
        error: error_in_words(&job["error"]),
        dataset: text(&job["dataset"]),
        on_spark: job["engine"] == "spark",
        times: vec![("Submitted", time("created_at")), ("Started", time("started_at")), ("Ended", time("finished_at"))],
        stages: report["stage_seconds"].as_object().into_iter().flatten().map(stage_row).collect(),
        spec: serde_json::to_string_pretty(&job["spec"]).unwrap_or_default(),
        job: row,
    };
    Ok(html(StatusCode::OK, &page))
}

fn stage_row((stage, seconds): (&String, &Value)) -> (String, String) {
    (stage_in_words(stage).to_owned(), format!("{:.2} s", seconds.as_f64().unwrap_or(0.0)))
}

/// The error of a job: a text, or an object with a detail.
fn error_in_words(error: &Value) -> Option<String> {
    match error {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        other => Some(other["detail"].as_str().map_or_else(|| other.to_string(), sentence)),
    }
}

/// `POST /jobs/{id}/cancel`.
pub(in crate::api::console) async fn cancel(api: ApiClient, Id(id): Id, _: FormFields) -> Result<Response, ApiRefusal> {
    let id = segment(&id);
    api.call(Method::POST, &format!("/api/v1/jobs/{id}/cancel")).await?;
    Ok(Redirect::to(&format!("/jobs/{id}")).into_response())
}
