//! The start page: what is here, what is running, and the way to a first model.

use super::jobs::JobRow;
use super::models::ModelRow;
use super::{items, text};
use crate::api::console::api_client::{ApiClient, ApiRefusal};
use crate::api::console::backend::Backend;
use crate::api::console::display::count;
use crate::api::console::page::{Frame, Section, html};
use askama::Template;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use serde_json::Value;

/// Rows of each list on the page.
const SHOWN: usize = 5;

#[derive(Template)]
#[template(path = "start.html")]
struct StartPage {
    frame: Frame,
    /// (name, address, rows).
    datasets: Vec<(String, String, String)>,
    models: Vec<ModelRow>,
    /// How many models there are, if all are shown.
    model_count: Option<String>,
    jobs: Vec<JobRow>,
    running: usize,
    /// The first step that is still to do, from 1; 4 if all are done.
    step: usize,
}

/// `GET /`.
pub(in crate::api::console) async fn show(
    State(backend): State<Backend>,
    api: ApiClient,
) -> Result<Response, ApiRefusal> {
    let frame = Frame::load(&api, &backend, "Start", Section::Start).await?;
    let datasets = api.get(&format!("/api/v1/datasets?limit={SHOWN}")).await?;
    let models = api.get(&format!("/api/v1/models?sort=created&direction=descending&limit={SHOWN}")).await?;
    let jobs = api.get(&format!("/api/v1/jobs?limit={SHOWN}")).await?;
    let running = api.get("/api/v1/jobs?status=running&limit=50").await?;
    let datasets: Vec<_> = items(&datasets["datasets"])
        .map(|item| (text(&item["name"]), text(&item["id"]), count(item["rows"].as_u64().unwrap_or(0))))
        .collect();
    let model_count = models["models"].as_array().map_or(0, Vec::len);
    // What runs comes first: it may have been submitted before others that have ended.
    let is_running = |job: &&Value| job["status"] == "running";
    let ended_or_waiting = items(&jobs["jobs"]).filter(|job| !is_running(job));
    let jobs: Vec<JobRow> = items(&running["jobs"]).chain(ended_or_waiting).take(SHOWN).map(JobRow::of).collect();
    let step = match (datasets.is_empty(), model_count) {
        (true, 0) => 1,
        (false, 0) => 2,
        (_, 1) => 3,
        _ => 4,
    };
    let page = StartPage {
        frame,
        models: items(&models["models"]).map(ModelRow::of).collect(),
        model_count: models["next_cursor"].is_null().then(|| count(model_count as u64)),
        running: items(&running["jobs"]).count(),
        datasets,
        jobs,
        step,
    };
    Ok(html(StatusCode::OK, &page))
}
