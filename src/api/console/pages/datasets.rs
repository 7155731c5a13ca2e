//! Tables: upload, columns, first rows.

use super::upload::{self, Upload};
use super::{items, text};
use crate::api::console::api_client::{ApiClient, Refusal};
use crate::api::console::backend::Backend;
use crate::api::console::display::{ago, bytes, count, maybe_number};
use crate::api::console::page::{FormFields, Frame, Section, html, segment};
use crate::api::http::extract::{Id, QueryFields};
use crate::plots::mini_bars;
use askama::Template;
use axum::extract::{Multipart, State};
use axum::http::{Method, StatusCode};
use axum::response::{IntoResponse, Redirect, Response};
use serde_json::Value;

/// A table of 800 houses, so that everything can be tried at once.
const SAMPLE: &str = include_str!("../../../../examples/houses.csv");

/// Rows that histograms are made of.
const HISTOGRAM_ROWS: usize = 1000;

/// Rows of the preview.
const PREVIEW_ROWS: usize = 8;

struct DatasetRow {
    id: String,
    name: String,
    rows: String,
    columns: String,
    target: String,
    size: String,
    created: String,
}

#[derive(Template)]
#[template(path = "datasets.html")]
struct DatasetsPage {
    frame: Frame,
    datasets: Vec<DatasetRow>,
    next: Option<String>,
    is_first: bool,
    refusal: Option<Refusal>,
}

struct ColumnRow {
    name: String,
    is_target: bool,
    kind: String,
    missing: String,
    distinct: String,
    min: String,
    mean: String,
    max: String,
    /// An inline SVG without values of its own but numbers.
    histogram: String,
}

struct Finding {
    severity: String,
    column: String,
    detail: String,
    action: String,
}

#[derive(Template)]
#[template(path = "dataset.html")]
struct DatasetPage {
    frame: Frame,
    id: String,
    name: String,
    rows: String,
    labelled: String,
    size: String,
    task: String,
    created: String,
    columns: Vec<ColumnRow>,
    findings: Vec<Finding>,
    preview: Vec<Vec<String>>,
    histogram_rows: String,
}

/// `GET /datasets`.
pub(in crate::api::console) async fn list(
    State(backend): State<Backend>,
    api: ApiClient,
    query: QueryFields,
) -> Result<Response, Refusal> {
    let cursor = query.text("cursor").map(segment);
    page(&backend, &api, cursor.as_deref(), None).await
}

async fn page(
    backend: &Backend,
    api: &ApiClient,
    cursor: Option<&str>,
    refusal: Option<Refusal>,
) -> Result<Response, Refusal> {
    let frame = Frame::load(api, backend, "Datasets", Section::Datasets).await?;
    let after = cursor.map(|cursor| format!("&cursor={cursor}")).unwrap_or_default();
    let found = api.get(&format!("/api/v1/datasets?limit=50{after}")).await?;
    let row = |item: &Value| DatasetRow {
        id: text(&item["id"]),
        name: text(&item["name"]),
        rows: count(item["rows"].as_u64().unwrap_or(0)),
        columns: count(items(&item["columns"]).count() as u64),
        target: items(&item["targets"]).map(text).collect::<Vec<_>>().join(", "),
        size: bytes(item["bytes"].as_f64().unwrap_or(0.0)),
        created: ago(&text(&item["created_at"])),
    };
    let status = refusal.as_ref().map_or(StatusCode::OK, |refusal| refusal.status);
    let page = DatasetsPage {
        frame,
        datasets: items(&found["datasets"]).map(row).collect(),
        next: found["next_cursor"].as_str().map(segment),
        is_first: cursor.is_none(),
        refusal,
    };
    Ok(html(status, &page))
}

/// `POST /datasets`: a file from the form.
pub(in crate::api::console) async fn upload(
    State(backend): State<Backend>,
    api: ApiClient,
    form: Multipart,
) -> Result<Response, Refusal> {
    match upload::receive(&backend, &api, form).await {
        Ok(dataset) => Ok(to_dataset(&dataset)),
        Err(refusal) if refusal.status == StatusCode::UNAUTHORIZED => Err(refusal),
        Err(refusal) => page(&backend, &api, None, Some(refusal)).await,
    }
}

/// `POST /datasets/sample`: the table that comes with the program.
pub(in crate::api::console) async fn sample(api: ApiClient, _: FormFields) -> Result<Response, Refusal> {
    let sample = Upload { file_name: "houses.csv".into(), name: "houses".into(), target: "price".into() };
    Ok(to_dataset(&sample.send(&api, SAMPLE.into()).await?))
}

fn to_dataset(dataset: &Value) -> Response {
    Redirect::to(&format!("/datasets/{}", segment(&text(&dataset["id"])))).into_response()
}

/// `POST /datasets/{id}/delete`.
pub(in crate::api::console) async fn delete(api: ApiClient, Id(id): Id, _: FormFields) -> Result<Response, Refusal> {
    api.call(Method::DELETE, &format!("/api/v1/datasets/{}", segment(&id))).await?;
    Ok(Redirect::to("/datasets").into_response())
}

/// `GET /datasets/{id}`.
pub(in crate::api::console) async fn show(
    State(backend): State<Backend>,
    api: ApiClient,
    Id(id): Id,
) -> Result<Response, Refusal> {
    let path = format!("/api/v1/datasets/{}", segment(&id));
    let dataset = api.get(&path).await?;
    let preview = api.get(&format!("{path}/preview?rows={HISTOGRAM_ROWS}")).await?;
    let rows: Vec<&Value> = items(&preview["rows"]).collect();
    let name = text(&dataset["name"]);
    let frame = Frame::load(&api, &backend, &name, Section::Datasets).await?;
    let column = |(index, column): (usize, &Value)| column_row(column, &rows, index);
    let finding = |item: &Value| Finding {
        severity: text(&item["severity"]),
        column: text(&item["column"]),
        detail: text(&item["detail"]),
        action: text(&item["action"]),
    };
    let cells = |row: &&Value| items(row).map(cell).collect();
    let page = DatasetPage {
        frame,
        id: text(&dataset["id"]),
        rows: count(dataset["rows"].as_u64().unwrap_or(0)),
        labelled: count(dataset["labelled_rows"].as_u64().unwrap_or(0)),
        size: bytes(dataset["bytes"].as_f64().unwrap_or(0.0)),
        task: text(&dataset["task"]),
        created: ago(&text(&dataset["created_at"])),
        columns: items(&dataset["columns"]).enumerate().map(column).collect(),
        findings: items(&dataset["quality"]["findings"]).map(finding).collect(),
        preview: rows.iter().take(PREVIEW_ROWS).map(cells).collect(),
        histogram_rows: count(rows.len() as u64),
        name,
    };
    Ok(html(StatusCode::OK, &page))
}

fn cell(value: &Value) -> String {
    match value {
        Value::Null => "–".to_owned(),
        Value::String(text) => text.clone(),
        other => other.as_f64().map_or_else(|| other.to_string(), |number| number.to_string()),
    }
}

fn column_row(column: &Value, rows: &[&Value], index: usize) -> ColumnRow {
    let name = text(&column["name"]);
    let is_target = column["kind"] == "target";
    let numbers: Vec<f64> = rows.iter().filter_map(|row| row[index].as_f64()).collect();
    let counts = if numbers.is_empty() { levels(rows, index) } else { bins(&numbers) };
    let at_least = if column["distinct_is_lower_bound"] == true { "≥ " } else { "" };
    ColumnRow {
        is_target,
        kind: kind_in_words(column, !numbers.is_empty()),
        missing: count(column["missing"].as_u64().unwrap_or(0)),
        distinct: format!("{at_least}{}", count(column["distinct"].as_u64().unwrap_or(0))),
        min: maybe_number(&column["min"]),
        mean: maybe_number(&column["mean"]),
        max: maybe_number(&column["max"]),
        histogram: mini_bars(&counts, &format!("Histogram of {name}")),
        name,
    }
}

fn kind_in_words(column: &Value, has_numbers: bool) -> String {
    match column["kind"].as_str() {
        Some("numeric") => "number".into(),
        Some("categorical") => "text".into(),
        Some("boolean") => "yes or no".into(),
        Some("target") if has_numbers => "number".into(),
        Some("target") => "label".into(),
        other => other.unwrap_or_default().into(),
    }
}

/// Numbers of values in equal parts of their range.
fn bins(numbers: &[f64]) -> Vec<u64> {
    const BINS: usize = 16;
    let low = numbers.iter().copied().fold(f64::INFINITY, f64::min);
    let high = numbers.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let mut counts = vec![0; BINS];
    for number in numbers {
        let share = if high > low { (number - low) / (high - low) } else { 0.5 };
        counts[((share * BINS as f64) as usize).min(BINS - 1)] += 1;
    }
    counts
}

/// Numbers of rows of the most frequent levels.
fn levels(rows: &[&Value], index: usize) -> Vec<u64> {
    const MOST: usize = 16;
    let mut counts = std::collections::BTreeMap::<String, u64>::new();
    for value in rows.iter().map(|row| &row[index]).filter(|value| !value.is_null()) {
        *counts.entry(value.to_string()).or_default() += 1;
    }
    let mut counts: Vec<u64> = counts.into_values().collect();
    counts.sort_unstable_by(|left, right| right.cmp(left));
    counts.truncate(MOST);
    counts
}
