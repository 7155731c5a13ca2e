//! Models: the list, one model with its verdict, versions and aliases.

use super::model_view::{Version, VersionColumn};
use super::{items, text};
use crate::api::console::api_client::{ApiClient, ApiRefusal};
use crate::api::console::backend::Backend;
use crate::api::console::display::{ago, bytes, count, maybe_number, percent, sentence};
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
        let alias = |(alias, version): (&String, &Value)| format!("{alias}\u{a0}→\u{a0}{version}");
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
    /// How many there are, in words.
    total: String,
    next: Option<String>,
    is_first: bool,
}

/// `GET /models`: in pages, or what has a part of a name.
pub(in crate::api::console) async fn list(
    State(backend): State<Backend>,
    api: ApiClient,
    query: QueryFields,
) -> Result<Response, ApiRefusal> {
    let frame = Frame::load(&api, &backend, "Models", Section::Models).await?;
    let search = query.text("q").unwrap_or_default().to_lowercase();
    let cursor = query.text("cursor").map(segment);
    let is_first = cursor.is_none();
    let (models, next, total) = if search.is_empty() {
        let found = page_of_models(&api, PER_PAGE, cursor.as_deref()).await?;
        let models: Vec<ModelRow> = items(&found["models"]).map(ModelRow::of).collect();
        let next = found["next_cursor"].as_str().map(segment);
        let all = is_first && next.is_none();
        let total = if all { format!("{} found", count(models.len() as u64)) } else { "In the order of names".into() };
        (models, next, total)
    } else {
        let (models, total) = named(&api, &search).await?;
        let shown = if total > models.len() { format!(", the first {PER_PAGE} of them here") } else { String::new() };
        (models, None, format!("{} found{shown}", count(total as u64)))
    };
    Ok(html(StatusCode::OK, &ModelsPage { frame, models, search, total, next, is_first }))
}

async fn page_of_models(api: &ApiClient, limit: usize, cursor: Option<&str>) -> Result<Value, ApiRefusal> {
    let after = cursor.map(|cursor| format!("&cursor={cursor}")).unwrap_or_default();
    api.get(&format!("/api/v1/models?limit={limit}{after}")).await
}

/// The first models with a part of a name, and how many there are.
async fn named(api: &ApiClient, search: &str) -> Result<(Vec<ModelRow>, usize), ApiRefusal> {
    /// The most that the API lists at once.
    const AT_ONCE: usize = 1000;
    let (mut models, mut total, mut cursor) = (Vec::new(), 0, None);
    loop {
        let found = page_of_models(api, AT_ONCE, cursor.as_deref()).await?;
        let is_meant = |model: &&Value| model["name"].as_str().is_some_and(|name| name.to_lowercase().contains(search));
        for model in items(&found["models"]).filter(is_meant) {
            total += 1;
            if models.len() < PER_PAGE {
                models.push(ModelRow::of(model));
            }
        }
        cursor = found["next_cursor"].as_str().map(segment);
        if cursor.is_none() {
            return Ok((models, total));
        }
    }
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
    drift: Option<DriftView>,
    /// Whether a job could compare the version with the exact method, which nobody has done yet.
    can_certify: bool,
    /// Where the service is, for the lines that call it.
    base: String,
}

/// Rows of requests from which on the API finds columns notable.
const JUDGED_FROM: u64 = 100;

/// What requests were about, since the version was loaded.
struct DriftView {
    rows: String,
    /// What stands out, in a sentence.
    verdict: String,
    is_notable: bool,
    /// Column, missing, out of range, unknown, mean, mean in training.
    columns: Vec<[String; 6]>,
}

impl DriftView {
    /// Nothing if there were no requests.
    fn of(found: &Value) -> Option<Self> {
        let rows = found["rows"].as_u64().filter(|rows| *rows > 0)?;
        let share = |value: &Value| value.as_f64().map_or_else(|| "–".to_owned(), percent);
        let cells = |column: &Value| {
            [
                text(&column["column"]),
                share(&column["missing"]),
                share(&column["out_of_range"]),
                share(&column["unknown_levels"]),
                maybe_number(&column["mean"]),
                maybe_number(&column["training_mean"]),
            ]
        };
        let notable: Vec<String> = items(&found["columns"])
            .filter(|column| column["notable"] == json!(true))
            .map(|column| format!("'{}'", text(&column["column"])))
            .collect();
        let verdict = if rows < JUDGED_FROM {
            format!("Too few rows to judge: columns are judged from {JUDGED_FROM} rows on.")
        } else if notable.is_empty() {
            "No column stands out.".to_owned()
        } else {
            format!(
                "Many rows have values that training did not see, in {}: train again on newer rows.",
                notable.join(", ")
            )
        };
        let columns = items(&found["columns"]).map(cells).collect();
        Some(Self { rows: count(rows), verdict, is_notable: !notable.is_empty(), columns })
    }
}

/// `GET /models/{model}` and `GET /models/{model}/versions/{version}`.
pub(in crate::api::console) async fn show(
    State(backend): State<Backend>,
    api: ApiClient,
    VersionedModel { name, version }: VersionedModel,
    headers: HeaderMap,
) -> Result<Response, ApiRefusal> {
    let path = format!("/api/v1/models/{}", segment(&name));
    let model = api.get(&path).await?;
    let name = text(&model["name"]);
    let newest = model["latest"]["version"].as_u64().unwrap_or(1);
    let number = version.map_or(newest, u64::from);
    let path = format!("/api/v1/models/{}", segment(&name));
    let described =
        if number == newest { model["latest"].clone() } else { api.get(&format!("{path}/versions/{number}")).await? };
    let guarantees = api.get(&format!("{path}/versions/{number}/guarantees")).await?;
    let can_certify = guarantees["measured"]["exact_krr_error"].is_null() && {
        let all = api.get(&format!("{path}/versions/{number}/guarantees?all=true")).await?;
        all["needs_rows"]["available"] == json!(true) && items(&all["needs_rows"]["ids"]).next().is_some()
    };
    let mut versions = Vec::new();
    for other in items(&model["versions"]).take(COMPARED) {
        let other = other["version"].as_u64().unwrap_or(1);
        let described =
            if other == number { described.clone() } else { api.get(&format!("{path}/versions/{other}")).await? };
        versions.push(VersionColumn::of(&described, other == number));
    }
    let drift = DriftView::of(&api.get(&format!("{path}/versions/{number}/drift")).await?);
    let (plots, missing_plots) = plots(&api, &format!("{path}/versions/{number}/plots")).await?;
    let frame = Frame::load(&api, &backend, &name, Section::Models).await?;
    let alias =
        |(alias, version): (&String, &Value)| AliasRow { name: alias.clone(), version: version.as_u64().unwrap_or(0) };
    let page = ModelPage {
        frame,
        base: base(&backend, &headers),
        plots,
        missing_plots,
        drift,
        can_certify,
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
async fn plots(api: &ApiClient, path: &str) -> Result<(Vec<PlotView>, Vec<(String, String)>), ApiRefusal> {
    let listed = api.get(&format!("{path}?data=true")).await?;
    let (mut there, mut missing) = (Vec::new(), Vec::new());
    for plot in items(&listed["plots"]) {
        let (name, title) = (text(&plot["name"]), text(&plot["title"]));
        if let Some(reason) = plot["missing"].as_str() {
            missing.push((title, sentence(reason)));
            continue;
        }
        let cell = |value: &Value| match value {
            Value::String(text) => text.clone(),
            other => maybe_number(other),
        };
        // Columns that are empty in every row, such as the ends of intervals of what has none, only take room.
        let is_known = |column: usize| items(&plot["rows"]).any(|row| !row[column].is_null());
        let known: Vec<usize> = (0..items(&plot["columns"]).count()).filter(|column| is_known(*column)).collect();
        let cells = |row: &Value| known.iter().map(|column| cell(&row[*column])).collect();
        there.push(PlotView {
            name,
            title,
            description: text(&plot["description"]),
            columns: known.iter().map(|column| text(&plot["columns"][*column])).collect(),
            rows: items(&plot["rows"]).take(DATA_ROWS).map(cells).collect(),
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
) -> Result<Response, ApiRefusal> {
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
) -> Result<Response, ApiRefusal> {
    let version: Option<u32> = form.text("version").and_then(|text| text.parse().ok());
    let request = json!({"type": "certify", "model": model, "version": version});
    let job = api.send_json(Method::POST, "/api/v1/jobs", &request).await?;
    Ok(Redirect::to(&format!("/jobs/{}", segment(&text(&job["id"])))).into_response())
}
