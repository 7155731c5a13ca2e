//! The form that starts a training: sensible defaults, each choice with a sentence, and a forecast before the start.

use super::forecast::Forecast;
use super::{items, text};
use crate::api::console::api_client::{ApiClient, ApiRefusal};
use crate::api::console::backend::Backend;
use crate::api::console::page::{FormFields, Frame, Section, html, segment};
use askama::Template;
use axum::extract::{Query, State};
use axum::http::{Method, StatusCode};
use axum::response::{IntoResponse, Redirect, Response};
use serde_json::{Map, Value, json};
use std::collections::{HashMap, HashSet};

/// A field with a fixed set of values.
struct Choice {
    name: &'static str,
    label: &'static str,
    help: &'static str,
    /// (value, words).
    options: &'static [(&'static str, &'static str)],
    chosen: String,
}

/// A field in which something is written.
struct Entry {
    name: &'static str,
    label: &'static str,
    help: &'static str,
    value: String,
}

/// A field that is on or off.
struct Switch {
    name: &'static str,
    label: &'static str,
    help: &'static str,
    on: bool,
}

#[derive(Template)]
#[template(path = "train.html")]
struct TrainPage {
    frame: Frame,
    /// (id, name).
    datasets: Vec<(String, String)>,
    dataset: String,
    model: String,
    features: Entry,
    learner: Choice,
    switches: Vec<Switch>,
    choices: Vec<Choice>,
    entries: Vec<Entry>,
    forecast: Option<Forecast>,
    refusal: Option<ApiRefusal>,
    is_advanced: bool,
}

/// What a choice can be: the value that is sent, and what it is called.
type Options = &'static [(&'static str, &'static str)];

/// (name, label, help, options) of the choices under "advanced". What is left open is chosen as the effort allows.
const CHOICES: [(&str, &str, &str, Options); 7] = [
    (
        "effort",
        "Effort",
        "How much may be spent on choosing what is left open here. Balanced searches on a sample of the rows. Fast takes the \
         Gaussian kernel and searches for λ alone. Thorough searches longer, with more features, and takes the exact method \
         where it is better.",
        &[("", "Balanced (default)"), ("fast", "Fast"), ("thorough", "Thorough")],
    ),
    (
        "kernel",
        "Kernel",
        "How likeness falls with distance. Gaussian suits smooth relations, Laplace and Matérn rougher ones.",
        &[
            ("", "By the effort (default)"),
            ("gaussian", "Gaussian"),
            ("laplace", "Laplace"),
            ("matern", "Matérn"),
            ("cauchy", "Cauchy"),
            ("angular", "Angular"),
            ("linear", "Linear"),
        ],
    ),
    (
        "bandwidth",
        "Bandwidth",
        "The distance at which rows count as alike. Searching takes longer and often fits better.",
        &[
            ("", "By the effort (default)"),
            ("mean_distance", "Mean distance of rows"),
            ("median", "Median distance of rows"),
            ("search", "Search for the best"),
        ],
    ),
    (
        "lambda",
        "Regularisation λ",
        "How strongly smooth functions are preferred. The search takes the best by leave-one-out error.",
        &[("", "Search for the best (default)"), ("certified", "Large enough for the certified theorems")],
    ),
    (
        "metric",
        "Relevance of inputs",
        "Whether training also learns which inputs matter.",
        &[
            ("", "By the effort (default)"),
            ("none", "All count the same"),
            ("diagonal", "Learn one for each input"),
            ("search", "Search for the best"),
        ],
    ),
    (
        "scaling",
        "Scaling",
        "How columns of different size are made comparable.",
        &[("", "By the effort (default)"), ("standard", "Standard"), ("none", "None")],
    ),
    (
        "sampling",
        "Sampling of features",
        "How random features are drawn. Plain draws are what most theorems are about.",
        &[
            ("", "Plain (default)"),
            ("orthogonal", "Orthogonal"),
            ("quasi_monte_carlo", "Quasi-Monte Carlo"),
            ("leverage", "By leverage, from a pool"),
        ],
    ),
];

const LEARNERS: &[(&str, &str)] = &[
    ("", "By the target (default)"),
    ("ridge", "Ridge regression: numbers, or labels as ±1"),
    ("logistic", "Logistic regression: labels with probabilities"),
    ("hinge", "Support vector machine: labels"),
    ("exact_krr", "Exact kernel ridge regression: no random features"),
];

/// (name, label, help) of what is written under "advanced".
const ENTRIES: [(&str, &str, &str); 3] = [
    ("validation_fraction", "Share of rows held out", "Errors are measured on these rows. Default: 0.2."),
    ("delta", "Failure probability δ", "Guarantees hold with probability at least 1 − δ. Default: 0.05."),
    ("seed", "Seed", "The same seed and data give the same model. Default: 0."),
];

/// (name, label, help, default) of what is on or off.
const SWITCHES: [(&str, &str, &str, bool); 3] = [
    (
        "explanations",
        "Explain the columns",
        "Importance and effect of every column; training takes a little longer.",
        true,
    ),
    (
        "learning_curve",
        "Learning curve",
        "Trains on fewer rows too, to show whether more rows would help; about twice the time.",
        false,
    ),
    ("updatable", "Allow updates", "Keeps sums, so that rows can be added later without training again.", false),
];

/// `GET /train`: with a dataset and a model in the address, also a forecast.
pub(in crate::api::console) async fn show(
    State(backend): State<Backend>,
    api: ApiClient,
    Query(mut fields): Query<HashMap<String, String>>,
) -> Result<Response, ApiRefusal> {
    let dataset = fields.get("dataset").cloned().unwrap_or_default();
    if !dataset.is_empty() && fields.get("model").is_none_or(String::is_empty) {
        let found = api.get(&format!("/api/v1/datasets/{}", segment(&dataset))).await?;
        fields.insert("model".to_owned(), model_name(&text(&found["name"])));
    }
    let (forecast, refusal) = if dataset.is_empty() {
        (None, None)
    } else {
        match Forecast::of(&api, &job(&fields)).await {
            Ok(forecast) => (Some(forecast), None),
            Err(refusal) => (None, Some(refusal)),
        }
    };
    page(&backend, &api, &fields, forecast, refusal).await
}

/// `POST /train`.
pub(in crate::api::console) async fn submit(
    State(backend): State<Backend>,
    api: ApiClient,
    form: FormFields,
) -> Result<Response, ApiRefusal> {
    match api.send_json(Method::POST, "/api/v1/jobs", &job(form.all())).await {
        Ok(job) => Ok(Redirect::to(&format!("/jobs/{}", segment(&text(&job["id"])))).into_response()),
        Err(refusal) if refusal.status == StatusCode::UNAUTHORIZED => Err(refusal),
        Err(refusal) => page(&backend, &api, form.all(), None, Some(refusal)).await,
    }
}

async fn page(
    backend: &Backend,
    api: &ApiClient,
    fields: &HashMap<String, String>,
    forecast: Option<Forecast>,
    refusal: Option<ApiRefusal>,
) -> Result<Response, ApiRefusal> {
    let frame = Frame::load(api, backend, "Train a model", Section::Train).await?;
    let found = api.get("/api/v1/datasets?limit=200").await?;
    let mut datasets: Vec<(String, String)> =
        items(&found["datasets"]).map(|item| (text(&item["id"]), text(&item["name"]))).collect();
    let value = |name: &str| fields.get(name).cloned().unwrap_or_default();
    let choice = |(name, label, help, options)| Choice { name, label, help, options, chosen: value(name) };
    let chosen = value("dataset");
    let named = datasets.iter().find(|(id, name)| *id == chosen || *name == chosen).cloned();
    // Of tables with one name only the newest is meant, unless an older one was chosen.
    let mut seen = HashSet::new();
    datasets.retain(|(id, name)| seen.insert(name.clone()) || *id == chosen);
    let is_sent = fields.contains_key("features");
    let status = refusal.as_ref().map_or(StatusCode::OK, |refusal| refusal.status);
    let page = TrainPage {
        frame,
        model: match value("model") {
            empty if empty.is_empty() => named.as_ref().map_or_else(String::new, |(_, name)| model_name(name)),
            given => given,
        },
        dataset: named.map(|(id, _)| id).unwrap_or_default(),
        features: Entry {
            name: "features",
            label: "Random features",
            help: "More features come closer to the exact method and take more time and memory. Empty: chosen by the \
                   number of rows. 'auto' tries how many are enough.",
            value: value("features"),
        },
        learner: choice(("learner", "Method", "What is minimised. The default fits the target.", LEARNERS)),
        switches: SWITCHES
            .map(|(name, label, help, default)| {
                let on = if is_sent { fields.contains_key(name) } else { default };
                Switch { name, label, help, on }
            })
            .into(),
        is_advanced: CHOICES.iter().any(|(name, ..)| !value(name).is_empty())
            || ENTRIES.iter().any(|(name, ..)| !value(name).is_empty()),
        choices: CHOICES.map(choice).into(),
        entries: ENTRIES.map(|(name, label, help)| Entry { name, label, help, value: value(name) }).into(),
        datasets,
        forecast,
        refusal,
    };
    Ok(html(status, &page))
}

/// A name for the model of a dataset: its own, as far as models may be named so.
fn model_name(dataset: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '-' };
    let name: String = dataset.chars().map(plain).take(60).collect();
    let name = name.trim_start_matches(['-', '.', '_']);
    if name.is_empty() { "model".to_owned() } else { name.to_owned() }
}

/// The request to the API that a form stands for. What was left empty is left to the API.
fn job(fields: &HashMap<String, String>) -> Value {
    let get = |name: &str| fields.get(name).map(|value| value.trim()).filter(|value| !value.is_empty());
    let value = |name: &str| get(name).map(as_json);
    let object = |pairs: [(&str, Option<Value>); 3]| {
        let given: Map<String, Value> =
            pairs.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect();
        (!given.is_empty()).then_some(Value::Object(given))
    };
    let mut spec = Map::new();
    let mut put = |name: &str, value: Option<Value>| spec.extend(value.map(|value| (name.to_owned(), value)));
    put("effort", value("effort"));
    put("learner", value("learner"));
    put("kernel", object([("name", value("kernel")), ("bandwidth", value("bandwidth")), ("metric", value("metric"))]));
    let features = value("features").filter(|_| get("learner") != Some("exact_krr"));
    put("features", object([("count", features), ("sampling", value("sampling")), ("seed", value("seed"))]));
    for name in ["lambda", "scaling", "validation_fraction"] {
        put(name, value(name));
    }
    put("guarantees", value("delta").map(|delta| json!({"delta": delta})));
    for (name, ..) in SWITCHES {
        put(name, fields.contains_key(name).then_some(json!(true)));
    }
    json!({"model": get("model").unwrap_or_default(), "dataset": get("dataset").unwrap_or_default(), "spec": spec})
}

/// A number if it reads as one, else a text, which the API explains.
fn as_json(text: &str) -> Value {
    let whole = text.parse::<u64>().ok().map(|number| json!(number));
    let number = || text.parse::<f64>().ok().filter(|number| number.is_finite()).map(|number| json!(number));
    whole.or_else(number).unwrap_or_else(|| json!(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_form_becomes_a_request_with_only_what_was_filled_in() {
        let form = |pairs: &[(&str, &str)]| job(&pairs.iter().map(|(k, v)| ((*k).into(), (*v).into())).collect());
        let bare = form(&[("model", "m"), ("dataset", "d"), ("features", ""), ("kernel", ""), ("token", "x")]);
        assert_eq!(bare, json!({"model": "m", "dataset": "d", "spec": {}}));
        let full = form(&[
            ("model", "m"),
            ("dataset", "d"),
            ("features", "512"),
            ("kernel", "matern"),
            ("delta", "0.1"),
            ("explanations", "on"),
            ("lambda", "search"),
        ]);
        let spec = json!({"kernel": {"name": "matern"}, "features": {"count": 512}, "lambda": "search",
            "guarantees": {"delta": 0.1}, "explanations": true});
        assert_eq!(full["spec"], spec);
        assert_eq!(model_name("My house prices (2024)"), "My-house-prices--2024-");
    }
}
