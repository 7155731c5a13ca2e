//! `/api/v1/models/{model}/guarantees`.

use super::certifications::row_access;
use crate::api::AppState;
use crate::api::http::error::ApiError;
use crate::api::http::extract::{QueryFields, VersionedModel};
use crate::theory::ours::certificate::COVERED_SHARE;
use crate::theory::papers::avron::Preconditioning;
use crate::theory::{self, Evidence, RowAccess, SMALLEST_DELTA};
use axum::Json;
use axum::extract::State;
use serde_json::{Value, json};

/// The relative accuracy for which the iterations of a preconditioned solver are counted.
const SOLVER_ACCURACY: f64 = 1e-8;

/// `GET …/{model}/guarantees` and `GET …/{model}/versions/{version}/guarantees`: closed forms, computed for any δ from the
/// evidence that the model stores.
pub(crate) async fn show(
    State(state): State<AppState>,
    VersionedModel { name, version }: VersionedModel,
    query: QueryFields,
) -> Result<Json<Value>, ApiError> {
    let query = query.only(&["delta", "share"])?;
    let (delta, share) = (between_0_and_1(&query, "delta")?, between_0_and_1(&query, "share")?);
    if delta.is_some_and(|delta| delta < SMALLEST_DELTA) {
        let detail = format!("must be at least {SMALLEST_DELTA:e}; for smaller values, 1 - delta is rounded to 1");
        return Err(ApiError::invalid_parameter("?delta", detail));
    }
    let share = share.unwrap_or(COVERED_SHARE);
    let ready = state.load(&name, version).await?;
    let (entry, model) = (&ready.entry, ready.predictor.model());
    let delta = delta.unwrap_or(model.failure_probability);
    let rows = row_access(&state, &ready).await?;
    let circumstances = model.circumstances(rows);
    let found = model.evidence.as_ref().map(|evidence| theory::guarantees(evidence, delta, share, &circumstances));
    let (guarantees, needing_rows) = found.map(|found| (found.guarantees, found.needing_rows)).unwrap_or_default();
    let numbers = model.report.numbers();
    let evidence = model.evidence.as_ref();
    let kernel = evidence.and_then(|evidence| evidence.kernel.as_ref());
    let spectral_delta = kernel.and_then(|kernel| kernel.spectral_delta);
    Ok(Json(json!({
        "model": entry.name,
        "version": entry.version,
        "delta": delta,
        "share": share,
        "guarantees": guarantees,
        "needs_rows": {
            "ids": needing_rows,
            "available": rows == RowAccess::Kept,
            "reason": rows.obstacle(),
        },
        "measured": {
            "exact_krr_error": model.measured.exact_krr_error,
            "exact_krr": model.measured.exact_krr,
            "jackknife_error": evidence.and_then(|evidence| evidence.estimates.jackknife),
            "spectral_delta": spectral_delta,
            "spectral_delta_rows": spectral_delta.and(evidence).map(Evidence::spectral_rows),
            "preconditioning": spectral_delta.and_then(|delta| Preconditioning::of(delta, SOLVER_ACCURACY)),
            "kernel_dimension": kernel.map(|kernel| kernel.dimension),
            "validation_mse": numbers.map(|errors| errors.validation_mse),
            "validation_r2": numbers.map(|errors| errors.validation_r2),
            "validation_accuracy": model.report.labels().map(|errors| errors.validation_accuracy),
        },
    })))
}

fn between_0_and_1(query: &QueryFields, name: &str) -> Result<Option<f64>, ApiError> {
    let value: Option<f64> = query.parsed(name, "a number")?;
    if value.is_some_and(|value| !(value > 0.0 && value < 1.0)) {
        return Err(ApiError::invalid_parameter(format!("?{name}"), "must be greater than 0 and less than 1"));
    }
    Ok(value)
}
