//! A table as a part of a form, as `curl -F` and browsers send files. Parts may come in any order.

use super::{parameters, upload_limits, upload_options, uploaded};
use crate::api::AppState;
use crate::api::auth::Caller;
use crate::api::http::body::{blocking_reader, check_content_length, content_encoding};
use crate::api::http::error::ApiError;
use crate::api::http::error_code::ErrorCode;
use crate::api::http::extract::QueryFields;
use crate::api::state::blocking;
use crate::dataset::{Received, UploadOptions};
use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::Response;
use multer::{Constraints, Field, Multipart, SizeLimit};

/// The media type of forms with files.
pub(super) const MEDIA_TYPE: &str = "multipart/form-data";

/// The name of the part that is the table.
const FILE: &str = "file";

/// Longest part that is a parameter.
const LONGEST_PARAMETER: u64 = 64 << 10;

/// Most parts: every parameter and the table, and some to name in an error.
const MOST_PARTS: usize = 64;

/// A table that has arrived, with the headers of its part.
struct ArrivedFile {
    received: Received,
    headers: HeaderMap,
    name: Option<String>,
}

/// Takes in the table in the part `file`; the other parts are the parameters of the query.
pub(super) async fn upload(
    state: &AppState,
    caller: &Caller,
    query: QueryFields,
    headers: &HeaderMap,
    body: Body,
) -> Result<Response, ApiError> {
    let limits = upload_limits(state);
    check_content_length(headers, limits.bytes.saturating_add(1 << 20))?;
    state.refuse_low_disk().await?;
    let permit = state.uploads.take(caller.client())?;
    let content_type = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let boundary = multer::parse_boundary(content_type).map_err(|error| malformed(&error))?;
    let known = parameters();
    let sizes = known.iter().fold(SizeLimit::new(), |sizes, name| sizes.for_field(*name, LONGEST_PARAMETER));
    let mut form = Multipart::with_constraints(body.into_data_stream(), boundary, Constraints::new().size_limit(sizes));
    let (mut file, mut parameters) = (None, Vec::new());
    for _ in 0..MOST_PARTS {
        let Some(part) = form.next_field().await.map_err(|error| malformed(&error))? else { break };
        let name = part.name().unwrap_or_default().to_owned();
        if name == FILE && file.is_none() {
            file = Some(receive(state, part, headers).await?);
        } else if known.contains(&name.as_str()) {
            parameters.push((name, part.text().await.map_err(|error| malformed(&error))?));
        } else {
            let detail =
                format!("the form has a part '{name}'; send the table as `file` once, and parameters by their names");
            return Err(ApiError::new(ErrorCode::MalformedRequest, detail));
        }
    }
    let Some(file) = file else {
        let detail = "the form has no part `file`; send the table as one, such as curl -F file=@table.csv";
        return Err(ApiError::new(ErrorCode::MalformedRequest, detail));
    };
    let query = query.with(parameters)?.only(&known)?;
    let options = upload_options(&query, &file.headers, file.name)?;
    let store = state.datasets.clone();
    let received = file.received;
    let ingested = blocking(move || {
        let _permit = permit;
        store.ingest_received(received, &options, limits)
    })
    .await?;
    Ok(uploaded(state, ingested))
}

/// Writes the part with the table to disk.
async fn receive(state: &AppState, part: Field<'static>, request: &HeaderMap) -> Result<ArrivedFile, ApiError> {
    let mut headers = part.headers().clone();
    // What browsers say of files that they do not know.
    if headers.get(header::CONTENT_TYPE).is_some_and(|value| value == "text/plain") {
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/octet-stream"));
    }
    if content_encoding(request)? != crate::dataset::ContentEncoding::Identity {
        let detail = "a form is not read compressed; compress the file in it instead";
        return Err(ApiError::new(ErrorCode::UnsupportedEncoding, detail));
    }
    let name = part.file_name().map(str::to_owned);
    let nothing = QueryFields::none();
    let UploadOptions { encoding, format, .. } = upload_options(&nothing, &headers, None)?;
    let limits = upload_limits(state);
    let source = blocking_reader(Body::from_stream(part), state.config.upload_idle_seconds);
    let store = state.datasets.clone();
    let received = blocking(move || store.receive(source, encoding, format, limits)).await?;
    Ok(ArrivedFile { received, headers, name })
}

fn malformed(error: &multer::Error) -> ApiError {
    ApiError::new(ErrorCode::MalformedRequest, format!("the form cannot be read: {error}"))
}
