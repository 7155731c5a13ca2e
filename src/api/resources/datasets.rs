//! `/api/v1/datasets`.

/// What a request says about columns, as parameters or as JSON.
mod schema_fields;

/// Parts of a form.
mod form;

/// Tables that stay where they are.
mod location;

/// `PATCH …/{id}`.
mod patch;

pub(crate) use patch::patch;

use crate::api::AppState;
use crate::api::auth::Caller;
use crate::api::http::body::{
    blocking_reader, check_content_length, content_encoding, csv_header, media_type, read_whole,
};
use crate::api::http::error::ApiError;
use crate::api::http::extract::{Id, QueryFields};
use crate::api::http::responses::entity_tag::tagged_json;
use crate::api::state::blocking;
use crate::dataset::{
    ColumnKind, CsvOptions, Dataset, DatasetError, Ingested, Rows, Schema, UploadFormat, UploadLimits, UploadOptions,
    format_instant, parse_delimiter,
};
use axum::Json;
use axum::body::{Body, HttpBody};
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use schema_fields::SchemaFields;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// `POST`: the body is hashed and checked while it streams to disk. A form has the table as one of its parts. A short JSON body
/// may name the location of a table instead.
pub(crate) async fn upload(
    State(state): State<AppState>,
    caller: Caller,
    query: QueryFields,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, ApiError> {
    if media_type(&headers) == form::MEDIA_TYPE {
        return form::upload(&state, &caller, query, &headers, body).await;
    }
    let length = body.size_hint().exact().or(check_content_length(&headers, u64::MAX)?);
    let body = if media_type(&headers) == "application/json" && length.is_some_and(|length| length <= location::LONGEST)
    {
        let deadline = Instant::now() + Duration::from_secs(state.config.upload_idle_seconds);
        let plain = HeaderMap::new(); // what is compressed is a table
        let whole = read_whole(&state, &plain, body, deadline).await?;
        if let Some(members) = location::asked(&whole)? {
            return location::create(&state, &caller, &query, members).await;
        }
        Body::from(whole.clone())
    } else {
        body
    };
    let options = upload_options(&query.only(&parameters())?, &headers, None)?;
    take_in(&state, &caller, options, &headers, body).await
}

/// `PUT …/{name}`: like `POST`, with the name in the path, as `curl -T table.csv` sends it.
pub(crate) async fn put(
    State(state): State<AppState>,
    caller: Caller,
    Id(name): Id,
    query: QueryFields,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, ApiError> {
    let query = query.only(&parameters()[1..])?.with([("name".to_owned(), name.clone())])?;
    let options = upload_options(&query, &headers, Some(name))?;
    take_in(&state, &caller, options, &headers, body).await
}

async fn take_in(
    state: &AppState,
    caller: &Caller,
    options: UploadOptions,
    headers: &HeaderMap,
    body: Body,
) -> Result<Response, ApiError> {
    let limits = upload_limits(state);
    check_content_length(headers, limits.bytes)?;
    state.refuse_low_disk().await?;
    let permit = state.uploads.take(caller.client())?;

    let source = blocking_reader(body, state.config.upload_idle_seconds);
    let store = state.datasets.clone();
    let ingested = blocking(move || {
        let _permit = permit; // held until the work is done, even if the client disconnects
        store.ingest(source, &options, limits)
    })
    .await?;
    Ok(uploaded(state, ingested))
}

/// The parameters of an upload, the name first.
fn parameters() -> Vec<&'static str> {
    [&["name", "header", "delimiter"], &SchemaFields::NAMES[..]].concat()
}

fn upload_limits(state: &AppState) -> UploadLimits {
    UploadLimits {
        bytes: state.config.max_upload.0,
        columns: state.config.max_columns,
        cells: state.config.max_cells,
        levels: state.config.max_levels,
    }
}

/// The answer to an upload, whose bytes are counted if they are new.
fn uploaded(state: &AppState, ingested: Ingested) -> Response {
    if let Ingested::New(dataset) = &ingested {
        state.metrics.uploaded_bytes.inc_by(dataset.bytes);
    }
    answer(ingested)
}

/// 201 for a new dataset, 200 for one that was there, with its place.
fn answer(ingested: Ingested) -> Response {
    let (status, dataset) = match ingested {
        Ingested::New(dataset) => (StatusCode::CREATED, dataset),
        Ingested::Known(dataset) => (StatusCode::OK, dataset),
    };
    let location = format!("/api/v1/datasets/{}", dataset.id);
    (status, [(header::LOCATION, location)], Json(render(&dataset))).into_response()
}

/// `GET`: newest first.
pub(crate) async fn list(State(state): State<AppState>, query: QueryFields) -> Result<Json<Value>, ApiError> {
    let query = query.only(&["limit", "cursor"])?;
    let limit = query.limit()?;
    let cursor = query.text("cursor").map(str::to_owned);
    let datasets = blocking(move || state.datasets.list(cursor.as_deref(), limit)).await?;
    let next_cursor = (datasets.len() == limit).then(|| datasets.last().map(Dataset::cursor));
    Ok(Json(json!({
        "datasets": datasets.iter().map(render).collect::<Vec<_>>(),
        "next_cursor": next_cursor.flatten(),
    })))
}

/// `GET …/{id}`.
pub(crate) async fn show(State(state): State<AppState>, Id(id): Id, headers: HeaderMap) -> Result<Response, ApiError> {
    let dataset = blocking(move || state.datasets.find(&id)).await?;
    Ok(tagged_json(&headers, &render(&dataset)))
}

/// `GET …/{id}/preview`: the first rows, or a sample of those that stay where they are.
pub(crate) async fn preview(
    State(state): State<AppState>,
    Id(id): Id,
    query: QueryFields,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    const DEFAULT: usize = 10;
    const MOST: usize = 1000;
    let wanted: usize = query.only(&["rows"])?.parsed("rows", "a whole number")?.unwrap_or(DEFAULT);
    if !(1..=MOST).contains(&wanted) {
        return Err(ApiError::invalid_parameter("?rows", format!("must be from 1 to {MOST}")));
    }
    let (dataset, cells) = blocking(move || -> Result<_, DatasetError> {
        let dataset = state.datasets.find(&id)?;
        let table = state.datasets.open_kept(&dataset)?;
        let mut cells = vec![0.0; wanted.min(table.row_count()) * table.column_count()];
        table.read(0, &mut cells)?;
        Ok((dataset, cells))
    })
    .await?;
    let schema = &dataset.schema;
    let names: Vec<&str> = schema.columns.iter().map(|column| column.name.as_str()).collect();
    let rows: Vec<Value> = cells.chunks(names.len()).map(|row| render_row(schema, row)).collect();
    Ok(tagged_json(&headers, &json!({"id": dataset.id, "columns": names, "rows": rows})))
}

/// `DELETE …/{id}`: refused while an unfinished job needs the dataset.
pub(crate) async fn delete(State(state): State<AppState>, Id(id): Id) -> Result<StatusCode, ApiError> {
    blocking(move || state.datasets.delete(&id)).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// The format that a media type names; none for a type that says nothing about the table.
fn declared_format(media_type: &str) -> Result<Option<UploadFormat>, ApiError> {
    match (media_type, UploadFormat::of_media_type(media_type)) {
        (_, Some(format)) => Ok(Some(format)),
        (
            ""
            | "application/octet-stream"
            | "binary/octet-stream"
            | "application/gzip"
            | "application/x-gzip"
            | "application/zstd",
            None,
        ) => Ok(None),
        (other, None) => {
            let accepted = UploadFormat::ALL.map(UploadFormat::media_type).join(", ");
            Err(ApiError::unsupported_media_type(other, &format!("one of {accepted}, multipart/form-data")))
        }
    }
}

fn upload_options(
    query: &QueryFields,
    headers: &HeaderMap,
    file_name: Option<String>,
) -> Result<UploadOptions, ApiError> {
    let declared = declared_format(&media_type(headers))?;
    let delimiter = query.text("delimiter").map(parse_delimiter).transpose()?;
    let format = declared.or_else(|| delimiter.map(|_| UploadFormat::Csv));
    let default_delimiter = if format == Some(UploadFormat::Tsv) { b'\t' } else { b',' };
    let SchemaFields { target, task, numeric, columns } = SchemaFields::of_query(query)?;
    Ok(UploadOptions {
        name: query.short_text("name")?,
        target,
        task,
        numeric,
        columns,
        format,
        file_name,
        csv: CsvOptions {
            delimiter: delimiter.unwrap_or(default_delimiter),
            header: query.parsed("header", "true or false")?.or_else(|| csv_header(headers)),
        },
        encoding: content_encoding(headers)?,
    })
}

fn render(dataset: &Dataset) -> Value {
    let schema = &dataset.schema;
    let column = |(index, column): (usize, &crate::dataset::Column)| {
        let mut value = json!(column);
        if schema.targets.contains(&index) {
            value["kind"] = json!("target");
        }
        value
    };
    json!({
        "id": dataset.id,
        "name": dataset.name,
        "rows": schema.row_count,
        "labelled_rows": schema.labelled_rows(),
        "target": schema.target_columns().next().map(|column| &column.name),
        "targets": schema.target_columns().map(|column| &column.name).collect::<Vec<_>>(),
        "task": schema.task,
        "columns": schema.columns.iter().enumerate().map(column).collect::<Vec<_>>(),
        "bytes": dataset.bytes,
        "sha256": dataset.sha256,
        "created_at": dataset.created_at,
        "location": dataset.location.as_ref().map(|location| &location.uri),
        "quality": {"findings": schema.findings},
    })
}

fn render_row(schema: &Schema, row: &[f64]) -> Value {
    let cell = |(code, column): (&f64, &crate::dataset::Column)| match column.kind {
        _ if code.is_nan() => Value::Null,
        ColumnKind::Numeric => json!(code),
        ColumnKind::Boolean => json!(*code != 0.0),
        ColumnKind::Categorical => json!(column.levels.get(*code as usize)),
        ColumnKind::Date | ColumnKind::Datetime => json!(format_instant(*code)),
        ColumnKind::Text => Value::Null,
    };
    Value::Array(row.iter().zip(&schema.columns).map(cell).collect())
}
