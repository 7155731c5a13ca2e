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
    /// Of the model, or of each of several targets: the name of the target, and (what, how much).
    pub(super) measured: Vec<(String, Vec<(&'static str, String)>)>,
    pub(super) advice: Vec<String>,
    pub(super) warnings: Vec<String>,
    pub(super) notice: Option<String>,
    pub(super) facts: Vec<(&'static str, String)>,
    pub(super) all: Vec<Statement>,
    pub(super) not_shown: u64,
    /// A typical row for the lines that call it, in single quotes of a shell and in Python.
    pub(super) row: String,
    pub(super) python_row: String,
    /// In which units errors are measured, in words; none for labels.
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
            unit: described["labels"].is_null().then(|| unit(described)),
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

fn unit(described: &Value) -> String {
    if items(&described["targets"]).count() > 1 {
        "the units of each target".to_owned()
    } else {
        format!("the units of {}", text(&described["target"]))
    }
}

/// What was measured on rows that took no part in the fit, or against the exact method. Errors of several targets are in
/// different units, so that each is listed and none is averaged.
fn measured(report: &Value) -> Vec<(String, Vec<(&'static str, String)>)> {
    let targets: Vec<&Value> = items(&report["targets"]).collect();
    if targets.len() < 2 {
        return vec![(String::new(), measured_alone(report))];
    }
    let rows = measured_alone(&json!({"validation_rows": report["validation_rows"]}));
    let of_target = |target: &&Value| (text(&target["name"]), measured_alone(target));
    [(String::new(), rows)].into_iter().chain(targets.iter().map(of_target)).collect()
}

/// Of a report, or of one target in it.
fn measured_alone(report: &Value) -> Vec<(&'static str, String)> {
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

fn method_in_words(learner: &str) -> String {
    match learner {
        "ridge" => "ridge regression on random features",
        "exact_krr" => "exact kernel ridge regression",
        "logistic" => "logistic regression on random features",
        "hinge" => "support vector machine on random features",
        "squared_hinge" => "support vector machine with squared loss on random features",
        other => other,
    }
    .to_owned()
}

fn facts(described: &Value) -> Vec<(&'static str, String)> {
    let report = &described["report"];
    let whole = |value: &Value| value.as_u64().map(count);
    let found = [
        ("Trained", described["created_at"].as_str().map(moment)),
        (
            "Target",
            Some(items(&described["targets"]).map(text).collect::<Vec<_>>().join(", ")).filter(|t| !t.is_empty()),
        ),
        ("Training rows", whole(&report["training_rows"])),
        ("Inputs after encoding", whole(&report["input_dim"])),
        ("Random features", whole(&report["feature_count"])),
        ("Method", described["spec"]["learner"].as_str().map(method_in_words)),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_several_targets_are_not_averaged() {
        let target = |name: &str, mse: f64| json!({"name": name, "validation_mse": mse, "validation_r2": 0.5});
        let mut report = json!({"validation_rows": 80, "validation_mse": 250.0, "validation_r2": 0.5,
            "measured": {"exact_krr_error": 4.0}, "targets": [target("a", 400.0), target("b", 100.0)]});
        let found = measured(&report);
        let names: Vec<&str> = found.iter().map(|(target, _)| target.as_str()).collect();
        assert_eq!((names, found[0].1.len(), found[1].1.len()), (vec!["", "a", "b"], 1, 2), "{found:?}");
        let error = |target: usize| (found[target].1[1].0, found[target].1[1].1.as_str());
        let name = "Typical error (root mean square)";
        assert_eq!([error(1), error(2)], [(name, "20"), (name, "10")]);
        report["targets"] = json!([target("a", 250.0)]);
        let alone = measured(&report);
        assert!(alone.len() == 1 && alone[0].1.contains(&("Typical distance to the exact method", "2".to_owned())));
    }
}
