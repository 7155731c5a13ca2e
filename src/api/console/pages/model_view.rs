//! One version of a model as its page shows it.

use super::{items, text};
use crate::api::console::display::{ago, bytes, count, maybe_number, moment, number, percent, rounded};
use serde_json::{Value, json};

/// A statement with what kind of knowledge it is.
pub(super) struct Statement {
    pub(super) id: String,
    pub(super) text: String,
}

/// A version in full.
pub(super) struct Version {
    pub(super) number: u64,
    pub(super) verdict: String,
    pub(super) proved: Vec<Statement>,
    pub(super) estimated: Vec<Statement>,
    /// (what, how much).
    pub(super) measured: Vec<(&'static str, String)>,
    pub(super) advice: Vec<String>,
    pub(super) warnings: Vec<String>,
    pub(super) notice: Option<String>,
    pub(super) facts: Vec<(&'static str, String)>,
    pub(super) all: Vec<Statement>,
    pub(super) not_shown: u64,
    /// A typical row for the lines that call it, in single quotes of a shell and in Python.
    pub(super) row: String,
    pub(super) python_row: String,
    /// In which errors are measured; none for labels.
    pub(super) unit: Option<String>,
    pub(super) dataset: String,
}

impl Version {
    /// From the description of a version and its guarantees.
    pub(super) fn of(described: &Value, guarantees: &Value) -> Self {
        let summary = &guarantees["summary"];
        let report = &described["report"];
        let row: Value = items(&described["example_row"]).map(shortened).collect();
        let statements = |part: &Value| part.as_object().into_iter().flatten().map(statement).collect();
        let shown = |item: &Value| Statement { id: text(&item["id"]), text: text(&item["statement"]) };
        Self {
            number: described["version"].as_u64().unwrap_or(0),
            verdict: text(&summary["verdict"]),
            proved: statements(&summary["proved"]),
            estimated: statements(&summary["estimated"]),
            measured: measured(report),
            advice: items(&summary["advice"]).map(text).collect(),
            warnings: items(&report["warnings"]).map(text).collect(),
            notice: guarantees["notice"].as_str().map(str::to_owned),
            facts: facts(described),
            all: items(&guarantees["guarantees"]).map(shown).collect(),
            not_shown: guarantees["not_shown"].as_u64().unwrap_or(0),
            row: row.to_string().replace('\'', "'\\''"),
            python_row: python(&row),
            unit: described["labels"].is_null().then(|| text(&described["target"])),
            dataset: text(&described["dataset"]),
        }
    }
}

/// A cell without digits that nobody would type.
fn shortened(cell: &Value) -> Value {
    cell.as_f64().map_or_else(|| cell.clone(), |number| json!(rounded(number)))
}

/// A row as Python writes it.
fn python(row: &Value) -> String {
    let cell = |cell: &Value| match cell {
        Value::Null => "None".to_owned(),
        Value::Bool(true) => "True".to_owned(),
        Value::Bool(false) => "False".to_owned(),
        other => other.to_string(),
    };
    format!("[{}]", items(row).map(cell).collect::<Vec<_>>().join(", "))
}

fn statement((id, words): (&String, &Value)) -> Statement {
    Statement { id: id.clone(), text: text(words) }
}

/// What was measured on rows that took no part in the fit, or against the exact method.
fn measured(report: &Value) -> Vec<(&'static str, String)> {
    let root = |value: &Value| value.as_f64().map(|square| number(square.sqrt()));
    let plain = |value: &Value| value.as_f64().map(number);
    let share = |value: &Value| value.as_f64().map(percent);
    let found = [
        ("Held-out rows", report["validation_rows"].as_u64().map(count)),
        ("Explained variation R²", share(&report["validation_r2"])),
        ("Typical error (root mean square)", root(&report["validation_mse"])),
        ("Mean absolute error", plain(&report["validation_mae"])),
        ("Right labels", share(&report["validation_accuracy"])),
        ("Right labels, mean over labels", share(&report["validation_balanced_accuracy"])),
        ("Area under the ROC curve", plain(&report["validation_roc_auc"])),
        ("Log loss", plain(&report["validation_log_loss"])),
        ("Expected calibration error", plain(&report["expected_calibration_error"])),
        ("Typical error of the exact method", root(&report["measured"]["exact_krr_validation_mse"])),
        ("Right labels of the exact method", share(&report["measured"]["exact_krr_validation_accuracy"])),
        ("Typical distance to the exact method", root(&report["measured"]["exact_krr_error"])),
    ];
    found.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
}

fn facts(described: &Value) -> Vec<(&'static str, String)> {
    let report = &described["report"];
    let whole = |value: &Value| value.as_u64().map(count);
    let found = [
        ("Trained", described["created_at"].as_str().map(moment)),
        ("Target", described["target"].as_str().map(str::to_owned)),
        ("Training rows", whole(&report["training_rows"])),
        ("Inputs after encoding", whole(&report["input_dim"])),
        ("Random features", whole(&report["feature_count"])),
        ("Method", described["spec"]["learner"].as_str().map(str::to_owned)),
        ("Kernel", described["kernel"]["name"].as_str().map(str::to_owned)),
        ("Bandwidth σ (scaled inputs)", report["bandwidth"].as_f64().map(number)),
        ("Regularisation λ", report["lambda"].as_f64().map(number)),
        ("Effective dimension", report["effective_dimension"].as_f64().map(number)),
        ("File", described["artifact_bytes"].as_f64().map(bytes)),
    ];
    found.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
}

/// A version beside others.
pub(super) struct VersionColumn {
    pub(super) number: u64,
    pub(super) is_shown: bool,
    pub(super) created: String,
    /// In the order of [`VersionColumn::NAMES`].
    values: Vec<String>,
}

impl VersionColumn {
    /// What versions are compared by.
    const NAMES: [&'static str; 8] = [
        "R² on held-out rows",
        "Right labels on held-out rows",
        "Mean squared error on held-out rows",
        "Training rows",
        "Random features",
        "Kernel",
        "λ",
        "File",
    ];

    pub(super) fn of(described: &Value, is_shown: bool) -> Self {
        let report = &described["report"];
        let whole = |value: &Value| value.as_u64().map_or_else(|| "–".to_owned(), count);
        let share = |value: &Value| value.as_f64().map_or_else(|| "–".to_owned(), percent);
        Self {
            number: described["version"].as_u64().unwrap_or(0),
            is_shown,
            created: ago(&text(&described["created_at"])),
            values: vec![
                share(&report["validation_r2"]),
                share(&report["validation_accuracy"]),
                maybe_number(&report["validation_mse"]),
                whole(&report["training_rows"]),
                whole(&report["feature_count"]),
                text(&described["kernel"]["name"]),
                maybe_number(&report["lambda"]),
                bytes(described["artifact_bytes"].as_f64().unwrap_or(0.0)),
            ],
        }
    }

    /// The rows of the table in which some version has a value: its name and the values.
    pub(super) fn rows(versions: &[Self]) -> Vec<(&'static str, Vec<String>)> {
        let row = |(index, name): (usize, &&'static str)| {
            (*name, versions.iter().filter_map(|version| version.values.get(index).cloned()).collect::<Vec<_>>())
        };
        let is_known = |(_, values): &(&str, Vec<String>)| values.iter().any(|value| value != "–");
        Self::NAMES.iter().enumerate().map(row).filter(is_known).collect()
    }
}
