//! A dataset by its location: `POST` with a JSON object whose member `location` is a text. No JSON table is one: the members of
//! an object of columns are lists.

use super::answer;
use super::schema_fields::SchemaFields;
use crate::api::AppState;
use crate::api::auth::Caller;
use crate::api::http::error::ApiError;
use crate::api::http::error_code::ErrorCode;
use crate::api::http::extract::{QueryFields, read_json};
use crate::api::state::blocking;
use crate::cluster::{LocationError, Locations, Registration, SparkOptions, register};
use crate::dataset::Task;
use crate::keys::Scope;
use crate::training::TrainError;
use axum::response::Response;
use serde_json::{Map, Value};

/// A longer body is a table.
pub(super) const LONGEST: u64 = 64 << 10;

/// The object in a body that asks for a dataset by location; none if the body is something else. Refused if a member is repeated.
pub(super) fn asked(body: &[u8]) -> Result<Option<Map<String, Value>>, ApiError> {
    let loose: Result<Value, _> = serde_json::from_slice(body);
    if !loose.is_ok_and(|value| value["location"].is_string()) {
        return Ok(None);
    }
    Ok(match read_json(body)? {
        Value::Object(members) => Some(members),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => None,
    })
}

/// Measures the files by one pass and keeps what was found. The files are neither copied nor changed.
pub(super) async fn create(
    state: &AppState,
    caller: &Caller,
    query: &QueryFields,
    members: Map<String, Value>,
) -> Result<Response, ApiError> {
    caller.check_scope(Scope::Admin)?;
    query.check(&[])?;
    let asked = registration(state, members)?;
    state.refuse_low_disk().await?;
    let permit = state.uploads.take(caller.client())?;
    let (store, draining) = (state.datasets.clone(), state.clone());
    let locations = Locations::new(&state.config.cluster.dataset_locations);
    let spark = SparkOptions::of(&state.config.cluster).map_err(ApiError::internal)?;
    let ingested = blocking(move || {
        let _permit = permit; // held until the work is done, even if the client disconnects
        register(&store, (&locations, spark.as_ref()), &asked, &|| draining.is_draining()).map_err(refusal)
    })
    .await?;
    Ok(answer(ingested))
}

fn registration(state: &AppState, mut members: Map<String, Value>) -> Result<Registration, ApiError> {
    let location = members.remove("location").and_then(|location| location.as_str().map(str::to_owned));
    match members.remove("format") {
        None => {}
        Some(format) if format == "parquet" => {}
        Some(_) => {
            return Err(ApiError::invalid_parameter("/format", "must be 'parquet': other files have to be uploaded"));
        }
    }
    let name = match members.remove("name") {
        None => None,
        Some(Value::String(name))
            if !name.is_empty() && name.chars().count() <= 200 && !name.chars().any(char::is_control) =>
        {
            Some(name)
        }
        Some(_) => {
            let detail = "must be a text of 1 to 200 characters, none of them control characters";
            return Err(ApiError::invalid_parameter("/name", detail));
        }
    };
    for option in
        ["numeric", "categorical", "datetime", "missing", "decimal", "day_first", "header", "delimiter", "schema"]
    {
        if members.contains_key(option) {
            let detail = "says how text is read, and the cells of Parquet files have types of their own: leave it out";
            return Err(ApiError::invalid_parameter(format!("/{option}"), detail));
        }
    }
    let SchemaFields { target, task, columns, .. } = SchemaFields::of_json(&Value::Object(members), "")?;
    if task == Some(Task::Classification) {
        let detail = "labels cannot be predicted from files that stay where they are yet: upload them";
        return Err(ApiError::invalid_parameter("/task", detail));
    }
    Ok(Registration {
        location: location.unwrap_or_default(),
        name,
        target,
        ignore: columns.ignore,
        columns: state.config.max_columns,
        memory: state.config.training_memory.0,
    })
}

fn refusal(error: LocationError) -> ApiError {
    let detail = error.to_string();
    match error {
        LocationError::NoneAllowed | LocationError::NotAllowed { .. } => {
            ApiError::new(ErrorCode::LocationNotAllowed, detail)
        }
        LocationError::Refused(_) | LocationError::Changed(_) => ApiError::invalid_parameter("/location", detail),
        LocationError::Dataset(error) => error.into(),
        LocationError::Pass(TrainError::Stopped) => ApiError::draining(),
        LocationError::Pass(TrainError::Data(_) | TrainError::Rows(_)) => {
            ApiError::invalid_parameter("/location", detail)
        }
        LocationError::Pass(TrainError::Engine(_)) => ApiError::new(ErrorCode::ClusterFailed, detail),
        LocationError::Pass(TrainError::Solve(_) | TrainError::Panicked) => ApiError::internal(detail),
    }
}
