//! Models: the list, one model with its verdict, versions and aliases.

use super::model_view::{Version, VersionColumn};
use super::{items, text};
use crate::api::console::api_client::{ApiClient, Refusal};
use crate::api::console::backend::Backend;
use crate::api::console::display::{ago, bytes, count, maybe_number};
use crate::api::console::page::{FormFields, Frame, Section, html, segment};
use crate::api::console::session::is_secure;
use crate::api::http::extract::{QueryFields, VersionedModel};
use askama::Template;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, Method, StatusCode, header};
use axum::response::{IntoResponse, Redirect, Response};
use serde_json::{Value, json};

/// Models on one page of the list.
const PER_PAGE: usize = 100;

/// Versions that are shown side by side.
const COMPARED: usize = 4;

/// A model in a list.
pub(super) struct ModelRow {
    pub(super) name: String,
    pub(super) link: String,
    pub(super) versions: String,
    pub(super) aliases: String,
    pub(super) size: String,
    pub(super) created: String,
}

impl ModelRow {
    pub(super) fn of(model: &Value) -> Self {
        let name = text(&model["name"]);
        let newest = &model["versions"][0];
        let alias = |(alias, version): (&String, &Value)| format!("{alias} → {version}");
        Self {
            link: segment(&name),
            versions: count(items(&model["versions"]).count() as u64),
            aliases: model["aliases"].as_object().into_iter().flatten().map(alias).collect::<Vec<_>>().join(", "),
            size: bytes(newest["artifact_bytes"].as_f64().unwrap_or(0.0)),
            created: ago(&text(&newest["created_at"])),
            name,
        }
    }
}

#[derive(Template)]
#[template(path = "models.html")]
struct ModelsPage {
    frame: Frame,
    models: Vec<ModelRow>,
    search: String,
    search_link: String,
    total: String,
    previous: Option<usize>,
    next: Option<usize>,
}

/// `GET /models`.
pub(in crate::api::console) async fn list(
    State(backend): State<Backend>,
    api: ApiClient,
    query: QueryFields,
) -> Result<Response, Refusal> {
    let frame = Frame::load(&api, &backend, "Models", Section::Models).await?;
    let found = api.get("/api/v1/models").await?;
    let search = query.text("q").unwrap_or_default().to_lowercase();
    let start = query.text("from").and_then(|from| from.parse().ok()).unwrap_or(0_usize);
    let named = |model: &&Value| model["name"].as_str().is_some_and(|name| name.to_lowercase().contains(&search));
    let models: Vec<&Value> = items(&found["models"]).filter(named).collect();
    let page = ModelsPage {
        frame,
        models: models.iter().skip(start).take(PER_PAGE).map(|model| ModelRow::of(model)).collect(),
        search_link: segment(&search),
        search,
        total: count(models.len() as u64),
        previous: (start > 0).then(|| start.saturating_sub(PER_PAGE)),
        next: Some(start + PER_PAGE).filter(|next| *next < models.len()),
    };
    Ok(html(StatusCode::OK, &page))
}

/// Rows of the data of a plot that a page shows; the files have all.
const DATA_ROWS: usize = 100;

/// A plot with the data behind it.
struct PlotView {
    name: String,
    title: String,
    description: String,
    columns: Vec<String>,
    rows: Vec<Vec<String>>,
    /// Rows in all.
    row_count: usize,
}

struct AliasRow {
    name: String,
    version: u64,
}

#[derive(Template)]
#[template(path = "model.html")]
struct ModelPage {
    frame: Frame,
    name: String,
    link: String,
    version: Version,
    versions: Vec<VersionColumn>,
    compared: Vec<(&'static str, Vec<String>)>,
    version_count: usize,
    aliases: Vec<AliasRow>,
    plots: Vec<PlotView>,
    /// (title, why it is missing).
    missing_plots: Vec<(String, String)>,
    /// Where the service is, for the lines that call it.
    base: String,
}

/// `GET /models/{model}` and `GET /models/{model}/versions/{version}`.
pub(in crate::api::console) async fn show(
    State(backend): State<Backend>,
    api: ApiClient,
    VersionedModel { name, version }: VersionedModel,
    headers: HeaderMap,
) -> Result<Response, Refusal> {
    let path = format!("/api/v1/models/{}", segment(&name));
    let model = api.get(&path).await?;
    let name = text(&model["name"]);
    let newest = model["latest"]["version"].as_u64().unwrap_or(1);
    let number = version.map_or(newest, u64::from);
    let path = format!("/api/v1/models/{}", segment(&name));
    let described =
        if number == newest { model["latest"].clone() } else { api.get(&format!("{path}/versions/{number}")).await? };
    let guarantees = api.get(&format!("{path}/versions/{number}/guarantees")).await?;
    let mut versions = Vec::new();
    for other in items(&model["versions"]).take(COMPARED) {
        let other = other["version"].as_u64().unwrap_or(1);
        let described =
            if other == number { described.clone() } else { api.get(&format!("{path}/versions/{other}")).await? };
        versions.push(VersionColumn::of(&described, other == number));
    }
    let (plots, missing_plots) = plots(&api, &format!("{path}/versions/{number}/plots")).await?;
    let frame = Frame::load(&api, &backend, &name, Section::Models).await?;
    let alias =
        |(alias, version): (&String, &Value)| AliasRow { name: alias.clone(), version: version.as_u64().unwrap_or(0) };
    let page = ModelPage {
        frame,
        base: base(&backend, &headers),
        plots,
        missing_plots,
        link: segment(&name),
        version: Version::of(&described, &guarantees),
        compared: VersionColumn::rows(&versions),
        versions,
        version_count: items(&model["versions"]).count(),
        aliases: model["aliases"].as_object().into_iter().flatten().map(alias).collect(),
        name,
    };
    Ok(html(StatusCode::OK, &page))
}

/// The plots that there are, with their data, and why others are missing.
async fn plots(api: &ApiClient, path: &str) -> Result<(Vec<PlotView>, Vec<(String, String)>), Refusal> {
    let listed = api.get(&format!("{path}?data=true")).await?;
    let (mut there, mut missing) = (Vec::new(), Vec::new());
    for plot in items(&listed["plots"]) {
        let (name, title) = (text(&plot["name"]), text(&plot["title"]));
        if let Some(reason) = plot["missing"].as_str() {
            missing.push((title, reason.to_owned()));
            continue;
        }
        let cell = |value: &Value| match value {
            Value::String(text) => text.clone(),
            other => maybe_number(other),
        };
        there.push(PlotView {
            name,
            title,
            description: text(&plot["description"]),
            columns: items(&plot["columns"]).map(text).collect(),
            rows: items(&plot["rows"]).take(DATA_ROWS).map(|row| items(row).map(cell).collect()).collect(),
            row_count: items(&plot["rows"]).count(),
        });
    }
    Ok((there, missing))
}

/// The address by which the reader has reached the service.
fn base(backend: &Backend, headers: &HeaderMap) -> String {
    let scheme = if is_secure(backend, headers) { "https" } else { "http" };
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok()).unwrap_or("localhost");
    format!("{scheme}://{host}")
}

/// `POST /models/{model}/aliases`: points an alias to a version.
pub(in crate::api::console) async fn point(
    api: ApiClient,
    Path(model): Path<String>,
    form: FormFields,
) -> Result<Response, Refusal> {
    let (model, alias) = (segment(&model), segment(form.text("alias").unwrap_or_default()));
    let version: Value = form.text("version").and_then(|text| text.parse().ok()).map_or(Value::Null, |v: u32| json!(v));
    let path = format!("/api/v1/models/{model}/aliases/{alias}");
    api.send_json(Method::PUT, &path, &json!({"version": version})).await?;
    Ok(Redirect::to(&format!("/models/{model}")).into_response())
}

/// `POST /models/{model}/certify`: a job that compares a version with the exact method.
pub(in crate::api::console) async fn certify(
    api: ApiClient,
    Path(model): Path<String>,
    form: FormFields,
) -> Result<Response, Refusal> {
    let version: Option<u32> = form.text("version").and_then(|text| text.parse().ok());
    let request = json!({"type": "certify", "model": model, "version": version});
    let job = api.send_json(Method::POST, "/api/v1/jobs", &request).await?;
    Ok(Redirect::to(&format!("/jobs/{}", segment(&text(&job["id"])))).into_response())
}
