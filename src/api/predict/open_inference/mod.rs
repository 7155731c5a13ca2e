//! `/v2`: the Open Inference Protocol, as Triton, KServe and their clients speak it.

/// Tensors and their bytes.
mod tensor;

/// The nesting of lists in the JSON data of a tensor.
mod nesting;

/// Inference requests.
mod request;

/// Tensors as rows.
mod tensor_rows;

/// Predictions as tensors.
mod response;

/// Compression of responses.
mod compression;

/// Health, metadata and statistics.
mod metadata;

/// Loading and unloading of models.
mod repository;

pub(crate) use metadata::{live, model, model_ready, model_stats, ready, server, stats};
pub(crate) use repository::{index, load, unload};

use super::pipeline::{Answered, Decoded, Decoder, Encoder, PredictionRequest, run};
use crate::api::http::error::ApiError;
use crate::api::http::error_code::ErrorCode;
use crate::model::FittedModel;
use crate::serving::{Answer, Output, OutputPlace, OutputRequest, Outputs, ReadyModel, Refusal};
use axum::body::Body;
use axum::http::{HeaderMap, HeaderName};
use axum::response::Response;
use compression::{TritonCoding, compressed};
use request::InferRequest;
use std::time::Duration;

/// Bytes of JSON before the bytes of tensors.
const JSON_LENGTH: HeaderName = HeaderName::from_static("inference-header-content-length");

/// Inputs beyond the columns of a model that are ignored; more are refused.
const SPARE_INPUTS: usize = 1024;

/// Stock clients send no content type, so that it is ignored.
pub(super) async fn answer(request: &PredictionRequest<'_>, body: Body) -> Result<Answered, ApiError> {
    let headers = &request.parts.headers;
    let decoder = TensorDecoder { json_length: json_length(headers)?, coding: TritonCoding::accepted(headers) };
    run(request, decoder, body).await
}

fn json_length(headers: &HeaderMap) -> Result<Option<usize>, ApiError> {
    let Some(value) = headers.get(JSON_LENGTH) else { return Ok(None) };
    let length = value.to_str().ok().and_then(|text| text.parse().ok());
    let invalid = || ApiError::new(ErrorCode::InvalidHeader, format!("{JSON_LENGTH} must be a whole number"));
    length.map(Some).ok_or_else(invalid)
}

struct TensorDecoder {
    json_length: Option<usize>,
    coding: Option<TritonCoding>,
}

impl Decoder for TensorDecoder {
    type Encoder = TensorEncoder;

    fn decode(self, model: &FittedModel, body: &[u8], max_rows: usize) -> Result<Decoded<TensorEncoder>, ApiError> {
        if body.is_empty() {
            return Err(ApiError::empty_body());
        }
        let max_inputs = model.inputs.encoding.columns.len() + SPARE_INPUTS;
        let mut request = InferRequest::read(body, self.json_length, max_inputs)?;
        let wanted = match &request.outputs {
            Some(requested) => {
                let find = |(index, output)| response::find_output(output, index, model);
                requested.iter().enumerate().map(find).collect::<Result<Vec<_>, Refusal>>()?
            }
            None => response::default_outputs(model),
        };
        let names = wanted.iter().map(|output| output.name().to_owned()).collect();
        let requested = OutputRequest {
            names: Some(names),
            delta: request.delta,
            top_k: None,
            strict: request.strict,
            place: OutputPlace::Inference,
        };
        let outputs = Outputs::check(&requested, model)?;
        let rows = tensor_rows::rows_of(&mut request.inputs, model, max_rows)?;
        request.inputs = Vec::new(); // frees the tensors, which are rows now
        let timeout = request.timeout_us.map(Duration::from_micros);
        let encoder = TensorEncoder { request, wanted, coding: self.coding };
        Ok(Decoded { rows, list: "/rows", outputs, timeout, encoder })
    }
}

struct TensorEncoder {
    request: InferRequest,
    wanted: Vec<Output>,
    coding: Option<TritonCoding>,
}

impl Encoder for TensorEncoder {
    fn encode(&self, model: &ReadyModel, answer: Answer) -> Result<Response<Vec<u8>>, ApiError> {
        let request = &self.request;
        let labels = answer.model.head.labels().map_or(&[][..], |labels| &labels.labels);
        let mut tensors = Vec::with_capacity(self.wanted.len());
        for (index, output) in self.wanted.iter().enumerate() {
            let requested = request.outputs.as_ref().map(|outputs| &outputs[index]);
            let mut tensor = response::tensor(*output, answer)?;
            if let Some(count) = requested.and_then(|requested| requested.classes) {
                tensor = response::classified(tensor, count, labels);
            }
            tensors.push((tensor, requested.map_or(request.binary_output, |requested| requested.binary)));
        }
        let (bytes, json_length) = response::body(model, request.id.as_ref(), &tensors);
        compressed(self.coding, bytes, json_length)
    }
}
