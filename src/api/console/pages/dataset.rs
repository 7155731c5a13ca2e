//! One table: its quality, the roles of its columns, and its first rows.

use super::datasets::size_or_place;
use super::{items, text};
use crate::api::console::api_client::{ApiClient, ApiRefusal};
use crate::api::console::backend::Backend;
use crate::api::console::display::{ago, count, maybe_number, sentence};
use crate::api::console::page::{FormFields, Frame, Section, html, segment};
use crate::api::http::extract::Id;
use crate::plots::mini_bars;
use askama::Template;
use axum::extract::State;
use axum::http::{Method, StatusCode};
use axum::response::{IntoResponse, Redirect, Response};
use serde_json::{Value, json};

/// Rows that histograms are made of.
const HISTOGRAM_ROWS: usize = 1000;

/// Rows of the preview.
const PREVIEW_ROWS: usize = 8;

/// What a column can be made to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    Number,
    Levels,
    Date,
    LeftOut,
    Target,
    TargetNumber,
    TargetLabel,
}

impl Role {
    const ALL: [Self; 7] =
        [Self::Number, Self::Levels, Self::Date, Self::LeftOut, Self::Target, Self::TargetNumber, Self::TargetLabel];

    /// As in a form.
    fn name(self) -> &'static str {
        match self {
            Self::Number => "number",
            Self::Levels => "levels",
            Self::Date => "date",
            Self::LeftOut => "left_out",
            Self::Target => "target",
            Self::TargetNumber => "target_number",
            Self::TargetLabel => "target_label",
        }
    }

    fn in_words(self) -> &'static str {
        match self {
            Self::Number => "input: number",
            Self::Levels => "input: text or code",
            Self::Date => "input: date",
            Self::LeftOut => "left out",
            Self::Target => "target",
            Self::TargetNumber => "target: number",
            Self::TargetLabel => "target: label",
        }
    }

    /// What to ask of the API.
    fn change(self, column: &str) -> Value {
        match self {
            Self::Number => json!({"numeric": [column]}),
            Self::Levels => json!({"categorical": [column]}),
            Self::Date => json!({"datetime": [column]}),
            Self::LeftOut => json!({"ignore": [column]}),
            Self::Target => json!({"target": column}),
            Self::TargetNumber => json!({"task": "regression"}),
            Self::TargetLabel => json!({"task": "classification"}),
        }
    }
}

struct ColumnRow {
    name: String,
    is_target: bool,
    /// What it is now, for readers who may not change it.
    role: &'static str,
    /// (value, words, whether it is so now); empty if it cannot be changed.
    roles: Vec<(&'static str, &'static str, bool)>,
    kind: String,
    missing: String,
    distinct: String,
    min: String,
    mean: String,
    max: String,
    /// An inline SVG without values of its own but numbers.
    histogram: String,
}

struct FindingView {
    severity: String,
    column: String,
    detail: String,
    action: String,
    /// (role, words) of changes that answer it at once.
    remedies: Vec<(&'static str, String)>,
}

#[derive(Template)]
#[template(path = "dataset.html")]
struct DatasetPage {
    frame: Frame,
    id: String,
    name: String,
    rows: String,
    labelled: String,
    /// Of the upload, or where the rows are.
    size: String,
    is_located: bool,
    /// In words.
    task: &'static str,
    created: String,
    columns: Vec<ColumnRow>,
    findings: Vec<FindingView>,
    preview: Vec<Vec<String>>,
    histogram_rows: String,
    refusal: Option<ApiRefusal>,
}

/// `GET /datasets/{id}`.
pub(in crate::api::console) async fn show(
    State(backend): State<Backend>,
    api: ApiClient,
    Id(id): Id,
) -> Result<Response, ApiRefusal> {
    page(&backend, &api, &id, None).await
}

/// `POST /datasets/{id}/roles`: the same rows with another role of one column. They are a dataset of their own.
pub(in crate::api::console) async fn change_role(
    State(backend): State<Backend>,
    api: ApiClient,
    Id(id): Id,
    form: FormFields,
) -> Result<Response, ApiRefusal> {
    let column = form.raw("column").unwrap_or_default();
    let wanted = Role::ALL.into_iter().find(|role| Some(role.name()) == form.text("role"));
    let Some(role) = wanted else { return Ok(to_dataset(&id)) };
    let path = format!("/api/v1/datasets/{}", segment(&id));
    match api.send_json(Method::PATCH, &path, &role.change(column)).await {
        Ok(dataset) => Ok(to_dataset(&text(&dataset["id"]))),
        Err(refusal) if refusal.status == StatusCode::UNAUTHORIZED => Err(refusal),
        Err(refusal) => page(&backend, &api, &id, Some(refusal)).await,
    }
}

/// The page of a dataset, after a form.
pub(super) fn to_dataset(id: &str) -> Response {
    Redirect::to(&format!("/datasets/{}", segment(id))).into_response()
}

async fn page(
    backend: &Backend,
    api: &ApiClient,
    id: &str,
    refusal: Option<ApiRefusal>,
) -> Result<Response, ApiRefusal> {
    let path = format!("/api/v1/datasets/{}", segment(id));
    let dataset = api.get(&path).await?;
    let preview = api.get(&format!("{path}/preview?rows={HISTOGRAM_ROWS}")).await?;
    let rows: Vec<&Value> = items(&preview["rows"]).collect();
    let name = text(&dataset["name"]);
    let frame = Frame::load(api, backend, &name, Section::Datasets).await?;
    let located = dataset["location"].is_string();
    let column = |(index, column): (usize, &Value)| {
        let mut row = column_row(column, &dataset["task"], &rows, index);
        if located {
            row.roles.clear(); // its rows cannot be read again here
        }
        row
    };
    let finding = |item: &Value| FindingView {
        severity: text(&item["severity"]),
        column: text(&item["column"]),
        detail: sentence(&text(&item["detail"])),
        action: action_in_words(item),
        remedies: remedies(item),
    };
    let cells = |row: &&Value| items(row).map(cell).collect();
    let page = DatasetPage {
        frame,
        id: text(&dataset["id"]),
        rows: count(dataset["rows"].as_u64().unwrap_or(0)),
        labelled: count(dataset["labelled_rows"].as_u64().unwrap_or(0)),
        size: size_or_place(&dataset),
        is_located: located,
        task: if dataset["task"] == "classification" { "predicts labels" } else { "predicts numbers" },
        created: ago(&text(&dataset["created_at"])),
        columns: items(&dataset["columns"]).enumerate().map(column).collect(),
        findings: items(&dataset["quality"]["findings"]).map(finding).collect(),
        preview: rows.iter().take(PREVIEW_ROWS).map(cells).collect(),
        histogram_rows: count(rows.len() as u64),
        name,
        refusal,
    };
    let status = page.refusal.as_ref().map_or(StatusCode::OK, |refusal| refusal.status);
    Ok(html(status, &page))
}

fn cell(value: &Value) -> String {
    match value {
        Value::Null => "–".to_owned(),
        Value::String(text) => text.clone(),
        other => other.as_f64().map_or_else(|| other.to_string(), |number| number.to_string()),
    }
}

fn column_row(column: &Value, dataset_task: &Value, rows: &[&Value], index: usize) -> ColumnRow {
    let name = text(&column["name"]);
    let is_target = column["kind"] == "target";
    let numbers: Vec<f64> = rows.iter().filter_map(|row| row[index].as_f64()).collect();
    let counts = if numbers.is_empty() { levels(rows, index) } else { bins(&numbers) };
    let at_least = if column["distinct_is_lower_bound"] == true { "≥ " } else { "" };
    let role = role(column, dataset_task);
    ColumnRow {
        is_target,
        role: role.map_or("input: yes or no", Role::in_words),
        roles: roles(column, role),
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

/// What a column is now; none for truth values, which are found and not chosen.
fn role(column: &Value, task: &Value) -> Option<Role> {
    match (column["kind"].as_str(), task.as_str()) {
        (Some("target"), Some("classification")) => Some(Role::TargetLabel),
        (Some("target"), _) => Some(Role::TargetNumber),
        _ if !column["left_out"].is_null() => Some(Role::LeftOut),
        (Some("categorical"), _) => Some(Role::Levels),
        (Some("date" | "datetime"), _) => Some(Role::Date),
        (Some("boolean"), _) => None,
        _ => Some(Role::Number),
    }
}

/// What a column can be made to be, and what it is. Cells of names and sentences were not kept, so that they stay out.
fn roles(column: &Value, now: Option<Role>) -> Vec<(&'static str, &'static str, bool)> {
    let option = |role: Role| (role.name(), role.in_words(), now == Some(role));
    match (column["kind"].as_str(), now) {
        (Some("text"), _) => Vec::new(),
        (Some("target"), _) => [Role::TargetNumber, Role::TargetLabel].map(option).to_vec(),
        (_, None) => [("", "input: yes or no", true)]
            .into_iter()
            .chain([Role::Number, Role::Levels, Role::LeftOut, Role::Target].map(option))
            .collect(),
        (Some("date" | "datetime"), _) => [Role::Date, Role::Number, Role::Levels, Role::LeftOut].map(option).to_vec(),
        _ => [Role::Number, Role::Levels, Role::Date, Role::LeftOut, Role::Target].map(option).to_vec(),
    }
}

/// What to do about a finding, without parameters of the API: roles are changed on this page.
fn action_in_words(finding: &Value) -> String {
    let (action, column) = (text(&finding["action"]), text(&finding["column"]));
    action
        .replace(&format!("send categorical={column} or numeric={column}"), "change its role below")
        .replace(&format!("send categorical={column}"), "treat it as codes")
        .replace(&format!(" with ignore={column}"), "")
}

/// Changes of roles that answer a finding.
fn remedies(finding: &Value) -> Vec<(&'static str, String)> {
    let Some(column) = finding["column"].as_str() else { return Vec::new() };
    let leave_out = || (Role::LeftOut.name(), format!("Leave {column} out"));
    match finding["code"].as_str() {
        Some("integer_codes") => vec![(Role::Levels.name(), format!("Treat {column} as codes"))],
        Some("leading_zeros" | "long_integers") => vec![(Role::Number.name(), format!("Treat {column} as numbers"))],
        Some(
            "constant" | "nearly_constant" | "high_cardinality" | "mostly_missing" | "duplicate_column" | "target_leak",
        ) => vec![leave_out()],
        _ => Vec::new(),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_offers_what_it_is_and_what_it_can_be() {
        let chosen = |column: Value, task: &str| {
            let now = role(&column, &json!(task));
            let roles = roles(&column, now);
            assert!(roles.iter().filter(|(.., chosen)| *chosen).count() <= 1);
            roles.into_iter().find(|(.., chosen)| *chosen).map(|(name, ..)| name)
        };
        assert_eq!(chosen(json!({"kind": "numeric", "left_out": null}), "regression"), Some("number"));
        assert_eq!(chosen(json!({"kind": "categorical", "left_out": "ignored"}), "regression"), Some("left_out"));
        assert_eq!(chosen(json!({"kind": "boolean", "left_out": null}), "regression"), Some(""));
        assert_eq!(chosen(json!({"kind": "target"}), "classification"), Some("target_label"));
        assert_eq!(chosen(json!({"kind": "text", "left_out": "free_text"}), "regression"), None);
        assert!(Role::ALL.iter().all(|role| role.change("x").as_object().is_some_and(|change| change.len() == 1)));
    }
}
