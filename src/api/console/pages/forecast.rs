//! What a training will take, before it starts: features, memory, time, and what the planner says can be proved.

use super::{items, text};
use crate::api::console::api_client::{ApiClient, Refusal};
use crate::api::console::display::{bytes, count, duration, rounded};
use axum::http::Method;
use serde_json::{Value, json};

/// The planner is asked for a mean squared distance to the exact method of this share of the target's variance.
const SHARE: f64 = 0.01;

/// Operations that take about as long as what every training does whatever its size: a second or two.
const OVERHEAD: f64 = 5e9;

/// The forecast that the form shows.
pub(super) struct Forecast {
    pub(super) rows: String,
    pub(super) features: String,
    pub(super) memory: String,
    pub(super) memory_limit: String,
    /// In words; says where it comes from.
    pub(super) time: String,
    /// (features or a dash, sentence).
    pub(super) choices: Vec<(String, String)>,
    /// Why the planner has nothing to say.
    pub(super) silence: Option<String>,
}

impl Forecast {
    /// For the request that the form would send.
    pub(super) async fn of(api: &ApiClient, job: &Value) -> Result<Self, Refusal> {
        let estimate = api.send_json(Method::POST, "/api/v1/jobs/estimate", job).await?;
        let whole = |name: &str| estimate[name].as_u64().unwrap_or(0);
        let (rows, features) = (whole("training_rows"), whole("features"));
        let (choices, silence) = match plan(api, job).await {
            Ok(choices) => (choices, None),
            Err(refusal) => (Vec::new(), Some(refusal.detail)),
        };
        Ok(Self {
            rows: count(rows),
            features: if features == 0 { "none: the exact method".into() } else { count(features) },
            memory: bytes(estimate["memory_bytes"].as_f64().unwrap_or(0.0)),
            memory_limit: bytes(estimate["memory_limit_bytes"].as_f64().unwrap_or(0.0)),
            time: time(api, rows, features).await?,
            choices,
            silence,
        })
    }
}

/// What each theorem about the target needs.
async fn plan(api: &ApiClient, job: &Value) -> Result<Vec<(String, String)>, Refusal> {
    let dataset = job["dataset"].as_str().unwrap_or_default();
    let mut request = json!({"dataset": dataset, "target": {"error": 1.0}});
    if let Some(kernel) = job["spec"]["kernel"]["name"].as_str() {
        request["kernel"] = json!({"name": kernel});
    }
    let first = api.send_json(Method::POST, "/api/v1/plan", &request).await?;
    let variance = first["y_mean_square"].as_f64().unwrap_or(1.0);
    request["target"]["error"] = json!(rounded(SHARE * variance));
    let found = api.send_json(Method::POST, "/api/v1/plan", &request).await?;
    let choice = |choice: &Value| {
        let features = choice["feature_count"].as_u64().map_or_else(|| "–".to_owned(), count);
        (features, text(&choice["statement"]))
    };
    Ok(items(&found["choices"]).map(choice).collect())
}

/// The time of the last training here, scaled by its work: rows times features squared, beside what every training does.
async fn time(api: &ApiClient, rows: u64, features: u64) -> Result<String, Refusal> {
    let jobs = api.get("/api/v1/jobs?status=succeeded&include=report&limit=20").await?;
    let last =
        items(&jobs["jobs"]).find(|job| job["type"] == "train" && job["report"]["feature_count"].as_u64() > Some(0));
    let unknown = "Not known before the first training on this machine.".to_owned();
    let Some(report) = last.map(|job| &job["report"]) else { return Ok(unknown) };
    let seconds: f64 = report["stage_seconds"].as_object().into_iter().flatten().filter_map(|(_, s)| s.as_f64()).sum();
    let work = |rows: f64, features: f64| OVERHEAD + features * features * (rows + features);
    let then = (report["training_rows"].as_f64(), report["feature_count"].as_f64());
    let (Some(old_rows), Some(old_features)) = then else { return Ok(unknown) };
    let scaled = seconds * work(rows as f64, features as f64) / work(old_rows, old_features);
    Ok(format!(
        "About {}, if it goes as the last training did ({} rows and {} features in {}).",
        duration(scaled),
        count(old_rows as u64),
        count(old_features as u64),
        duration(seconds)
    ))
}
