//! The prediction pipeline: read the body, decode it, score its rows, encode the predictions. A protocol brings a
//! decoder and an encoder; the limits, the deadlines, the threads and the metrics are the same for all.

use crate::api::AppState;
use crate::api::auth::Caller;
use crate::api::http::body::{WholeBody, read_whole_with};
use crate::api::http::error::ApiError;
use crate::api::http::error_code::ErrorCode;
use crate::api::http::response_memory::budgeted_body;
use crate::api::state::blocking;
use crate::model::{FittedModel, Predictions};
use crate::serving::{Answer, BatchError, Outputs, ReadyModel, RequestRows, RowFlags, refuse_not_finite};
use crate::telemetry::{FlagKind, Outcome, PredictionStage, ShedReason};
use axum::body::Body;
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
use axum::response::Response;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Up to so many multiplications, about twenty microseconds, are done on the thread that has the request: handing them
/// to another would take as long.
const INLINE_WORK: usize = 1 << 17;

/// Responses of more numbers are encoded off the async threads.
const MANY_NUMBERS: usize = 1 << 14;

/// The milliseconds that a client is willing to wait.
const TIMEOUT_HEADER: HeaderName = HeaderName::from_static("x-timeout-ms");

/// A request for a loaded model.
#[derive(Clone, Copy)]
pub(super) struct PredictionRequest<'a> {
    pub(super) state: &'a AppState,
    pub(super) caller: &'a Caller,
    pub(super) model: &'a Arc<ReadyModel>,
    pub(super) parts: &'a Parts,
    pub(super) start: Instant,
    pub(super) deadline: Instant,
}

/// Reads the body of a request in one protocol.
pub(super) trait Decoder: Send + Sized + 'static {
    type Encoder: Encoder;

    /// Looks at the bytes so far of a body that arrives in parts; `expected` is its length, 0 if unknown. Returns the
    /// bytes that it has allocated.
    fn advance(&mut self, _so_far: &[u8], _expected: usize) -> usize {
        0
    }

    /// The time spent in `advance`.
    fn time_spent(&self) -> Duration {
        Duration::ZERO
    }

    /// Decodes the complete body, which may hold at most `max_rows` rows.
    fn decode(self, model: &FittedModel, body: &[u8], max_rows: usize) -> Result<Decoded<Self::Encoder>, ApiError>;
}

/// A decoded request.
pub(super) struct Decoded<E> {
    pub(super) rows: RequestRows,
    /// JSON pointer to the list of rows, for errors.
    pub(super) list: &'static str,
    pub(super) outputs: Outputs,
    /// The time that the body allows from the arrival of the request, if it says so.
    pub(super) timeout: Option<Duration>,
    pub(super) encoder: E,
}

/// Writes the response to a request in one protocol.
pub(super) trait Encoder: Send + 'static {
    fn encode(&self, model: &ReadyModel, answer: Answer) -> Result<Response<Vec<u8>>, ApiError>;
}

/// A response, the number of rows it is about, and when it was ready.
pub(super) struct Answered {
    pub(super) response: Response,
    pub(super) rows: usize,
    pub(super) ready_at: Instant,
}

/// Runs a request whose body is decoded as a whole.
pub(super) async fn run<D: Decoder>(
    request: &PredictionRequest<'_>,
    mut decoder: D,
    body: Body,
) -> Result<Answered, ApiError> {
    let PredictionRequest { state, model, start, mut deadline, .. } = *request;
    let body = read_body(request, body, |so_far, expected| decoder.advance(so_far, expected)).await?;
    let time_spent = decoder.time_spent();
    let (max_rows, max_numbers) = (state.config.max_prediction_rows, state.config.max_answer_numbers);
    let mut clock = StageClock::start();
    let decoded = sized(model, body.is_large(), move |model| {
        let fitted = model.predictor.model();
        let decoded = decoder.decode(fitted, &body, max_rows)?;
        let flags = RowFlags::check(&decoded.outputs, fitted, &decoded.rows, decoded.list)?;
        let flag_count = flags.as_ref().map_or(0, RowFlags::len);
        decoded.outputs.check_length(decoded.rows.len(), flag_count, fitted, max_numbers)?;
        Ok((decoded, flags))
    });
    let (Decoded { rows, list, outputs, timeout, encoder }, flags) = decoded.await?;
    model.meters.observe(PredictionStage::Decode, time_spent + clock.lap());
    if let Some(timeout) = timeout {
        deadline = deadline.min(start + timeout);
    }
    let row_count = rows.len();
    let flag_count = flags.as_ref().map_or(0, RowFlags::len);
    let source = RowSource::WholeRequest { list };
    let predictions = score(model, rows, &outputs, flags.as_ref(), deadline, source, &mut clock).await?;
    let is_long = outputs.numbers(row_count, flag_count, model.predictor.model()) > MANY_NUMBERS;
    let encoded = sized(model, is_long, move |model| {
        let (fitted, flags) = (model.predictor.model(), flags.as_ref());
        encoder.encode(model, Answer { outputs: &outputs, model: fitted, predictions: &predictions, flags })
    });
    let encoded = encoded.await?;
    model.meters.observe(PredictionStage::Encode, clock.lap());
    let (head, bytes) = encoded.into_parts();
    let response = Response::from_parts(head, budgeted_body(state, model, bytes)?);
    Ok(Answered { response, rows: row_count, ready_at: clock.last() })
}

/// Who brings rows to be scored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RowSource {
    /// A request with all its rows: refused if too many rows wait already.
    WholeRequest {
        /// JSON pointer to the list of rows, for errors.
        list: &'static str,
    },
    /// A table, one block after the other: its block waits, whatever else does.
    TableBlock,
}

impl RowSource {
    /// JSON pointer to the list of rows, for errors. Rows of tables have locations of their own.
    pub(super) fn list(self) -> &'static str {
        match self {
            Self::WholeRequest { list } => list,
            Self::TableBlock => "/rows",
        }
    }
}

/// Computes the predictions of some rows and counts them and their flags.
pub(super) async fn score(
    model: &ReadyModel,
    mut rows: RequestRows,
    outputs: &Outputs,
    flags: Option<&RowFlags>,
    deadline: Instant,
    source: RowSource,
    clock: &mut StageClock,
) -> Result<Predictions, ApiError> {
    let locations = std::mem::take(&mut rows.locations);
    let (extras, row_count) = (outputs.extras(), rows.len());
    let (unknown_levels, missing_cells) = (rows.unknown_levels, rows.missing_cells);
    let is_table = source == RowSource::TableBlock;
    model.drift.observe(model.predictor.model(), rows.rows());
    let predictions = if !is_table && row_count * model.predictor.operations_per_row(extras) <= INLINE_WORK {
        let rows: Vec<&[f64]> = rows.rows().collect();
        let predictions = model.predictor.compute(&rows, extras);
        model.meters.observe(PredictionStage::Compute, clock.lap());
        predictions
    } else {
        let predicted = Box::pin(model.batcher.predict(rows, extras, deadline, is_table)).await;
        clock.lap(); // the batcher has counted the time
        predicted.map_err(|error| not_computed(model, error))?
    };
    refuse_not_finite(&predictions, &locations, source.list())?;
    model.meters.predicted(row_count);
    // Decoding sees unknown levels and missing cells, so they are counted for every request. Ranges are counted where
    // they are looked at anyway: comparing every cell would slow down requests that do not ask for it.
    let out_of_range = flags.map_or(0, |flags| flags.count(FlagKind::OutOfRange));
    model.meters.flagged(FlagKind::UnknownLevel, unknown_levels);
    model.meters.flagged(FlagKind::Imputed, missing_cells);
    model.meters.flagged(FlagKind::OutOfRange, out_of_range);
    Ok(predictions)
}

fn not_computed(model: &ReadyModel, error: BatchError) -> ApiError {
    match error {
        BatchError::Full { .. } => {
            model.meters.shed(ShedReason::QueueFull);
            ApiError::new(ErrorCode::Overloaded, error.to_string())
        }
        BatchError::Expired => {
            model.meters.shed(ShedReason::Deadline);
            ApiError::new(ErrorCode::DeadlineExceeded, error.to_string())
        }
        BatchError::Panicked => ApiError::internal(error),
    }
}

async fn read_body(
    request: &PredictionRequest<'_>,
    body: Body,
    on_progress: impl FnMut(&[u8], usize) -> usize + Send,
) -> Result<WholeBody, ApiError> {
    let PredictionRequest { state, model, parts, deadline, .. } = *request;
    let outcome = read_whole_with(state, &parts.headers, body, deadline, on_progress).await;
    if outcome.as_ref().is_err_and(|error| error.outcome() == Outcome::Shed) {
        model.meters.shed(ShedReason::Overloaded);
    }
    outcome
}

/// Runs `work` on this thread if it is small, and off the async threads if it is large.
async fn sized<T: Send + 'static>(
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

/// The deadline of a request that arrived at `start`.
pub(super) fn deadline(state: &AppState, headers: &HeaderMap, start: Instant) -> Result<Instant, ApiError> {
    let longest = state.config.prediction_timeout_ms;
    let Some(value) = headers.get(TIMEOUT_HEADER) else { return Ok(start + Duration::from_millis(longest)) };
    let wanted =
        value.to_str().ok().and_then(|text| text.parse::<u64>().ok()).filter(|wanted| (1..=longest).contains(wanted));
    let wanted = wanted.ok_or_else(|| {
        let detail = format!("{TIMEOUT_HEADER} must be a whole number of milliseconds from 1 to {longest}");
        ApiError::new(ErrorCode::InvalidHeader, detail)
    })?;
    Ok(start + Duration::from_millis(wanted))
}

/// A response with a content type.
pub(super) fn typed<B>(media_type: &'static str, body: B) -> Response<B> {
    let mut response = Response::new(body);
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(media_type));
    response
}

/// Times the stages of a request. Each begins where the last one ended, so that a stage costs one look at the clock.
pub(super) struct StageClock(Instant);

impl StageClock {
    pub(super) fn start() -> Self {
        Self(Instant::now())
    }

    /// Ends a stage and returns its duration.
    pub(super) fn lap(&mut self) -> Duration {
        let now = Instant::now();
        now - std::mem::replace(&mut self.0, now)
    }

    /// When the last stage ended.
    fn last(&self) -> Instant {
        self.0
    }
}
