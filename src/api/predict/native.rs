//! `/api/v1/models/{model}/predict`: JSON here, other formats in `tables`.

use super::beginning::{is_generic, peek};
use super::pipeline::{Answered, Decoded, Decoder, Encoder, PredictionRequest, run, typed};
use super::tables::answer_table;
use crate::api::http::accept::accepted_format;
use crate::api::http::body::{csv_header, media_type};
use crate::api::http::error::ApiError;
use crate::api::http::extract::QueryFields;
use crate::dataset::{CsvOptions, parse_delimiter};
use crate::model::FittedModel;
use crate::serving::{
    Answer, AnswerWriter, Format, Guess, JsonRequest, OutputPlace, OutputRequest, Outputs, ReadyModel, Refusal,
    RowFormat, RowScan, read_request,
};
use axum::body::Body;
use axum::http::HeaderMap;
use axum::response::Response;
use std::time::Duration;

/// Estimated bytes of a response: so many for its head, and as many for each row.
const BYTES_PER_ROW: usize = 64;

pub(super) async fn answer(request: &PredictionRequest<'_>, body: Body) -> Result<Answered, ApiError> {
    let PredictionRequest { parts, deadline, .. } = *request;
    let query = QueryFields::read(&parts.uri)?;
    let media_type = media_type(&parts.headers);
    let (guess, body) = if is_generic(&media_type) {
        let (beginning, body) = Box::pin(peek(&parts.headers, body, deadline)).await?;
        (RowFormat::guess(&beginning)?, body)
    } else {
        (Guess::of(named_format(&media_type)?), body)
    };
    let options = Options::read(&query, &parts.headers, guess)?;
    match options.input {
        RowFormat::Streamed(Format::Json) => {
            let max_rows = request.state.config.max_prediction_rows;
            let scan = RowScan::of_request(request.model.predictor.model(), max_rows);
            run(request, JsonDecoder { options, scan }, body).await
        }
        RowFormat::Streamed(Format::Ndjson | Format::Csv | Format::Arrow) | RowFormat::File(_) => {
            Box::pin(answer_table(request, options, body)).await
        }
    }
}

/// How a request is decoded and its response encoded.
pub(super) struct Options {
    pub(super) input: RowFormat,
    pub(super) output: Format,
    pub(super) csv: CsvOptions,
    pub(super) outputs: OutputRequest,
}

impl Options {
    fn read(query: &QueryFields, headers: &HeaderMap, guess: Guess) -> Result<Self, ApiError> {
        query.check(&["outputs", "top_k", "delta", "strict", "header", "delimiter"])?;
        let Guess { format: input, delimiter } = guess;
        let delimiter = query.text("delimiter").map_or(Ok(delimiter), parse_delimiter)?;
        let names = query.text("outputs").map(|list| list.split(',').map(|name| name.trim().to_owned()).collect());
        Ok(Self {
            input,
            output: accepted_format(headers, input.answer())?,
            csv: CsvOptions {
                delimiter,
                header: query.parsed("header", "true or false")?.or_else(|| match input {
                    RowFormat::Streamed(Format::Csv) => csv_header(headers),
                    RowFormat::Streamed(Format::Json | Format::Ndjson | Format::Arrow) | RowFormat::File(_) => None,
                }),
            },
            outputs: OutputRequest {
                names,
                top_k: query.parsed("top_k", "a whole number")?,
                delta: query.parsed("delta", "a number")?,
                strict: query.parsed("strict", "true or false")?.unwrap_or(false),
                place: OutputPlace::Query,
            },
        })
    }
}

fn named_format(media_type: &str) -> Result<RowFormat, ApiError> {
    RowFormat::named(media_type).ok_or_else(|| ApiError::unsupported_media_type(media_type, &RowFormat::media_types()))
}

/// Scans the rows while the body arrives.
struct JsonDecoder {
    options: Options,
    scan: RowScan,
}

impl Decoder for JsonDecoder {
    type Encoder = AnswerEncoder;

    fn advance(&mut self, so_far: &[u8], expected: usize) -> usize {
        self.scan.advance(so_far, expected)
    }

    fn time_spent(&self) -> Duration {
        self.scan.took()
    }

    fn decode(self, model: &FittedModel, body: &[u8], max_rows: usize) -> Result<Decoded<AnswerEncoder>, ApiError> {
        if body.is_empty() {
            return Err(ApiError::empty_body());
        }
        self.options.input.check_beginning(body)?;
        let JsonRequest { block, place, outputs } = read_request(body, self.scan, model, max_rows)?;
        let strict = self.options.outputs.strict || outputs.strict;
        let requested = match (self.options.outputs.is_empty(), outputs.is_empty()) {
            (true, _) => OutputRequest { strict, ..outputs },
            (false, true) => OutputRequest { strict, ..self.options.outputs },
            (false, false) => {
                let detail = "outputs are given in the query and in the body; give them in one of them";
                return Err(Refusal::invalid("", detail).into());
            }
        };
        let outputs = Outputs::check(&requested, model)?;
        let encoder = AnswerEncoder { format: self.options.output };
        Ok(Decoded { rows: block, list: place, outputs, timeout: None, encoder })
    }
}

struct AnswerEncoder {
    format: Format,
}

impl Encoder for AnswerEncoder {
    fn encode(&self, model: &ReadyModel, answer: Answer) -> Result<Response<Vec<u8>>, ApiError> {
        let (entry, rows) = (&model.entry, answer.predictions.values.nrows());
        let target = Vec::with_capacity(BYTES_PER_ROW + BYTES_PER_ROW * rows);
        let mut writer = AnswerWriter::begin(self.format, target, &entry.name, entry.version)?;
        writer.write(answer)?;
        Ok(typed(self.format.media_type(), writer.finish()?))
    }
}
