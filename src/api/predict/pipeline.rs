//! From rows to predictions, the same for every protocol.

use crate::api::AppState;
use crate::api::http::body::{WholeBody, read_whole_and};
use crate::api::http::error::ApiError;
use crate::api::state::blocking;
use crate::model::Predictions;
use crate::serving::{BatchError, Outputs, ReadyModel, RequestRows, refuse_not_finite};
use crate::telemetry::{Outcome, Protocol};
use axum::body::Body;
use axum::http::{HeaderMap, HeaderName, StatusCode};
use axum::response::Response;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// So many multiplications are done at once on the thread that has the request, about twenty microseconds: handing
/// them to another would take as long.
const INLINE_WORK: usize = 1 << 17;

/// Header with the milliseconds a client is willing to wait.
const TIMEOUT_HEADER: HeaderName = HeaderName::from_static("x-timeout-ms");

/// When a request that came at `start` gives up.
pub(crate) fn deadline(state: &AppState, headers: &HeaderMap, start: Instant) -> Result<Instant, ApiError> {
    let longest = state.config.prediction_timeout_ms;
    let Some(value) = headers.get(TIMEOUT_HEADER) else { return Ok(start + Duration::from_millis(longest)) };
    let wanted = value.to_str().ok().and_then(|text| text.parse::<u64>().ok()).filter(|wanted| *wanted > 0);
    let wanted = wanted.ok_or_else(|| {
        let detail = format!("{TIMEOUT_HEADER} must be a whole number of milliseconds from 1");
        ApiError::malformed("invalid_header", detail)
    })?;
    Ok(start + Duration::from_millis(wanted.min(longest)))
}

/// The stages of a request, each beginning where the one before ended: a small one takes no longer than a look at the
/// clock.
pub(crate) struct Laps(Instant);

impl Laps {
    /// The first one begins.
    pub(crate) fn begin() -> Self {
        Self(Instant::now())
    }

    /// How long the one took that ends now.
    pub(crate) fn end(&mut self) -> Duration {
        let now = Instant::now();
        now - std::mem::replace(&mut self.0, now)
    }

    /// When the last one ended.
    pub(crate) fn last(&self) -> Instant {
        self.0
    }
}

/// Runs `work` for a model here if it is small, and off the async threads if it is large.
pub(crate) async fn sized<T: Send + 'static>(
    model: &Arc<ReadyModel>,
    large: bool,
    work: impl FnOnce(&ReadyModel) -> Result<T, ApiError> + Send + 'static,
) -> Result<T, ApiError> {
    if large {
        let model = Arc::clone(model);
        return Box::pin(blocking(move || work(&model))).await;
    }
    work(model)
}

/// Computes what is asked for. `list` leads to the rows in the request, for errors.
pub(crate) async fn score(
    model: &ReadyModel,
    mut block: RequestRows,
    outputs: &Outputs,
    deadline: Instant,
    list: &str,
    laps: &mut Laps,
) -> Result<Predictions, ApiError> {
    let locations = std::mem::take(&mut block.locations);
    let (extras, rows, unknown_levels) = (outputs.extras(), block.len(), block.unknown_levels);
    let predictions = if rows * model.predictor.operations_per_row(extras) <= INLINE_WORK {
        let rows: Vec<&[f64]> = block.rows().collect();
        let predictions = model.predictor.compute(&rows, extras);
        model.meters.compute.observe(laps.end());
        predictions
    } else {
        let predicted = Box::pin(model.batcher.predict(block, extras, deadline, false)).await;
        laps.end(); // the batcher has told how long it took
        predicted.map_err(|error| shed(model, error))?
    };
    refuse_not_finite(&predictions, &locations, list)?;
    model.meters.predicted(rows);
    if unknown_levels > 0 {
        model.meters.unknown_levels.inc_by(unknown_levels);
    }
    Ok(predictions)
}

/// Why rows were not computed, as an answer.
pub(crate) fn shed(model: &ReadyModel, error: BatchError) -> ApiError {
    match error {
        BatchError::Full { .. } => {
            model.meters.shed("queue_full");
            ApiError::busy("overloaded", error.to_string())
        }
        BatchError::Expired => {
            model.meters.shed("deadline");
            ApiError::new(StatusCode::GATEWAY_TIMEOUT, "deadline_exceeded", error.to_string())
        }
        BatchError::Panicked => ApiError::internal(error),
    }
}

/// The whole body of a request for a model, shown as it comes.
pub(crate) async fn read_body(
    state: &AppState,
    model: &ReadyModel,
    headers: &HeaderMap,
    body: Body,
    deadline: Instant,
    show: impl FnMut(&[u8], usize) -> usize + Send,
) -> Result<WholeBody, ApiError> {
    let outcome = read_whole_and(state, headers, body, deadline, show).await;
    if outcome.as_ref().is_err_and(|error| error.outcome() == Outcome::Shed) {
        model.meters.shed("overloaded");
    }
    outcome
}

/// So many numbers are written off the async threads.
const MANY_NUMBERS: usize = 1 << 14;

/// Whether an answer is to be written off the async threads.
pub(crate) fn is_long(model: &ReadyModel, outputs: &Outputs, predictions: &Predictions) -> bool {
    predictions.values.nrows() * outputs.numbers_per_row(model.predictor.model()) > MANY_NUMBERS
}

/// An answer, and the rows it is about.
pub(crate) struct Answered {
    pub(crate) response: Response,
    pub(crate) rows: usize,
    /// When it was ready.
    pub(crate) at: Instant,
}

/// Counts how a request ended.
pub(crate) fn counted(
    model: &ReadyModel,
    protocol: Protocol,
    start: Instant,
    outcome: Result<Answered, ApiError>,
) -> Result<Answered, ApiError> {
    match &outcome {
        Ok(answered) => model.meters.answered(protocol, start, answered.at, answered.rows),
        Err(error) => model.meters.ended(protocol, error.outcome(), start.elapsed()),
    }
    outcome
}
