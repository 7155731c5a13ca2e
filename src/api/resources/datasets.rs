//! `/api/v1/datasets`.

use crate::api::AppState;
use crate::api::http::body::{blocking_reader, check_content_length, content_encoding, csv_header, media_type};
use crate::api::http::error::ApiError;
use crate::api::http::extract::{Id, QueryFields};
use crate::api::state::blocking;
use crate::dataset::{
    ColumnKind, CsvOptions, Dataset, DatasetError, Ingested, Rows, Schema, Task, UploadLimits, UploadOptions,
    parse_delimiter,
};
use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

/// `POST`: the body is hashed and checked while it streams to disk.
pub(crate) async fn upload(
    State(state): State<AppState>,
    query: QueryFields,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, ApiError> {
    let options =
        upload_options(&query.only(&["name", "target", "header", "delimiter", "task", "numeric"])?, &headers)?;
    let limits = UploadLimits {
        bytes: state.config.max_upload.0,
        columns: state.config.max_columns,
        levels: state.config.max_levels,
    };
    check_content_length(&headers, limits.bytes)?;
    let permit = state.uploads.clone().try_acquire_owned();
    let permit = permit.map_err(|_| ApiError::too_many_uploads())?;

    let source = blocking_reader(body, state.config.upload_idle_seconds);
    let store = state.datasets.clone();
    let ingested = blocking(move || {
        let _permit = permit; // held until the work is done, even if the client disconnects
        store.ingest(source, &options, limits)
    })
    .await?;
    let (status, dataset) = match ingested {
        Ingested::New(dataset) => {
            state.metrics.uploaded_bytes.inc_by(dataset.bytes);
            (StatusCode::CREATED, dataset)
        }
        Ingested::Known(dataset) => (StatusCode::OK, dataset),
    };
    let location = format!("/api/v1/datasets/{}", dataset.id);
    Ok((status, [(header::LOCATION, location)], Json(render(&dataset))).into_response())
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
pub(crate) async fn show(State(state): State<AppState>, Id(id): Id) -> Result<Json<Value>, ApiError> {
    Ok(Json(render(&blocking(move || state.datasets.find(&id)).await?)))
}

/// `GET …/{id}/preview`: the first rows.
pub(crate) async fn preview(
    State(state): State<AppState>,
    Id(id): Id,
    query: QueryFields,
) -> Result<Json<Value>, ApiError> {
    const DEFAULT: usize = 10;
    const MOST: usize = 1000;
    let wanted: usize = query.only(&["rows"])?.parsed("rows", "a whole number")?.unwrap_or(DEFAULT);
    if !(1..=MOST).contains(&wanted) {
        return Err(ApiError::invalid_parameter("?rows", format!("must be from 1 to {MOST}")));
    }
    let (dataset, cells) = blocking(move || -> Result<_, DatasetError> {
        let dataset = state.datasets.find(&id)?;
        let table = state.datasets.open_table(&dataset)?;
        let mut cells = vec![0.0; wanted.min(table.row_count()) * table.column_count()];
        table.read(0, &mut cells)?;
        Ok((dataset, cells))
    })
    .await?;
    let schema = &dataset.schema;
    let names: Vec<&str> = schema.columns.iter().map(|column| column.name.as_str()).collect();
    let rows: Vec<Value> = cells.chunks(names.len()).map(|row| render_row(schema, row)).collect();
    Ok(Json(json!({"id": dataset.id, "columns": names, "rows": rows})))
}

/// `DELETE …/{id}`: refused while an unfinished job needs the dataset.
pub(crate) async fn delete(State(state): State<AppState>, Id(id): Id) -> Result<StatusCode, ApiError> {
    blocking(move || state.datasets.delete(&id)).await?;
    Ok(StatusCode::NO_CONTENT)
}

fn upload_options(query: &QueryFields, headers: &HeaderMap) -> Result<UploadOptions, ApiError> {
    const ACCEPTED: &str = "text/csv or text/tab-separated-values";
    let media_type = media_type(headers);
    let default_delimiter = match media_type.as_ref() {
        "text/csv" => b',',
        "text/tab-separated-values" => b'\t',
        other => return Err(ApiError::unsupported_media_type(other, ACCEPTED)),
    };
    let task = query.text("task").map(|text| match text {
        "regression" => Ok(Task::Regression),
        "classification" => Ok(Task::Classification),
        _ => Err(ApiError::invalid_parameter("?task", "must be regression or classification")),
    });
    let name = query.text("name").map(str::to_owned);
    if name.as_ref().is_some_and(|name| name.chars().count() > 200 || name.chars().any(char::is_control)) {
        let detail = "must be at most 200 characters, none of them control characters";
        return Err(ApiError::invalid_parameter("?name", detail));
    }
    Ok(UploadOptions {
        name,
        target: query.text("target").map(str::to_owned),
        task: task.transpose()?,
        numeric: query.text("numeric").map(|list| list.split(',').map(str::to_owned).collect()).unwrap_or_default(),
        csv: CsvOptions {
            delimiter: query.text("delimiter").map_or(Ok(default_delimiter), parse_delimiter)?,
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
    })
}

fn render_row(schema: &Schema, row: &[f64]) -> Value {
    let cell = |(code, column): (&f64, &crate::dataset::Column)| match column.kind {
        _ if code.is_nan() => Value::Null,
        ColumnKind::Numeric => json!(code),
        ColumnKind::Boolean => json!(*code != 0.0),
        ColumnKind::Categorical => json!(column.levels.get(*code as usize)),
    };
    Value::Array(row.iter().zip(&schema.columns).map(cell).collect())
}
