//! What a training will take, before it starts: features, memory, time, and what the planner says can be proved.

use super::{items, text};
use crate::api::console::api_client::{ApiClient, ApiRefusal};
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
    pub(super) async fn of(api: &ApiClient, job: &Value) -> Result<Self, ApiRefusal> {
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
            time: time(api, &job["spec"], rows, features).await?,
            choices,
            silence,
        })
    }
}

/// What each theorem about the target needs.
async fn plan(api: &ApiClient, job: &Value) -> Result<Vec<(String, String)>, ApiRefusal> {
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

/// Stages that are trainings of their own.
const REPEATED: [&str; 2] = ["learning_curve", "cross_validate"];

/// Trainings that do more or less than this many times the work say nothing about the time.
const COMPARABLE: f64 = 100.0;

/// The time of the training here of the same effort that is nearest in work, scaled by its work: rows times features
/// squared, beside what every training does.
async fn time(api: &ApiClient, spec: &Value, rows: u64, features: u64) -> Result<String, ApiRefusal> {
    let jobs = api.get("/api/v1/jobs?status=succeeded&include=report&limit=20").await?;
    let effort = spec["effort"].as_str().unwrap_or("balanced");
    let work = |rows: f64, features: f64| OVERHEAD + features * features * (rows + features);
    let wanted = work(rows as f64, features as f64);
    let past = |job: &Value| {
        let report = &job["report"];
        let (rows, features) = (report["training_rows"].as_f64()?, report["feature_count"].as_f64()?);
        let stages = report["stage_seconds"].as_object().into_iter().flatten();
        let seconds: f64 =
            stages.filter(|(name, _)| !REPEATED.contains(&name.as_str())).filter_map(|(_, s)| s.as_f64()).sum();
        let ratio = wanted / work(rows, features);
        let is_alike = job["type"] == "train" && job["spec"]["effort"] == effort && features > 0.0;
        (is_alike && (1.0 / COMPARABLE..=COMPARABLE).contains(&ratio)).then_some((ratio, rows, features, seconds))
    };
    let nearest = items(&jobs["jobs"])
        .filter_map(past)
        .min_by(|(one, ..), (other, ..)| one.ln().abs().total_cmp(&other.ln().abs()));
    let Some((ratio, old_rows, old_features, seconds)) = nearest else {
        return Ok("Not known: no training of this effort and about this size has ended on this machine.".to_owned());
    };
    let times = if spec["learning_curve"] == true { 2.0 } else { 1.0 };
    let scaled = seconds * ratio * times;
    let about = if scaled < 1.0 { "Less than 1 s".to_owned() } else { format!("About {}", duration(scaled)) };
    Ok(format!(
        "{about}, judged by a training on {} rows with {} features, which took {}.",
        count(old_rows as u64),
        count(old_features as u64),
        duration(seconds)
    ))
}
