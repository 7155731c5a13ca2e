//! A prediction from a form that is made of the model's columns. The form is in the address, so that a prediction can be
//! shared, and nothing is changed by it.

use super::what_if::{Dependence, curves};
use super::{items, text};
use crate::api::console::api_client::{ApiClient, ApiRefusal};
use crate::api::console::backend::Backend;
use crate::api::console::display::{number, percent, rounded};
use crate::api::console::page::{Frame, Section, html, segment};
use askama::Template;
use axum::extract::{Path, Query, State};
use axum::http::{Method, StatusCode};
use axum::response::Response;
use serde_json::{Map, Value, json};
use std::collections::HashMap;

/// Answers of more letters are written smaller.
const LONG_ANSWER: usize = 24;

/// One input of the form.
struct Input {
    /// c0, c1 and so on: names of columns are anybody's.
    field: String,
    name: String,
    kind: InputKind,
    value: String,
    /// What the prediction would be with other values, as an SVG element made of numbers; empty if that is not known.
    curve: String,
}

enum InputKind {
    /// With the ends of its slider; empty if they are not known.
    Number {
        low: String,
        high: String,
    },
    Options(Vec<String>),
    /// One of so many levels that it is written and not chosen.
    Text,
}

/// What a column adds to the prediction.
struct Contribution {
    column: String,
    value: String,
    is_negative: bool,
    /// From 0 to 100, of the largest.
    size: u32,
}

struct PredictionView {
    /// Of which target, if there are several.
    target: Option<String>,
    /// The value or the label.
    answer: String,
    is_long: bool,
    lines: Vec<(&'static str, String)>,
    probabilities: Vec<(String, String, u32)>,
    baseline: Option<String>,
    contributions: Vec<Contribution>,
}

#[derive(Template)]
#[template(path = "try.html")]
struct TryPage {
    frame: Frame,
    name: String,
    link: String,
    version: u64,
    /// What is predicted, in words.
    targets: String,
    inputs: Vec<Input>,
    has_curves: bool,
    /// What curves show.
    unit: String,
    /// One for each target.
    outcomes: Vec<PredictionView>,
    refusal: Option<ApiRefusal>,
}

/// `GET /models/{model}/try`.
pub(in crate::api::console) async fn show(
    State(backend): State<Backend>,
    api: ApiClient,
    Path(model): Path<String>,
    Query(given): Query<HashMap<String, String>>,
) -> Result<Response, ApiRefusal> {
    let link = segment(&model);
    let described = api.get(&format!("/api/v1/models/{link}")).await?;
    let latest = &described["latest"];
    let ranges = api.get(&format!("/api/v1/models/{link}/explanations")).await?;
    let name = text(&described["name"]);
    let frame = Frame::load(&api, &backend, &format!("Try {name}"), Section::Models).await?;
    let dependences = Dependence::all(&ranges);
    let ends = |column: usize| dependences.iter().find(|found| found.column() == column).map(Dependence::ends);
    let mut inputs: Vec<Input> = items(&latest["columns"])
        .enumerate()
        .map(|(index, column)| input((index, column), (&latest["example_row"][index], ends(index)), &given))
        .collect();
    let row: Vec<Value> = inputs.iter().map(Input::to_json).collect();
    let outputs: Vec<&Value> = items(&latest["outputs"]).filter(|output| *output != "spread").collect();
    let request = json!({"rows": [&row], "outputs": outputs});
    let predicted = api.send_json(Method::POST, &format!("/api/v1/models/{link}/predict"), &request).await;
    let targets: Vec<String> = items(&latest["targets"]).map(text).collect();
    let (outcomes, refusal) = match predicted {
        Ok(answer) => (PredictionView::all(&answer["predictions"][0], &targets), None),
        Err(refusal) if refusal.status == StatusCode::UNAUTHORIZED => return Err(refusal),
        Err(refusal) => (Vec::new(), Some(without_row(refusal))),
    };
    if !outcomes.is_empty() && !dependences.is_empty() {
        let labels = !latest["labels"].is_null();
        for (column, curve) in curves(&api, (&link, labels), &row, &dependences).await {
            if let Some(input) = inputs.get_mut(column) {
                input.curve = curve;
            }
        }
    }
    let page = TryPage {
        frame,
        has_curves: inputs.iter().any(|input| !input.curve.is_empty()),
        unit: unit(latest),
        version: latest["version"].as_u64().unwrap_or(0),
        targets: match targets.as_slice() {
            [] | [_] => text(&latest["target"]),
            several => format!("{} targets", several.len()),
        },
        name,
        link,
        inputs,
        outcomes,
        refusal,
    };
    Ok(html(StatusCode::OK, &page))
}

/// A refusal with the names of columns alone, for a page that has one row.
fn without_row(refusal: ApiRefusal) -> ApiRefusal {
    let column = |text: &str| text.replace("/rows/0/", "");
    let problems = refusal.problems.iter().map(|(place, detail)| (column(place), detail.clone())).collect();
    ApiRefusal { detail: column(&refusal.detail), problems, ..refusal }
}

/// What the curves are of.
fn unit(latest: &Value) -> String {
    let labels: Vec<String> = items(&latest["labels"]).map(text).collect();
    match labels.as_slice() {
        [] => text(&latest["target"]),
        [_, second] => format!("the decision value, which is above 0 for {second}"),
        [first, ..] => format!("the decision value of {first}"),
    }
}

fn input(
    (index, column): (usize, &Value),
    (example, ends): (&Value, Option<(f64, f64)>),
    given: &HashMap<String, String>,
) -> Input {
    let field = format!("c{index}");
    let kind = match column["kind"].as_str() {
        Some("boolean") => InputKind::Options(vec!["true".into(), "false".into()]),
        Some("categorical") if column["signs"].is_object() => InputKind::Text,
        Some("categorical") => InputKind::Options(items(&column["levels"]).map(text).collect()),
        _ => {
            let end = |end: Option<f64>| end.map(|end| end.to_string()).unwrap_or_default();
            InputKind::Number { low: end(ends.map(|ends| ends.0)), high: end(ends.map(|ends| ends.1)) }
        }
    };
    let default = match example {
        Value::String(text) => text.clone(),
        Value::Number(number) => number.as_f64().map(|value| rounded(value).to_string()).unwrap_or_default(),
        other => other.to_string(),
    };
    let value = given.get(&field).cloned().unwrap_or(default);
    Input { value, name: text(&column["name"]), field, kind, curve: String::new() }
}

impl Input {
    fn is_slider(&self) -> bool {
        matches!(&self.kind, InputKind::Number { low, .. } if !low.is_empty())
    }

    /// An end of the slider as people read it.
    fn shown(end: &str) -> String {
        end.parse().map_or_else(|_| end.to_owned(), number)
    }

    /// Its value as rows have it; an empty one is missing, and what is no number is left to the API to explain.
    fn to_json(&self) -> Value {
        let value = self.value.trim();
        match &self.kind {
            _ if value.is_empty() => Value::Null,
            InputKind::Number { .. } => value.parse::<f64>().map_or_else(|_| json!(value), |number| json!(number)),
            InputKind::Options(options) if options.len() == 2 && options[0] == "true" && options[1] == "false" => {
                json!(value == "true")
            }
            InputKind::Options(_) | InputKind::Text => json!(value),
        }
    }
}

impl PredictionView {
    /// Of each target; what concerns the row as a whole is said once.
    fn all(prediction: &Value, targets: &[String]) -> Vec<Self> {
        if targets.len() < 2 {
            return vec![Self::of(prediction, None)];
        }
        let of_target = |(index, target): (usize, &String)| {
            let mut own = Map::new();
            for (output, found) in prediction.as_object().into_iter().flatten() {
                match found.get(target) {
                    Some(found) => drop(own.insert(output.clone(), found.clone())),
                    None if index == 0 => drop(own.insert(output.clone(), found.clone())),
                    None => {}
                }
            }
            Self::of(&Value::Object(own), Some(target.clone()))
        };
        targets.iter().enumerate().map(of_target).collect()
    }

    fn of(prediction: &Value, target: Option<String>) -> Self {
        let bare = |value: &Value| match value {
            Value::String(text) => text.clone(),
            other => other.as_f64().map_or_else(|| other.to_string(), number),
        };
        let answer =
            [&prediction["value"], &prediction["label"], prediction].into_iter().find(|value| !value.is_null());
        let answer = answer.map(bare).unwrap_or_default();
        let contributions = &prediction["contributions"];
        Self {
            target,
            is_long: answer.chars().count() > LONG_ANSWER,
            answer,
            lines: lines(prediction),
            probabilities: probabilities(&prediction["probabilities"]),
            baseline: contributions["baseline"].as_f64().map(number),
            contributions: ranked(&contributions["columns"]),
        }
    }
}

/// Interval, error bars, label set and warnings, in words.
fn lines(prediction: &Value) -> Vec<(&'static str, String)> {
    let interval = &prediction["interval"];
    let bounds = interval["low"].as_f64().zip(interval["high"].as_f64());
    let bar = |value: &Value| value.as_f64().map(|bar| format!("± {}", number(bar)));
    let set: Vec<String> = items(&prediction["label_set"]["labels"]).map(text).collect();
    let found = [
        (
            "Interval",
            bounds.map(|(low, high)| format!("{} to {}; {}", number(low), number(high), claim(interval, "true value"))),
        ),
        ("Error bar", bar(&prediction["error_bar"]).map(|bar| format!("{bar} from the random features (estimated)"))),
        (
            "Certified error bar",
            bar(&prediction["certified_error_bar"]).map(|bar| {
                format!(
                    "{bar} from the random features (proved for the share of inputs that the page of the model states)"
                )
            }),
        ),
        (
            "Label set",
            (!set.is_empty()).then(|| format!("{}; {}", set.join(", "), claim(&prediction["label_set"], "true label"))),
        ),
    ];
    let warnings = items(&prediction["warnings"]);
    let warnings = warnings.map(|found| ("Warning", format!("{}: {}", text(&found["column"]), text(&found["detail"]))));
    found.into_iter().filter_map(|(name, value)| Some((name, value?))).chain(warnings).collect()
}

/// What is proved of an interval or a label set.
fn claim(found: &Value, truth: &str) -> String {
    if found["in_range"] == false {
        return "this row is outside the training range, so no probability is claimed".to_owned();
    }
    let coverage = found["coverage"].as_f64().map_or_else(|| "the chosen share".into(), percent);
    format!("contains the {truth} with probability at least {coverage} if new rows are like the old ones")
}

fn probabilities(found: &Value) -> Vec<(String, String, u32)> {
    let share = |(label, value): (&String, &Value)| {
        let value = value.as_f64().unwrap_or(0.0);
        (label.clone(), percent(value), (value * 100.0) as u32)
    };
    found.as_object().into_iter().flatten().map(share).collect()
}

/// The largest first.
fn ranked(columns: &Value) -> Vec<Contribution> {
    let mut found: Vec<(String, f64)> = columns
        .as_object()
        .into_iter()
        .flatten()
        .filter_map(|(column, value)| Some((column.clone(), value.as_f64()?)))
        .collect();
    found.sort_by(|left, right| right.1.abs().total_cmp(&left.1.abs()));
    let largest = found.first().map_or(1.0, |(_, value)| value.abs()).max(f64::MIN_POSITIVE);
    let row = |(column, value): (String, f64)| Contribution {
        column,
        value: if value > 0.0 { format!("+{}", number(value)) } else { number(value) },
        is_negative: value < 0.0,
        size: (value.abs() / largest * 100.0).round() as u32,
    };
    found.into_iter().map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_target_has_its_own_answer_and_the_row_its_warnings_once() {
        let prediction = json!({
            "value": {"a": 1.5, "b": -2.0},
            "interval": {"a": {"low": 1.0, "high": 2.0, "coverage": 0.95, "in_range": true},
                "b": {"low": -3.0, "high": -1.0, "coverage": 0.95, "in_range": false}},
            "contributions": {"a": {"baseline": 1.0, "columns": {"x": 0.5}}, "b": {"baseline": 0.0, "columns": {"x": -2.0}}},
            "in_range": false,
            "warnings": [{"column": "x", "detail": "far"}],
        });
        let found = PredictionView::all(&prediction, &["a".to_owned(), "b".to_owned()]);
        let answers: Vec<_> = found.iter().map(|view| (view.target.as_deref(), view.answer.as_str())).collect();
        assert_eq!(answers, [(Some("a"), "1.5"), (Some("b"), "−2")]);
        assert!(found[0].lines[0].1.starts_with("1 to 2; contains the true value"), "{:?}", found[0].lines);
        assert!(found[1].lines[0].1.ends_with("no probability is claimed"), "{:?}", found[1].lines);
        assert_eq!(found.iter().flat_map(|view| &view.lines).filter(|(name, _)| *name == "Warning").count(), 1);
        assert_eq!((found[1].contributions[0].value.as_str(), found[1].contributions[0].is_negative), ("−2", true));
        let single = PredictionView::all(&json!({"label": "yes"}), &["kind".to_owned()]);
        assert_eq!((single.len(), single[0].answer.as_str(), &single[0].target), (1, "yes", &None));
    }
}
