//! `/v2`: the Open Inference Protocol, as Triton, KServe and their clients speak it.

/// Tensors and their bytes.
mod tensor;

/// Lists in lists.
mod nesting;

/// Requests.
mod request;

/// Tensors as rows.
mod tensor_rows;

/// Predictions as tensors.
mod response;

/// What there is to be asked.
mod metadata;

/// Loading and unloading.
mod repository;

pub(crate) use metadata::{live, model, model_ready, model_stats, model_version};
pub(crate) use metadata::{ready, server, stats, version_ready, version_stats};
pub(crate) use repository::{index, load, unload};

use super::pipeline::{Answered, Laps, counted, deadline, is_long, read_body, score, sized};
use crate::api::AppState;
use crate::api::http::accept::{Range, field_lines};
use crate::api::http::body::WholeBody;
use crate::api::http::drain::patient;
use crate::api::http::error::ApiError;
use crate::api::http::extract::ModelPath;
use crate::api::http::response_memory::outgoing;
use crate::api::http::watch::Watch;
use crate::model::Predictions;
use crate::serving::{Output, OutputPlace, OutputRequest, Outputs, ReadyModel, Refusal, RequestRows};
use crate::telemetry::{PredictionRoute, Protocol};
use axum::body::{Body, Bytes};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
use axum::response::{IntoResponse, Response};
use flate2::Compression;
use flate2::write::{GzEncoder, ZlibEncoder};
use request::InferRequest;
use std::io::Write;
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Bytes of JSON before the bytes of tensors.
const JSON_LENGTH: HeaderName = HeaderName::from_static("inference-header-content-length");

/// Inputs beyond the columns of a model that are passed over; more are refused.
const SPARE_INPUTS: usize = 1024;

/// Answers smaller than this are not worth compressing.
const WORTH_COMPRESSING: usize = 1024;

/// `POST /v2/models/{model}/infer` and `POST /v2/models/{model}/versions/{version}/infer`.
pub(crate) async fn infer(state: &AppState, path: ModelPath<'_>, parts: &Parts, body: Body) -> Response {
    let route = if path.has_version() { PredictionRoute::InferVersion } else { PredictionRoute::Infer };
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
    // Stock clients send no content type, so that none is asked for.
    let outcome = match read_body(state, &model, &parts.headers, body, deadline, |_, _| 0).await {
        Ok(body) => answer_by(state, &model, &parts.headers, body, (start, deadline)).await,
        Err(error) => Err(error),
    };
    counted(&model, Protocol::InferenceV2, start, outcome)
}

async fn answer_by(
    state: &AppState,
    model: &Arc<ReadyModel>,
    headers: &HeaderMap,
    body: WholeBody,
    (start, mut deadline): (Instant, Instant),
) -> Result<Answered, ApiError> {
    let (rows_limit, numbers_limit) = (state.config.max_prediction_rows, state.config.max_answer_numbers);
    let json_length = json_length(headers)?;
    let coding = Coding::accepted(headers);
    let mut laps = Laps::begin();
    let decoded = sized(model, body.is_large(), move |model| {
        let (asked, block) = decode(model, &body, json_length, rows_limit)?;
        asked.outputs.check_length(block.len(), model.predictor.model(), numbers_limit)?;
        Ok((asked, block))
    });
    let (asked, block) = decoded.await?;
    model.meters.decode.observe(laps.end());
    if let Some(timeout) = asked.request.timeout_us {
        deadline = deadline.min(start + Duration::from_micros(timeout));
    }
    let rows = block.len();
    let predictions = score(model, block, &asked.outputs, deadline, "/rows", &mut laps).await?;
    let long = is_long(model, &asked.outputs, &predictions);
    let (bytes, head) = sized(model, long, move |model| encode(model, &asked, &predictions, coding)).await?;
    model.meters.encode.observe(laps.end());
    let response = (head, outgoing(state, model, bytes)?).into_response();
    Ok(Answered { response, rows, at: laps.last() })
}

/// What a request asks for.
struct Asked {
    request: InferRequest,
    wanted: Vec<Output>,
    outputs: Outputs,
}

fn decode(
    model: &ReadyModel,
    body: &Bytes,
    json_length: Option<usize>,
    limit: usize,
) -> Result<(Asked, RequestRows), ApiError> {
    if body.is_empty() {
        return Err(ApiError::empty_body());
    }
    let fitted = model.predictor.model();
    let most_inputs = fitted.inputs.encoding.columns.len() + SPARE_INPUTS;
    let mut request = InferRequest::read(body, json_length, most_inputs)?;
    let wanted = match &request.outputs {
        Some(requested) => {
            let find = |(index, output)| response::find_output(output, index, fitted);
            requested.iter().enumerate().map(find).collect::<Result<Vec<_>, Refusal>>()?
        }
        None => response::default_outputs(fitted),
    };
    let names = wanted.iter().map(|output| output.name().to_owned()).collect();
    let named = OutputRequest { names: Some(names), delta: request.delta, top_k: None, place: OutputPlace::Inference };
    let outputs = Outputs::check(&named, fitted)?;
    let block = tensor_rows::rows_of(&mut request.inputs, fitted, limit)?;
    request.inputs = Vec::new(); // they are rows now
    Ok((Asked { request, wanted, outputs }, block))
}

fn encode(
    model: &ReadyModel,
    asked: &Asked,
    predictions: &Predictions,
    coding: Option<Coding>,
) -> Result<(Vec<u8>, HeaderMap), ApiError> {
    let fitted = model.predictor.model();
    let labels = fitted.head.labels().map_or(&[][..], |labels| &labels.labels);
    let mut tensors = Vec::with_capacity(asked.wanted.len());
    for (index, output) in asked.wanted.iter().enumerate() {
        let requested = asked.request.outputs.as_ref().map(|outputs| &outputs[index]);
        let mut tensor = response::tensor(*output, &asked.outputs, fitted, predictions)?;
        if let Some(count) = requested.and_then(|requested| requested.classes) {
            tensor = response::classified(tensor, count, labels);
        }
        tensors.push((tensor, requested.map_or(asked.request.binary_output, |requested| requested.binary)));
    }
    let (bytes, json_length) = response::body(model, asked.request.id.as_ref(), &tensors);
    compressed(coding, bytes, json_length)
}

fn json_length(headers: &HeaderMap) -> Result<Option<usize>, ApiError> {
    let Some(value) = headers.get(JSON_LENGTH) else { return Ok(None) };
    let length = value.to_str().ok().and_then(|text| text.parse().ok());
    let wrong = || ApiError::malformed("invalid_header", format!("{JSON_LENGTH} must be a whole number"));
    length.map(Some).ok_or_else(wrong)
}

/// How an answer may be compressed.
#[derive(Debug, Clone, Copy)]
enum Coding {
    Gzip,
    Deflate,
}

impl Coding {
    /// The one that the client takes most, gzip of equals; none that it does not name.
    fn accepted(headers: &HeaderMap) -> Option<Self> {
        let accepted = field_lines(headers, &header::ACCEPT_ENCODING)?;
        let ranges: Vec<Range> = accepted.split(',').map(Range::read).collect();
        let quality = |coding: &Self| {
            let named = ranges.iter().find(|range| range.name.eq_ignore_ascii_case(coding.name()));
            named.map_or(0.0, |range| range.quality)
        };
        let (gzip, deflate) = (quality(&Self::Gzip), quality(&Self::Deflate));
        match gzip.max(deflate) {
            most if most <= 0.0 => None,
            most if gzip == most => Some(Self::Gzip),
            _ => Some(Self::Deflate),
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Gzip => "gzip",
            Self::Deflate => "deflate",
        }
    }

    fn encode(self, bytes: &[u8]) -> std::io::Result<Vec<u8>> {
        match self {
            Self::Gzip => {
                let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
                encoder.write_all(bytes)?;
                encoder.finish()
            }
            Self::Deflate => {
                let mut encoder = ZlibEncoder::new(Vec::new(), Compression::fast());
                encoder.write_all(bytes)?;
                encoder.finish()
            }
        }
    }
}

/// The bytes of an answer, compressed where the client takes it, and the headers that say so.
fn compressed(
    coding: Option<Coding>,
    bytes: Vec<u8>,
    json_length: Option<usize>,
) -> Result<(Vec<u8>, HeaderMap), ApiError> {
    let coding = coding.filter(|_| bytes.len() >= WORTH_COMPRESSING);
    let bytes = match coding {
        Some(coding) => coding.encode(&bytes)?,
        None => bytes,
    };
    let media_type = if json_length.is_some() { "application/octet-stream" } else { "application/json" };
    let mut head = HeaderMap::with_capacity(3);
    head.insert(header::CONTENT_TYPE, HeaderValue::from_static(media_type));
    if let Some(coding) = coding {
        head.insert(header::CONTENT_ENCODING, HeaderValue::from_static(coding.name()));
    }
    if let Some(length) = json_length {
        head.insert(JSON_LENGTH, HeaderValue::from(length));
    }
    Ok((bytes, head))
}
