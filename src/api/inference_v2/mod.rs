//! `/v2`: the Open Inference Protocol, as Triton, KServe and their clients speak it.

/// Tensors and their bytes.
mod tensor;

/// Requests.
mod request;

/// Tensors as rows.
mod rows;

/// Predictions as tensors.
mod response;

/// What there is to be asked.
mod metadata;

/// Loading and unloading.
mod repository;

pub(super) use metadata::{live, model, model_ready, model_stats, model_version};
pub(super) use metadata::{ready, server, stats, version_ready, version_stats};
pub(super) use repository::{index, load, unload};

use super::AppState;
use super::body::read_whole;
use super::error::ApiError;
use super::extract::ModelPath;
use super::scoring::{count, deadline, score};
use super::watch::Watch;
use crate::serving::{OutputRequest, Outputs, ReadyModel, Refusal};
use crate::telemetry::{PredictionRoute, Protocol};
use axum::body::Bytes;
use axum::extract::{RawPathParams, Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
use axum::response::{IntoResponse, Response};
use flate2::Compression;
use flate2::write::{GzEncoder, ZlibEncoder};
use request::InferRequest;
use std::io::Write;
use std::time::{Duration, Instant};

/// Bytes of JSON before the bytes of tensors.
const JSON_LENGTH: HeaderName = HeaderName::from_static("inference-header-content-length");

/// Answers smaller than this are not worth compressing.
const WORTH_COMPRESSING: usize = 1024;

/// `POST /v2/models/{model}/infer`.
pub(super) async fn infer(State(state): State<AppState>, parameters: RawPathParams, request: Request) -> Response {
    let (watch, request) = Watch::start(&state, PredictionRoute::Infer, request);
    watch.over(answer(state, parameters, request)).await
}

/// `POST /v2/models/{model}/versions/{version}/infer`.
pub(super) async fn infer_version(
    State(state): State<AppState>,
    parameters: RawPathParams,
    request: Request,
) -> Response {
    let (watch, request) = Watch::start(&state, PredictionRoute::InferVersion, request);
    watch.over(answer(state, parameters, request)).await
}

async fn answer(state: AppState, parameters: RawPathParams, request: Request) -> Result<Response, ApiError> {
    let start = Instant::now();
    let path = ModelPath::read(&parameters)?;
    let model = state.load(path.name, path.version).await?;
    // Stock clients send no content type, so that none is asked for.
    let (parts, body) = request.into_parts();
    let body = read_whole(&parts.headers, body, state.config.max_request.0).await;
    let outcome = match body {
        Ok(body) => answer_by(&state, &model, &parts.headers, &body).await,
        Err(error) => Err(error),
    };
    count(&model, Protocol::InferenceV2, start, &outcome);
    outcome
}

async fn answer_by(
    state: &AppState,
    model: &ReadyModel,
    headers: &HeaderMap,
    body: &Bytes,
) -> Result<Response, ApiError> {
    let start = Instant::now();
    let mut deadline = deadline(state, headers, start)?;
    let request = InferRequest::read(body, json_length(headers)?)?;
    if let Some(timeout) = request.timeout_us {
        deadline = deadline.min(start + Duration::from_micros(timeout));
    }
    let fitted = model.predictor.model();
    let wanted = match &request.outputs {
        Some(requested) => {
            let find = |(index, output)| response::find_output(output, index, fitted);
            requested.iter().enumerate().map(find).collect::<Result<Vec<_>, Refusal>>()?
        }
        None => response::default_outputs(fitted),
    };
    let names = wanted.iter().map(|output| output.name().to_owned()).collect();
    let asked = OutputRequest { names: Some(names), delta: request.delta, ..OutputRequest::default() };
    let outputs = Outputs::check(&asked, fitted)?;
    let block = rows::rows_of(&request.inputs, fitted, state.config.max_prediction_rows)?;
    model.meters.decode.observe(start.elapsed());
    let predictions = score(model, block, &outputs, deadline, "/rows").await?;

    let start = Instant::now();
    let labels = fitted.head.labels().map_or(&[][..], |labels| &labels.labels);
    let mut tensors = Vec::with_capacity(wanted.len());
    for (index, output) in wanted.iter().enumerate() {
        let requested = request.outputs.as_ref().map(|outputs| &outputs[index]);
        let mut tensor = response::tensor(*output, &outputs, fitted, &predictions)?;
        if let Some(count) = requested.and_then(|requested| requested.classes) {
            tensor = response::classified(tensor, count, labels)?;
        }
        tensors.push((tensor, requested.map_or(request.binary_output, |requested| requested.binary)));
    }
    let (bytes, json_length) = response::body(model, request.id.as_ref(), &tensors);
    let answer = compressed(headers, bytes, json_length);
    model.meters.encode.observe(start.elapsed());
    answer
}

fn json_length(headers: &HeaderMap) -> Result<Option<usize>, ApiError> {
    let Some(value) = headers.get(JSON_LENGTH) else { return Ok(None) };
    let length = value.to_str().ok().and_then(|text| text.parse().ok());
    let wrong = || ApiError::malformed("invalid_header", format!("{JSON_LENGTH} must be a whole number"));
    length.map(Some).ok_or_else(wrong)
}

/// The answer, in gzip or deflate where the client takes it.
fn compressed(headers: &HeaderMap, bytes: Vec<u8>, json_length: Option<usize>) -> Result<Response, ApiError> {
    let accepted = headers.get(header::ACCEPT_ENCODING).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let accepts = |name: &str| {
        accepted.split(',').any(|item| {
            let mut parts = item.split(';').map(str::trim);
            parts.next().is_some_and(|coding| coding.eq_ignore_ascii_case(name)) && !parts.any(|part| part == "q=0")
        })
    };
    let small = bytes.len() < WORTH_COMPRESSING;
    let (bytes, encoding) = if !small && accepts("gzip") {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(&bytes)?;
        (encoder.finish()?, Some("gzip"))
    } else if !small && accepts("deflate") {
        let mut encoder = ZlibEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(&bytes)?;
        (encoder.finish()?, Some("deflate"))
    } else {
        (bytes, None)
    };
    let media_type = if json_length.is_some() { "application/octet-stream" } else { "application/json" };
    let mut response = ([(header::CONTENT_TYPE, media_type)], bytes).into_response();
    if let Some(encoding) = encoding {
        response.headers_mut().insert(header::CONTENT_ENCODING, HeaderValue::from_static(encoding));
    }
    if let Some(length) = json_length {
        response.headers_mut().insert(JSON_LENGTH, HeaderValue::from(length));
    }
    Ok(response)
}
