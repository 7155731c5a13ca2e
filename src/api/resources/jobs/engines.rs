//! Where the passes of a training run, and what a dataset allows of it.

use crate::api::AppState;
use crate::api::http::error::ApiError;
use crate::api::http::error_code::ErrorCode;
use crate::cluster::{Locations, TablePlace, open_unchanged, place_of};
use crate::dataset::Dataset;
use crate::jobs::JobEngine;
use crate::request::problem::Problem;
use crate::training::{TrainSpec, estimate_located_memory, estimate_memory};
use serde_json::{Map, Value};

/// The engine that a request names, or a problem.
pub(super) fn requested_engine(state: &AppState, body: &Map<String, Value>, problems: &mut Vec<Problem>) -> JobEngine {
    let Some(named) = body.get("engine") else { return JobEngine::Local };
    match named.as_str().and_then(JobEngine::from_name) {
        Some(JobEngine::Spark) if state.config.cluster.spark_master.is_none() => {
            let detail = "the service has no cluster: start it with --spark-master, or leave engine out to train here";
            problems.push(Problem::new("/engine", detail));
        }
        Some(engine) => return engine,
        None => problems.push(Problem::new("/engine", "must be 'local' or 'spark'")),
    }
    JobEngine::Local
}

/// Refuses what an engine or a dataset by location cannot do.
pub(super) fn check_dataset(
    state: &AppState,
    dataset: &Dataset,
    engine: JobEngine,
    spec: &TrainSpec,
) -> Result<(), ApiError> {
    if dataset.location.is_none() {
        return match engine {
            JobEngine::Local => Ok(()),
            JobEngine::Spark => {
                let detail = "passes on Spark need a dataset by location; the rows of this one are stored by the service: \
                              leave engine out";
                Err(ApiError::invalid_field(ErrorCode::InvalidJob, "/engine", detail))
            }
        };
    }
    spec.check_for_files("/spec").map_err(|problems| ApiError::invalid(ErrorCode::InvalidJob, problems))?;
    let locations = Locations::new(&state.config.cluster.dataset_locations);
    let refuse = |field: &str, detail: String| Err(ApiError::invalid_field(ErrorCode::InvalidJob, field, detail));
    let opened = match (place_of(&locations, dataset), engine) {
        (Ok(TablePlace::Folder(path)), _) => open_unchanged(&path, dataset).map(drop),
        // The job compares the files, by the session that it starts.
        (Ok(TablePlace::Remote(_)), JobEngine::Spark) => Ok(()),
        (Ok(TablePlace::Remote(uri)), JobEngine::Local) => {
            let detail = format!("the files at {uri} can only be read on Spark: ask for 'spark'");
            return refuse("/engine", detail);
        }
        (Err(error), _) => Err(error),
    };
    opened.or_else(|error| refuse("/dataset", error.to_string()))
}

/// Bytes that a training would take.
pub(super) fn memory_need(spec: &TrainSpec, dataset: &Dataset, threads: usize) -> u64 {
    match dataset.location {
        None => estimate_memory(spec, &dataset.schema, threads),
        Some(_) => estimate_located_memory(spec, &dataset.schema, threads),
    }
}
