//! `/api/v1/models/{model}/predict`.

use super::AppState;
use super::body::{blocking_reader, content_encoding, media_type, read_whole, refuse_announced};
use super::error::ApiError;
use super::extract::{ModelPath, QueryFields};
use super::scoring::{count, deadline, score, shed};
use super::spool::Spool;
use super::state::blocking;
use super::watch::Watch;
use crate::dataset::{CsvOptions, parse_delimiter};
use crate::serving::{
    Answer, AnswerWriter, Format, OutputRequest, Outputs, ReadyModel, Refusal, RowReader, read_request,
    refuse_not_finite,
};
use crate::telemetry::{PredictionRoute, Protocol};
use axum::body::{Body, Bytes};
use axum::extract::{RawPathParams, Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use std::cell::Cell;
use std::io::Read;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Bytes that a short answer takes, about.
const ROOM: usize = 64;

/// `POST …/{model}/predict`: by the newest version, or that of the alias.
pub(super) async fn predict(State(state): State<AppState>, parameters: RawPathParams, request: Request) -> Response {
    let (watch, request) = Watch::start(&state, PredictionRoute::Predict, request);
    let start = watch.start;
    watch.over(answer(state, parameters, request, start)).await
}

/// `POST …/{model}/versions/{version}/predict`.
pub(super) async fn predict_version(
    State(state): State<AppState>,
    parameters: RawPathParams,
    request: Request,
) -> Response {
    let (watch, request) = Watch::start(&state, PredictionRoute::PredictVersion, request);
    let start = watch.start;
    watch.over(answer(state, parameters, request, start)).await
}

async fn answer(
    state: AppState,
    parameters: RawPathParams,
    request: Request,
    start: Instant,
) -> Result<Response, ApiError> {
    let path = ModelPath::read(&parameters)?;
    let model = state.load(path.name, path.version).await?;
    let outcome = answer_by(&state, &model, request, start).await;
    count(&model, Protocol::Native, start, &outcome);
    outcome
}

async fn answer_by(
    state: &AppState,
    model: &Arc<ReadyModel>,
    request: Request,
    start: Instant,
) -> Result<Response, ApiError> {
    let options = Options::read(&QueryFields::read(request.uri())?, request.headers())?;
    let deadline = deadline(state, request.headers(), start)?;
    let (parts, body) = request.into_parts();
    match options.input {
        Format::Json => {
            let body = read_whole(&parts.headers, body, state.config.max_request.0).await?;
            answer_json(state, model, &options, &body, deadline).await
        }
        Format::Ndjson | Format::Csv | Format::Arrow => {
            Box::pin(answer_stream(state, model, options, &parts.headers, body, deadline)).await
        }
    }
}

/// How a request is to be read and answered.
struct Options {
    input: Format,
    output: Format,
    csv: CsvOptions,
    outputs: OutputRequest,
}

impl Options {
    fn read(query: &QueryFields, headers: &HeaderMap) -> Result<Self, ApiError> {
        query.check(&["outputs", "top_k", "delta", "header", "delimiter"])?;
        let input = input_format(&media_type(headers))?;
        let delimiter = query.text("delimiter").map_or(Ok(b','), parse_delimiter)?;
        let names = query.text("outputs").map(|list| list.split(',').map(|name| name.trim().to_owned()).collect());
        Ok(Self {
            input,
            output: output_format(headers, input)?,
            csv: CsvOptions { delimiter, header: query.parsed("header", "true or false")? },
            outputs: OutputRequest {
                names,
                top_k: query.parsed("top_k", "a whole number")?,
                delta: query.parsed("delta", "a number")?,
                in_query: true,
            },
        })
    }
}

/// Many clients send no type; what they send is JSON.
fn input_format(media_type: &str) -> Result<Format, ApiError> {
    match media_type {
        "" | "application/json" => Ok(Format::Json),
        "application/x-ndjson" | "application/jsonl" | "application/ndjson" => Ok(Format::Ndjson),
        "text/csv" => Ok(Format::Csv),
        "application/vnd.apache.arrow.stream" => Ok(Format::Arrow),
        other => {
            let accepted = Format::ALL.map(Format::media_type).join(", ");
            Err(ApiError::unsupported_media_type(other, &accepted))
        }
    }
}

/// The first format of `Accept` that we have; where anything is accepted, that of the request.
fn output_format(headers: &HeaderMap, input: Format) -> Result<Format, ApiError> {
    let Some(accept) = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok()) else { return Ok(input) };
    for range in accept.split(',') {
        let range = range.split(';').next().unwrap_or_default().trim();
        let natural = range == "*/*" || range == "application/*" || range.is_empty();
        let named = Format::ALL.into_iter().find(|format| format.media_type().eq_ignore_ascii_case(range));
        if let Some(format) = named.or(natural.then_some(input)) {
            return Ok(format);
        }
    }
    let detail = format!("'{accept}' is not written here; ask for {}", Format::ALL.map(Format::media_type).join(", "));
    Err(ApiError::new(StatusCode::NOT_ACCEPTABLE, "not_acceptable", detail))
}

/// A JSON request is read whole and answered at once.
async fn answer_json(
    state: &AppState,
    model: &ReadyModel,
    options: &Options,
    body: &Bytes,
    deadline: Instant,
) -> Result<Response, ApiError> {
    let start = Instant::now();
    if body.is_empty() {
        return Err(ApiError::malformed("empty_body", "the body is empty; send a JSON object"));
    }
    let fitted = model.predictor.model();
    let request = read_request(body, fitted, state.config.max_prediction_rows)?;
    let asked = match (options.outputs.is_empty(), request.outputs.is_empty()) {
        (true, _) => &request.outputs,
        (false, true) => &options.outputs,
        (false, false) => return Err(Refusal::invalid("", "outputs are asked for in the query and in the body").into()),
    };
    let outputs = Outputs::check(asked, fitted)?;
    let rows = request.block.len();
    model.meters.decode.observe(start.elapsed());
    let predictions = score(model, request.block, &outputs, deadline, request.place).await?;
    let start = Instant::now();
    let entry = &model.entry;
    let mut writer =
        AnswerWriter::begin(options.output, Vec::with_capacity(ROOM + ROOM * rows), &entry.name, entry.version)?;
    writer.write(Answer { outputs: &outputs, model: fitted, predictions: &predictions })?;
    let text = writer.finish()?;
    model.meters.encode.observe(start.elapsed());
    Ok(([(header::CONTENT_TYPE, options.output.media_type())], text).into_response())
}

/// A table is read, computed and written block by block. The answer waits, on disk if it is long, until the last row
/// is read: only then is it known to be right, and clients that send everything before they read anything are served.
async fn answer_stream(
    state: &AppState,
    model: &Arc<ReadyModel>,
    options: Options,
    headers: &HeaderMap,
    body: Body,
    deadline: Instant,
) -> Result<Response, ApiError> {
    let encoding = content_encoding(headers)?;
    let limit = state.config.max_upload.0;
    refuse_announced(headers, limit)?;
    let outputs = Outputs::check(&options.outputs, model.predictor.model())?;
    let permit = state.streams.clone().try_acquire_owned().map_err(|_| {
        model.meters.shed("overloaded");
        ApiError::busy("overloaded", "too many tables are being predicted at once")
    })?;
    let body = blocking_reader(body, state.config.upload_idle_seconds);
    let spool = Spool::new(&state.config.data_dir);
    let patience = deadline.saturating_duration_since(Instant::now()); // of every block
    let output = options.output;
    let model = Arc::clone(model);
    let spool = blocking(move || -> Result<Spool, ApiError> {
        let _permit = permit;
        let unreadable = |error| ApiError::malformed("unreadable_body", encoding.unreadable(&error));
        let exceeded = Cell::new(false);
        let outcome = encoding.decoder(body).map_err(unreadable).and_then(|source| {
            let source = Limited { source, left: limit, exceeded: &exceeded };
            predict_table(&model, &options, &outputs, source, spool, patience)
        });
        if exceeded.get() { Err(ApiError::too_large(limit)) } else { outcome }
    })
    .await?;
    Ok(([(header::CONTENT_TYPE, output.media_type())], spool.into_body()?).into_response())
}

fn predict_table(
    model: &ReadyModel,
    options: &Options,
    outputs: &Outputs,
    source: impl Read,
    spool: Spool,
    patience: Duration,
) -> Result<Spool, ApiError> {
    let fitted = model.predictor.model();
    let entry = &model.entry;
    let mut writer = AnswerWriter::begin(options.output, spool, &entry.name, entry.version)?;
    let Some(mut reader) = RowReader::open(options.input, source, options.csv, fitted)? else {
        return Err(ApiError::internal("a JSON body does not stream"));
    };
    let runtime = tokio::runtime::Handle::current();
    loop {
        let start = Instant::now();
        let Some(block) = reader.next_block()? else { break };
        model.meters.decode.observe(start.elapsed());
        let (rows, unknown_levels) = (block.len(), block.unknown_levels);
        let predicted = model.batcher.predict(block, outputs.extras(), Instant::now() + patience, true);
        let predictions = runtime.block_on(predicted).map_err(|error| shed(model, error))?;
        refuse_not_finite(&predictions, writer.rows, "/rows")?;
        let start = Instant::now();
        writer.write(Answer { outputs, model: fitted, predictions: &predictions })?;
        model.meters.encode.observe(start.elapsed());
        model.meters.rows.inc_by(rows as u64);
        model.meters.unknown_levels.inc_by(unknown_levels);
    }
    if writer.rows == 0 {
        return Err(Refusal::invalid("", "the table has no rows").into());
    }
    Ok(writer.finish()?)
}

/// A source that ends in an error where it grows beyond its limit, and says so.
struct Limited<'a, R> {
    source: R,
    left: u64,
    exceeded: &'a Cell<bool>,
}

impl<R: Read> Read for Limited<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let count = self.source.read(buffer)?;
        self.left = self.left.checked_sub(count as u64).ok_or_else(|| {
            self.exceeded.set(true);
            std::io::Error::from(std::io::ErrorKind::FileTooLarge)
        })?;
        Ok(count)
    }
}
