//! `/api/v1/models/{model}/guarantees`.

use super::certifications::row_access;
use crate::api::AppState;
use crate::api::http::error::ApiError;
use crate::api::http::extract::{QueryFields, VersionedModel};
use crate::model::FittedModel;
use crate::request::suggest;
use crate::theory::ours::certificate::COVERED_SHARE;
use crate::theory::{self, Guarantee, IDS, RowAccess, SMALLEST_DELTA, Status, best_first, looseness};
use axum::Json;
use axum::extract::State;
use serde_json::{Value, json};

/// The measurements that the short answer has.
const IN_SHORT: [&str; 8] = [
    "exact_krr_error",
    "exact_krr_validation_mse",
    "exact_krr_validation_accuracy",
    "jackknife_error",
    "jackknife_interval",
    "validation_mse",
    "validation_r2",
    "validation_accuracy",
];

/// What holds for every figure of a model that was not trained here.
const IMPORTED_EVIDENCE: &str = "This version, or one that it was updated from, was imported. What its guarantees and \
    figures are computed from came with the file and is the word of its sender: this service did not measure it. Train \
    the model here to have them measured.";

/// Which guarantees are shown, and how much of each.
enum ShownGuarantees {
    /// Those that apply, in short.
    Applying,
    /// All, in full.
    All,
    /// These, in full.
    Named(Vec<String>),
}

impl ShownGuarantees {
    fn read(query: &QueryFields) -> Result<Self, ApiError> {
        let all: bool = query.parsed("all", "true or false")?.unwrap_or(false);
        let Some(ids) = query.text("id") else { return Ok(if all { Self::All } else { Self::Applying }) };
        let ids: Vec<String> = ids.split(',').map(|id| id.trim().to_owned()).collect();
        if let Some(unknown) = ids.iter().find(|id| !IDS.contains(&id.as_str())) {
            let nearest = suggest::nearest(unknown, IDS.into_iter());
            let detail = format!("unknown guarantee '{unknown}'{nearest}; /api/v1/info lists all ids");
            return Err(ApiError::invalid_parameter("?id", detail));
        }
        Ok(Self::Named(ids))
    }

    fn shows(&self, guarantee: &Guarantee) -> bool {
        match self {
            Self::Applying => guarantee.status != Status::NotApplicable,
            Self::All => true,
            Self::Named(ids) => ids.iter().any(|id| id == guarantee.id),
        }
    }

    fn in_full(&self) -> bool {
        !matches!(self, Self::Applying)
    }
}

/// `GET …/{model}/guarantees` and `GET …/{model}/versions/{version}/guarantees`: a summary, then closed forms, computed
/// for any δ from the evidence that the model stores.
pub(crate) async fn show(
    State(state): State<AppState>,
    VersionedModel { name, version }: VersionedModel,
    query: QueryFields,
) -> Result<Json<Value>, ApiError> {
    let query = query.only(&["delta", "share", "all", "id"])?;
    let (delta, share) = (between_0_and_1(&query, "delta")?, between_0_and_1(&query, "share")?);
    if delta.is_some_and(|delta| delta < SMALLEST_DELTA) {
        let detail = format!("must be at least {SMALLEST_DELTA:e}; for smaller values, 1 - delta is rounded to 1");
        return Err(ApiError::invalid_parameter("?delta", detail));
    }
    let selection = ShownGuarantees::read(&query)?;
    let share = share.unwrap_or(COVERED_SHARE);
    let ready = state.load(&name, version).await?;
    let (entry, model) = (&ready.entry, ready.predictor.model());
    let delta = delta.unwrap_or(model.failure_probability);
    let rows = row_access(&state, &ready).await?;
    let circumstances = model.circumstances(rows);
    let found = model.evidence.as_ref().map(|evidence| theory::guarantees(evidence, delta, share, &circumstances));
    let certifiable = found.as_ref().is_some_and(|found| found.is_certifiable(rows));
    let (guarantees, needing_rows) = found.map(|found| (found.guarantees, found.needing_rows)).unwrap_or_default();
    let shown = best_first(guarantees.iter().filter(|guarantee| selection.shows(guarantee)).collect());
    let views: Vec<Value> =
        shown.iter().map(|guarantee| view(guarantee, model, &selection, delta, share, rows)).collect();
    let mut answer = json!({
        "model": entry.name,
        "version": entry.version,
        "imported": entry.imported,
        "delta": delta,
        "share": share,
        "summary": model.summary(&guarantees, delta, certifiable),
        "guarantees": views,
        "not_shown": guarantees.len() - shown.len(),
        "measured": model.measurements(),
    });
    if entry.imported.is_some() {
        answer["notice"] = json!(IMPORTED_EVIDENCE);
    }
    if selection.in_full() {
        let available = rows == RowAccess::Kept;
        answer["needs_rows"] = json!({"ids": needing_rows, "available": available, "reason": rows.obstacle()});
    } else if let Some(measured) = answer["measured"].as_object_mut() {
        measured.retain(|name, _| IN_SHORT.contains(&name.as_str()));
    }
    Ok(Json(answer))
}

/// A guarantee in short, or in full with what it needs; a bound far above the measured distance says why.
fn view(
    guarantee: &Guarantee,
    model: &FittedModel,
    selection: &ShownGuarantees,
    delta: f64,
    share: f64,
    rows: RowAccess,
) -> Value {
    let mut view = json!(guarantee);
    let Value::Object(members) = &mut view else { return view };
    if selection.in_full() {
        let circumstances = model.circumstances(rows);
        let evidence = model.evidence.as_ref();
        let needs = evidence.and_then(|found| theory::needs(guarantee, found, delta, share, &circumstances));
        members.insert("needs".to_owned(), json!(needs));
    } else {
        for detail in ["bounds", "assumptions", "inputs", "estimated", "paper"] {
            members.shift_remove(detail);
        }
        if guarantee.probability.is_none() {
            members.shift_remove("probability");
        }
    }
    if let Some(why) = looseness(guarantee, model.measured.exact_krr_error) {
        members.insert("loose".to_owned(), json!(why));
    }
    view
}

fn between_0_and_1(query: &QueryFields, name: &str) -> Result<Option<f64>, ApiError> {
    let value: Option<f64> = query.parsed(name, "a number")?;
    if value.is_some_and(|value| !(value > 0.0 && value < 1.0)) {
        return Err(ApiError::invalid_parameter(format!("?{name}"), "must be greater than 0 and less than 1"));
    }
    Ok(value)
}
