//! `/api/v1/plan`: how many features a target takes, before anything is trained.

use crate::api::AppState;
use crate::api::http::error::ApiError;
use crate::api::http::extract::JsonBody;
use crate::api::state::blocking;
use crate::theory::plan::plan;
use crate::training::PlanRequest;
use axum::Json;
use axum::extract::State;
use serde_json::{Value, json};

/// `POST`: for a data set or for plain numbers, what each theorem asks for and what that costs.
pub(crate) async fn show(State(state): State<AppState>, JsonBody(body): JsonBody) -> Result<Json<Value>, ApiError> {
    let dataset = match body.get("dataset") {
        None => None,
        Some(Value::String(name)) => {
            let name = name.clone();
            Some(blocking(move || state.datasets.find(&name)).await?)
        }
        Some(_) => {
            return Err(ApiError::invalid_field("invalid_plan", "/dataset", "must be the id or name of a data set"));
        }
    };
    let request = PlanRequest::check(&body, dataset.as_ref().map(|dataset| &dataset.schema))
        .map_err(|problems| ApiError::invalid("invalid_plan", problems))?;
    let problem = &request.problem;
    Ok(Json(json!({
        "n": problem.sample_count,
        "d": problem.input_dim,
        "y_mean_square": problem.target_mean_square,
        "delta": problem.failure_probability,
        "choices": plan(problem, request.target),
    })))
}
