//! Tables: the list and uploads.

use super::dataset::to_dataset;
use super::upload::{self, Upload};
use super::{items, text};
use crate::api::console::api_client::{ApiClient, ApiRefusal};
use crate::api::console::backend::Backend;
use crate::api::console::display::{ago, bytes, count};
use crate::api::console::page::{FormFields, Frame, Section, html, segment};
use crate::api::http::extract::{Id, QueryFields};
use askama::Template;
use axum::extract::{Multipart, State};
use axum::http::{Method, StatusCode};
use axum::response::{IntoResponse, Redirect, Response};
use serde_json::Value;
use std::collections::HashSet;

/// A table of 800 houses, so that everything can be tried at once.
const SAMPLE: &str = include_str!("../../../../examples/houses.csv");

struct DatasetRow {
    id: String,
    name: String,
    rows: String,
    columns: String,
    target: String,
    size: String,
    created: String,
    /// Whether a newer table has taken over its name.
    is_replaced: bool,
}

#[derive(Template)]
#[template(path = "datasets.html")]
struct DatasetsPage {
    frame: Frame,
    datasets: Vec<DatasetRow>,
    next: Option<String>,
    is_first: bool,
    refusal: Option<ApiRefusal>,
}

/// `GET /datasets`.
pub(in crate::api::console) async fn list(
    State(backend): State<Backend>,
    api: ApiClient,
    query: QueryFields,
) -> Result<Response, ApiRefusal> {
    let cursor = query.text("cursor").map(segment);
    page(&backend, &api, cursor.as_deref(), None).await
}

async fn page(
    backend: &Backend,
    api: &ApiClient,
    cursor: Option<&str>,
    refusal: Option<ApiRefusal>,
) -> Result<Response, ApiRefusal> {
    let frame = Frame::load(api, backend, "Datasets", Section::Datasets).await?;
    let after = cursor.map(|cursor| format!("&cursor={cursor}")).unwrap_or_default();
    let found = api.get(&format!("/api/v1/datasets?limit=50{after}")).await?;
    let mut seen = HashSet::new();
    let mut row = |item: &Value| DatasetRow {
        is_replaced: !seen.insert(text(&item["name"])),
        id: text(&item["id"]),
        name: text(&item["name"]),
        rows: count(item["rows"].as_u64().unwrap_or(0)),
        columns: count(items(&item["columns"]).count() as u64),
        target: items(&item["targets"]).map(text).collect::<Vec<_>>().join(", "),
        size: size_or_place(item),
        created: ago(&text(&item["created_at"])),
    };
    let status = refusal.as_ref().map_or(StatusCode::OK, |refusal| refusal.status);
    let page = DatasetsPage {
        frame,
        datasets: items(&found["datasets"]).map(&mut row).collect(),
        next: found["next_cursor"].as_str().map(segment),
        is_first: cursor.is_none(),
        refusal,
    };
    Ok(html(status, &page))
}

/// The size of an upload, or the place of rows that stay where they are.
pub(super) fn size_or_place(dataset: &Value) -> String {
    dataset["location"].as_str().map_or_else(|| bytes(dataset["bytes"].as_f64().unwrap_or(0.0)), str::to_owned)
}

/// `POST /datasets`: a file from the form.
pub(in crate::api::console) async fn upload(
    State(backend): State<Backend>,
    api: ApiClient,
    form: Multipart,
) -> Result<Response, ApiRefusal> {
    match upload::receive(&backend, &api, form).await {
        Ok(dataset) => Ok(to_dataset(&text(&dataset["id"]))),
        Err(refusal) if refusal.status == StatusCode::UNAUTHORIZED => Err(refusal),
        Err(refusal) => page(&backend, &api, None, Some(refusal)).await,
    }
}

/// `POST /datasets/sample`: the table that comes with the program.
pub(in crate::api::console) async fn sample(api: ApiClient, _: FormFields) -> Result<Response, ApiRefusal> {
    let sample = Upload { file_name: "houses.csv".into(), name: "houses".into(), target: "price".into() };
    Ok(to_dataset(&text(&sample.send(&api, SAMPLE.into()).await?["id"])))
}

/// `POST /datasets/{id}/delete`.
pub(in crate::api::console) async fn delete(api: ApiClient, Id(id): Id, _: FormFields) -> Result<Response, ApiRefusal> {
    api.call(Method::DELETE, &format!("/api/v1/datasets/{}", segment(&id))).await?;
    Ok(Redirect::to("/datasets").into_response())
}
