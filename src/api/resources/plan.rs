//! `/api/v1/plan`: the number of features that an accuracy needs, before anything is trained.

use crate::api::AppState;
use crate::api::http::error::ApiError;
use crate::api::http::error_code::ErrorCode;
use crate::api::http::extract::JsonBody;
use crate::api::state::blocking;
use crate::theory::plan::{lower_bounds, plan};
use crate::training::PlanRequest;
use axum::Json;
use axum::extract::State;
use serde_json::{Value, json};

/// `POST`: for a dataset or for given numbers, the features that each theorem needs and what they cost.
pub(crate) async fn show(State(state): State<AppState>, JsonBody(body): JsonBody) -> Result<Json<Value>, ApiError> {
    let dataset = match body.get("dataset") {
        None => None,
        Some(Value::String(name)) => {
            let name = name.clone();
            Some(blocking(move || state.datasets.find(&name)).await?)
        }
        Some(_) => {
            let detail = "must be the id or name of a dataset";
            return Err(ApiError::invalid_field(ErrorCode::InvalidPlan, "/dataset", detail));
        }
    };
    let request = PlanRequest::check(&body, dataset.as_ref().map(|dataset| &dataset.schema))
        .map_err(|problems| ApiError::invalid(ErrorCode::InvalidPlan, problems))?;
    let problem = &request.problem;
    Ok(Json(json!({
        "n": problem.sample_count,
        "d": problem.input_dim,
        "y_mean_square": problem.target_mean_square,
        "delta": problem.failure_probability,
        "choices": plan(problem, request.target),
        "lower_bounds": lower_bounds(problem, request.target),
    })))
}
