//! `/invocations` and `/ping`: scoring as MLflow and SageMaker do it.

use super::pipeline::{Answered, Laps, counted, deadline, is_long, read_body, score, sized};
use crate::api::AppState;
use crate::api::http::body::{WholeBody, csv_header, media_type};
use crate::api::http::drain::patient;
use crate::api::http::error::ApiError;
use crate::api::http::response_memory::{outgoing, typed};
use crate::api::http::watch::Watch;
use crate::dataset::CsvOptions;
use crate::model::{FittedModel, Predictions};
use crate::serving::{
    Answer, Format, OutputRequest, Outputs, ReadyModel, Refusal, RequestRows, RowReader, ScoringRequest,
};
use crate::telemetry::{PredictionRoute, Protocol};
use axum::Json;
use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use serde_json::{Value, json};
use std::borrow::Cow;
use std::pin::pin;
use std::sync::Arc;
use std::time::Instant;

/// `GET /ping`: there is a model to ask.
pub(crate) async fn ping(State(state): State<AppState>) -> Result<Json<Value>, ApiError> {
    let name = default_model(&state)?;
    state.load(&name, None).await?;
    Ok(Json(json!({"status": "ok"})))
}

/// `POST /invocations`: by the configured model, or the only one.
pub(crate) async fn invoke(State(state): State<AppState>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let watch = Watch::start(&state, PredictionRoute::Invocations, &parts.headers);
    let start = watch.start;
    watch.over(pin!(answer(&state, parts.headers, patient(body), start))).await
}

async fn answer(state: &AppState, headers: HeaderMap, body: Body, start: Instant) -> Result<Answered, ApiError> {
    let deadline = deadline(state, &headers, start)?;
    let model = state.load_by(&default_model(state)?, None, deadline).await?;
    let outcome = match read_body(state, &model, &headers, body, deadline, |_, _| 0).await {
        Ok(body) => answer_by(state, &model, headers, body, deadline).await,
        Err(error) => Err(error),
    };
    counted(&model, Protocol::Invocations, start, outcome)
}

fn default_model(state: &AppState) -> Result<Cow<'_, str>, ApiError> {
    if let Some(name) = &state.config.default_model {
        return Ok(name.into());
    }
    match state.registry.only_name() {
        Ok(name) => Ok(name.into()),
        Err(0) => Err(ApiError::not_found("model_not_found", "there is no model yet")),
        Err(_) => {
            let detail = "there are several models; name one in BOCHNER_DEFAULT_MODEL";
            Err(ApiError::new(StatusCode::CONFLICT, "no_default_model", detail))
        }
    }
}

async fn answer_by(
    state: &AppState,
    model: &Arc<ReadyModel>,
    headers: HeaderMap,
    body: WholeBody,
    deadline: Instant,
) -> Result<Answered, ApiError> {
    let (rows_limit, numbers_limit) = (state.config.max_prediction_rows, state.config.max_answer_numbers);
    let mut laps = Laps::begin();
    let decoded = sized(model, body.is_large(), move |model| {
        let (block, place, outputs) = decode(model, &headers, &body, rows_limit)?;
        outputs.check_length(block.len(), model.predictor.model(), numbers_limit)?;
        Ok((block, place, outputs))
    });
    let (block, place, outputs) = decoded.await?;
    model.meters.decode.observe(laps.end());
    let rows = block.len();
    let predictions = score(model, block, &outputs, deadline, place, &mut laps).await?;
    let long = is_long(model, &outputs, &predictions);
    let text = sized(model, long, move |model| encode(model, &outputs, &predictions)).await?;
    model.meters.encode.observe(laps.end());
    let response = typed("application/json", outgoing(state, model, text)?);
    Ok(Answered { response, rows, at: laps.last() })
}

fn decode(
    model: &ReadyModel,
    headers: &HeaderMap,
    body: &Bytes,
    limit: usize,
) -> Result<(RequestRows, &'static str, Outputs), ApiError> {
    let fitted = model.predictor.model();
    let (block, place, asked) = match media_type(headers).as_ref() {
        "" | "application/json" if body.is_empty() => return Err(ApiError::empty_body()),
        "" | "application/json" => {
            let request = ScoringRequest::read(body, fitted, limit)?;
            (request.block, request.place, request.outputs)
        }
        "text/csv" => (read_csv(body, headers, fitted, limit)?, "", OutputRequest::default()),
        other => return Err(ApiError::unsupported_media_type(other, "application/json or text/csv")),
    };
    let outputs = Outputs::check(&asked, fitted)?;
    Ok((block, place, outputs))
}

fn encode(model: &ReadyModel, outputs: &Outputs, predictions: &Predictions) -> Result<Vec<u8>, ApiError> {
    let mut text = b"{\"predictions\":".to_vec();
    let answer = Answer { outputs, model: model.predictor.model(), predictions };
    serde_json::to_writer(&mut text, &answer).map_err(ApiError::internal)?;
    text.push(b'}');
    Ok(text)
}

/// CSV with a header, unless the content type says otherwise.
fn read_csv(body: &Bytes, headers: &HeaderMap, model: &FittedModel, limit: usize) -> Result<RequestRows, Refusal> {
    let options = CsvOptions { delimiter: b',', header: csv_header(headers) };
    let mut rows = RequestRows::of(model);
    if let Some(mut reader) = RowReader::open(Format::Csv, body.as_ref(), options, model)? {
        while let Some(block) = reader.next_block()? {
            rows.append(block);
            if rows.len() > limit {
                return Err(Refusal::invalid("", format!("more than {limit} rows, which is the limit")));
            }
        }
    }
    if rows.is_empty() { Err(Refusal::invalid("", "the table has no rows")) } else { Ok(rows) }
}
