//! Classifiers: their label sets against the labels of new rows, and the requirements of theorems against a count of our own.

use super::checks::{DELTA, Ledger, SHARE};
use super::tables::{Table, uniform};
use bochner::dataset::{Column, ColumnKind, RowsInMemory, Schema, Task};
use bochner::model::{FittedModel, Head, Labels, Predictor};
use bochner::theory::ours::conformal::conformal_quantile;
use bochner::theory::{Guarantee, LossKind, RowAccess, Status, guarantees};
use bochner::training::{Resources, SpecLimits, TrainError, TrainSpec, Unwatched, train};
use serde_json::{Value, json};

/// Rows that are trained on.
const ROWS: usize = 500;

/// New rows that label sets are compared with.
const NEW_ROWS: usize = 900;

/// A spec, with labels made from the target of a table.
pub(crate) struct LabelCase {
    spec: Value,
    class_count: usize,
    /// The share of rows with another label than their target says.
    wrong: f64,
}

impl LabelCase {
    pub(crate) fn number(index: usize) -> Self {
        let seed = index as u64;
        let pick = |options: &[Value], stream: u64| {
            options[(uniform(200 + stream, seed) * options.len() as f64) as usize].clone()
        };
        let learners = ["ridge", "logistic", "hinge", "squared_hinge"];
        // The theorems on classifiers need κ²/λ times a logarithm: only a large λ is within reach of 4,096 features.
        let lambdas = [json!(1e-4), json!(1e-2), json!(0.3), json!(1.0), json!("inverse_sqrt_n"), json!("search")];
        let mut spec = json!({
            "learner": learners[index % learners.len()],
            "kernel": {"bandwidth": pick(&[json!(1.5), json!("mean_distance"), json!("median")], 1)},
            "features": {"count": pick(&[json!(64), json!(256), json!(1024)], 2), "seed": seed},
            "lambda": pick(&lambdas, 3),
            "scaling": pick(&[json!("none"), json!("standard")], 4),
            "validation_fraction": 0.2,
            "calibration_fraction": 0.3,
            "design_fraction": pick(&[json!(0.0), json!(0.2)], 5),
            "guarantees": {"exact_rows": 0},
        });
        let within_reach = index % 3 == 1;
        if within_reach {
            // Two classes, nothing is chosen by the rows, and there are features enough for the theorems.
            spec["kernel"] = json!({"bandwidth": 1.5});
            spec["features"]["count"] = json!(1024);
            spec["lambda"] = json!(1.0);
            spec["scaling"] = json!("none");
        } else if uniform(206, seed) < 0.3 {
            spec["class_weight"] = json!("balanced");
        }
        Self {
            spec,
            class_count: if within_reach { 2 } else { 2 + (uniform(207, seed) * 3.0) as usize },
            wrong: [0.0, 0.1, 0.3][(uniform(208, seed) * 3.0) as usize],
        }
    }

    pub(crate) fn describe(&self) -> String {
        format!("{} classes, {} wrong, {}", self.class_count, self.wrong, self.spec)
    }

    /// The class of every row: equal shares of the ordered targets, some of them moved on to the next.
    fn classes(&self, table: &Table) -> Vec<usize> {
        let targets = table.targets.column(0);
        let mut ordered = targets.to_vec();
        ordered.sort_by(f64::total_cmp);
        let cuts: Vec<f64> = (1..self.class_count).map(|at| ordered[at * ordered.len() / self.class_count]).collect();
        let class = |(row, target): (usize, &f64)| {
            let right = cuts.iter().filter(|cut| target >= cut).count();
            (right + usize::from(uniform(209, row as u64) < self.wrong)) % self.class_count
        };
        targets.iter().enumerate().map(class).collect()
    }

    fn train(&self, table: &Table, classes: &[usize]) -> Result<FittedModel, TrainError> {
        let d = table.inputs.ncols();
        let row = |i: usize| table.inputs.row(i).iter().copied().chain([classes[i] as f64]).collect::<Vec<_>>();
        let rows = RowsInMemory { cells: (0..ROWS).flat_map(row).collect(), columns: d + 1 };
        let column = |name: String, kind: ColumnKind, levels: Vec<String>| Column {
            distinct: 100,
            ..Column::unprofiled(&name, kind, levels)
        };
        let inputs = (0..d).map(|j| column(format!("x{j}"), ColumnKind::Numeric, vec![]));
        let levels = (0..self.class_count).map(|class| format!("class {class}")).collect();
        let schema = Schema {
            columns: inputs.chain([column("label".into(), ColumnKind::Categorical, levels)]).collect(),
            targets: vec![d],
            task: Task::Classification,
            row_count: ROWS as u64,
            findings: vec![],
        };
        let spec = TrainSpec::check("", Some(&self.spec), SpecLimits { feature_count: 4096 }).expect("a valid spec");
        let resources = Resources { threads: 2, cache_bytes: 1 << 26 };
        train(&rows, &schema, "ds-truth", &spec, resources, &Unwatched).map(|trained| trained.model)
    }

    /// Trains, and compares what applies with what is true.
    pub(crate) fn examine(&self, table: &Table, ledger: &mut Ledger) {
        let classes = self.classes(table);
        let name = format!("{}: {}", table.name, self.describe());
        let model = match self.train(table, &classes) {
            Ok(model) => model,
            Err(refusal) => return ledger.refuse(&name, &refusal),
        };
        let around = model.circumstances(RowAccess::Gone);
        let evidence = model.evidence.clone().expect("every training has evidence");
        let found = guarantees(&evidence, DELTA, SHARE, &around).guarantees;
        let predictor = Predictor::new(model);
        ledger.count_classifier();
        for guarantee in found.iter().filter(|guarantee| guarantee.status != Status::NotApplicable) {
            ledger.count(guarantee);
            if guarantee.id == "conformal" && guarantee.value.is_some() {
                ledger.add_label_coverage(covered(&predictor, table, &classes));
            }
            if guarantee.id.starts_with("li.") {
                ledger.check(guarantee.id, requirement_is_met(guarantee, &predictor, evidence.loss), || {
                    format!("{name}: {}: {}", guarantee.id, guarantee.statement)
                });
            }
            // What is about the squared loss says nothing about another one. These are about the features alone: how
            // near their sums come to the expectation, or their kernel matrix to the kernel's.
            let families = ["wang.", "avron.", "bochner.", "rudi_rosasco."];
            let of_features = ["wang.lemma3", "avron.theorem7", "avron.lemma6"].contains(&guarantee.id);
            let of_ridge = !of_features && families.iter().any(|of| guarantee.id.starts_with(of));
            if of_ridge && evidence.loss != LossKind::Squared {
                ledger
                    .check(guarantee.id, false, || format!("{name}: {} applies to {:?}", guarantee.id, evidence.loss));
            }
        }
    }
}

/// The share of new rows whose label set contains their label.
fn covered(predictor: &Predictor, table: &Table, classes: &[usize]) -> f64 {
    let model = predictor.model();
    let Head::Labels(labels) = &model.head else { unreachable!("a classifier") };
    let scores = model.calibration_scores().expect("scores");
    let quantile = conformal_quantile(scores, DELTA);
    let new: Vec<usize> = (ROWS..table.inputs.nrows().min(ROWS + NEW_ROWS)).collect();
    let cells: Vec<Vec<f64>> = new.iter().map(|&row| table.inputs.row(row).to_vec()).collect();
    let cells: Vec<&[f64]> = cells.iter().map(Vec::as_slice).collect();
    let values = predictor.predict(&cells);
    let holds =
        |(&row, values): (&usize, ndarray::ArrayView1<f64>)| score(labels, &values.to_vec(), classes[row]) <= quantile;
    new.iter().zip(values.rows()).filter(|(row, values)| holds((row, *values))).count() as f64 / new.len() as f64
}

/// 1 − p of a label, p from the decision values by softmax, its class weight taken out.
fn score(labels: &Labels, values: &[f64], class: usize) -> f64 {
    let of = |label: usize| match values {
        [value] => label as f64 * value,
        values => values[label],
    };
    let logits: Vec<f64> = (0..labels.labels.len()).map(|label| of(label) - labels.log_weights[label]).collect();
    let largest = logits.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let total: f64 = logits.iter().map(|logit| (logit - largest).exp()).sum();
    // A score is compared with a quantile of scores that were computed in another order of operations.
    1.0 - (logits[class] - largest).exp() / total - 1e-12
}

/// Whether a model has (32/3)·(κ²/λ)·log(16κ²/(λδ)) draws, and a loss with the Lipschitz constant 1.
fn requirement_is_met(guarantee: &Guarantee, predictor: &Predictor, loss: LossKind) -> bool {
    let map = &predictor.model().map;
    if guarantee.id == "li.theorem2" {
        return matches!(loss, LossKind::Logistic | LossKind::Hinge);
    }
    let ratio = map.bound().expect("features of this kernel are bounded") / predictor.model().report.lambda;
    let draws = 32.0 / 3.0 * ratio * (16.0 * ratio / DELTA).ln();
    let columns = draws.ceil() * map.feature_count() as f64 / map.draw_count() as f64;
    let stated = guarantee.value.is_some_and(|stated| (stated / columns - 1.0).abs() < 1e-9);
    stated && map.feature_count() as f64 >= columns && matches!(loss, LossKind::Logistic | LossKind::Hinge)
}
