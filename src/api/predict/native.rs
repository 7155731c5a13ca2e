//! `/api/v1/models/{model}/predict`.

use super::pipeline::{Answered, Laps, counted, deadline, is_long, read_body, score, sized};
use super::tables::answer_table;
use crate::api::AppState;
use crate::api::http::accept::accepted_format;
use crate::api::http::body::{WholeBody, csv_header, media_type};
use crate::api::http::drain::patient;
use crate::api::http::error::ApiError;
use crate::api::http::extract::{ModelPath, QueryFields};
use crate::api::http::response_memory::{outgoing, typed};
use crate::api::http::watch::Watch;
use crate::dataset::{CsvOptions, parse_delimiter};
use crate::model::Predictions;
use crate::serving::{
    Answer, AnswerWriter, Format, JsonRequest, OutputPlace, OutputRequest, Outputs, ReadyModel, Refusal, RowScan,
    read_request,
};
use crate::telemetry::{PredictionRoute, Protocol};
use axum::body::Body;
use axum::http::HeaderMap;
use axum::http::request::Parts;
use axum::response::Response;
use std::pin::pin;
use std::sync::Arc;
use std::time::Instant;

/// Bytes that a short answer takes, about.
const ROOM: usize = 64;

/// `POST …/{model}/predict`: by the newest version, or that of the alias. `POST …/{model}/versions/{version}/predict`.
pub(crate) async fn predict(state: &AppState, path: ModelPath<'_>, parts: &Parts, body: Body) -> Response {
    let route = if path.has_version() { PredictionRoute::PredictVersion } else { PredictionRoute::Predict };
    let watch = Watch::start(state, route, &parts.headers);
    let start = watch.start;
    watch.over(pin!(answer(state, &path, parts, patient(body), start))).await
}

async fn answer(
    state: &AppState,
    path: &ModelPath<'_>,
    parts: &Parts,
    body: Body,
    start: Instant,
) -> Result<Answered, ApiError> {
    let (name, version) = path.read()?;
    let deadline = deadline(state, &parts.headers, start)?;
    let model = state.load_by(name, version, deadline).await?;
    let outcome = answer_by(state, &model, parts, body, deadline).await;
    counted(&model, Protocol::Native, start, outcome)
}

async fn answer_by(
    state: &AppState,
    model: &Arc<ReadyModel>,
    parts: &Parts,
    body: Body,
    deadline: Instant,
) -> Result<Answered, ApiError> {
    let options = Options::read(&QueryFields::read(&parts.uri)?, &parts.headers)?;
    match options.input {
        Format::Json => {
            let mut scan = RowScan::of_request(model.predictor.model(), state.config.max_prediction_rows);
            let show = |so_far: &[u8], expected| scan.advance(so_far, expected);
            let body = read_body(state, model, &parts.headers, body, deadline, show).await?;
            answer_json(state, model, options, (body, scan), deadline).await
        }
        Format::Ndjson | Format::Csv | Format::Arrow => {
            Box::pin(answer_table(state, model, options, &parts.headers, body, deadline)).await
        }
    }
}

/// How a request is to be read and answered.
pub(crate) struct Options {
    pub(crate) input: Format,
    pub(crate) output: Format,
    pub(crate) csv: CsvOptions,
    pub(crate) outputs: OutputRequest,
}

impl Options {
    fn read(query: &QueryFields, headers: &HeaderMap) -> Result<Self, ApiError> {
        query.check(&["outputs", "top_k", "delta", "header", "delimiter"])?;
        let input = input_format(&media_type(headers))?;
        let delimiter = query.text("delimiter").map_or(Ok(b','), parse_delimiter)?;
        let names = query.text("outputs").map(|list| list.split(',').map(|name| name.trim().to_owned()).collect());
        Ok(Self {
            input,
            output: accepted_format(headers, input)?,
            csv: CsvOptions {
                delimiter,
                header: query.parsed("header", "true or false")?.or_else(|| match input {
                    Format::Csv => csv_header(headers),
                    Format::Json | Format::Ndjson | Format::Arrow => None,
                }),
            },
            outputs: OutputRequest {
                names,
                top_k: query.parsed("top_k", "a whole number")?,
                delta: query.parsed("delta", "a number")?,
                place: OutputPlace::Query,
            },
        })
    }
}

/// Many clients send no type; what they send is JSON.
fn input_format(media_type: &str) -> Result<Format, ApiError> {
    if media_type.is_empty() {
        return Ok(Format::Json);
    }
    Format::named(media_type).ok_or_else(|| {
        let accepted = Format::ALL.map(Format::media_type).join(", ");
        ApiError::unsupported_media_type(media_type, &accepted)
    })
}

/// A JSON request is read whole and answered at once.
async fn answer_json(
    state: &AppState,
    model: &Arc<ReadyModel>,
    options: Options,
    (body, scan): (WholeBody, RowScan),
    deadline: Instant,
) -> Result<Answered, ApiError> {
    let (output, large, scanned) = (options.output, body.is_large(), scan.took());
    let (rows_limit, numbers_limit) = (state.config.max_prediction_rows, state.config.max_answer_numbers);
    let mut laps = Laps::begin();
    let read = move |model: &ReadyModel| decode(model, &options, &body, scan, rows_limit, numbers_limit);
    let decoded = sized(model, large, read).await?;
    model.meters.decode.observe(scanned + laps.end());
    let (JsonRequest { block, place, .. }, outputs) = decoded;
    let rows = block.len();
    let predictions = score(model, block, &outputs, deadline, place, &mut laps).await?;
    let long = is_long(model, &outputs, &predictions);
    let text = sized(model, long, move |model| encode(model, output, &outputs, &predictions)).await?;
    model.meters.encode.observe(laps.end());
    let body = outgoing(state, model, text)?;
    Ok(Answered { response: typed(output.media_type(), body), rows, at: laps.last() })
}

fn decode(
    model: &ReadyModel,
    options: &Options,
    body: &[u8],
    scan: RowScan,
    rows_limit: usize,
    numbers_limit: usize,
) -> Result<(JsonRequest, Outputs), ApiError> {
    if body.is_empty() {
        return Err(ApiError::empty_body());
    }
    let fitted = model.predictor.model();
    let request = read_request(body, scan, fitted, rows_limit)?;
    let asked = match (options.outputs.is_empty(), request.outputs.is_empty()) {
        (true, _) => &request.outputs,
        (false, true) => &options.outputs,
        (false, false) => return Err(Refusal::invalid("", "outputs are asked for in the query and in the body").into()),
    };
    let outputs = Outputs::check(asked, fitted)?;
    outputs.check_length(request.block.len(), fitted, numbers_limit)?;
    Ok((request, outputs))
}

fn encode(
    model: &ReadyModel,
    format: Format,
    outputs: &Outputs,
    predictions: &Predictions,
) -> Result<Vec<u8>, ApiError> {
    let (entry, rows) = (&model.entry, predictions.values.nrows());
    let target = Vec::with_capacity(ROOM + ROOM * rows);
    let mut writer = AnswerWriter::begin(format, target, &entry.name, entry.version)?;
    writer.write(Answer { outputs, model: model.predictor.model(), predictions })?;
    Ok(writer.finish()?)
}
