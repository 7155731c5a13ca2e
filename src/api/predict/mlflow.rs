//! `/invocations` and `/ping`: scoring as MLflow and SageMaker do it.

use super::pipeline::{Answered, Decoded, Decoder, Encoder, PredictionRequest, run, typed};
use crate::api::AppState;
use crate::api::auth::Caller;
use crate::api::http::body::{csv_header, media_type};
use crate::api::http::error::ApiError;
use crate::api::http::error_code::ErrorCode;
use crate::dataset::CsvOptions;
use crate::model::FittedModel;
use crate::serving::{
    Answer, Format, OutputRequest, Outputs, ReadyModel, Refusal, RequestRows, RowReader, ScoringRequest,
};
use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use serde_json::{Value, json};
use std::borrow::Cow;

/// `GET /ping`: succeeds if the default model can be loaded.
pub(crate) async fn ping(State(state): State<AppState>) -> Result<Json<Value>, ApiError> {
    let loaded = async {
        let name = default_model(&state)?;
        state.load(&name, None).await
    };
    match loaded.await {
        Ok(_) => Ok(Json(json!({"status": "ok"}))),
        // Without a key, nothing else about models is revealed.
        Err(_) if state.keys.is_some() => {
            Err(ApiError::new(ErrorCode::ModelNotFound, "the default model cannot be loaded"))
        }
        Err(error) => Err(error),
    }
}

/// The default model, if the caller may use it. Otherwise the answer is the same whether or not there is one.
pub(super) fn default_model_of<'a>(state: &'a AppState, caller: &Caller) -> Result<Cow<'a, str>, ApiError> {
    let found = default_model(state);
    match &found {
        Ok(name) => caller.check_model(name)?,
        Err(_) if !caller.covers_all_models() => caller.check_model("")?,
        Err(_) => {}
    }
    found
}

/// The configured model, or the only one.
fn default_model(state: &AppState) -> Result<Cow<'_, str>, ApiError> {
    if let Some(name) = &state.config.default_model {
        return Ok(name.into());
    }
    match state.registry.only_name() {
        Ok(name) => Ok(name.into()),
        Err(0) => Err(ApiError::new(ErrorCode::ModelNotFound, "there is no model yet; train or import one")),
        Err(_) => {
            let detail = "there are several models; name the one to use in BOCHNER_DEFAULT_MODEL";
            Err(ApiError::new(ErrorCode::NoDefaultModel, detail))
        }
    }
}

pub(super) async fn answer(request: &PredictionRequest<'_>, body: Body) -> Result<Answered, ApiError> {
    let headers = &request.parts.headers;
    let decoder = match media_type(headers).as_ref() {
        "" | "application/json" => ScoringDecoder::Json,
        // With a header line, unless the content type says otherwise.
        "text/csv" => ScoringDecoder::Csv(CsvOptions { delimiter: b',', header: csv_header(headers) }),
        other => return Err(ApiError::unsupported_media_type(other, "application/json or text/csv")),
    };
    run(request, decoder, body).await
}

/// Reads a request to MLflow's scoring server.
enum ScoringDecoder {
    Json,
    Csv(CsvOptions),
}

impl Decoder for ScoringDecoder {
    type Encoder = ScoringEncoder;

    fn decode(self, model: &FittedModel, body: &[u8], max_rows: usize) -> Result<Decoded<ScoringEncoder>, ApiError> {
        let (rows, list, requested) = match self {
            Self::Json if body.is_empty() => return Err(ApiError::empty_body()),
            Self::Json => {
                let request = ScoringRequest::read(body, model, max_rows)?;
                (request.block, request.place, request.outputs)
            }
            Self::Csv(options) => (read_csv(body, options, model, max_rows)?, "", OutputRequest::default()),
        };
        let outputs = Outputs::check(&requested, model)?;
        Ok(Decoded { rows, list, outputs, timeout: None, encoder: ScoringEncoder })
    }
}

fn read_csv(body: &[u8], options: CsvOptions, model: &FittedModel, max_rows: usize) -> Result<RequestRows, Refusal> {
    let mut rows = RequestRows::of(model);
    if let Some(mut reader) = RowReader::open(Format::Csv, body, options, model)? {
        while let Some(block) = reader.next_block()? {
            rows.append(model, block);
            if rows.len() > max_rows {
                let detail = format!("the table has more than {max_rows} rows, which is the limit; send fewer at once");
                return Err(Refusal::invalid("", detail));
            }
        }
    }
    if rows.is_empty() { Err(Refusal::invalid("", "the table has no rows")) } else { Ok(rows) }
}

struct ScoringEncoder;

impl Encoder for ScoringEncoder {
    fn encode(&self, _: &ReadyModel, answer: Answer) -> Result<Response<Vec<u8>>, ApiError> {
        let mut text = b"{\"predictions\":".to_vec();
        serde_json::to_writer(&mut text, &answer).map_err(ApiError::internal)?;
        text.push(b'}');
        Ok(typed("application/json", text))
    }
}
