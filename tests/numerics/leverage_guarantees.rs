//! The theorems on leverage sampling for a real set, against a computation that shares no code with them: the leverages of
//! the pool by the n×n matrix of its kernel, inverted by Gauss–Jordan elimination.

use crate::golden::{assert_close, data};
use crate::tables::{Memory, Silent, resources, schema, spec};
use bochner::dataset::{Column, ColumnKind, Schema, Task};
use bochner::features::{FeatureMap, Kernel, MapKind, Sampling};
use bochner::model::FittedModel;
use bochner::theory::{Circumstances, Evidence, Guarantee, RowAccess, Status, guarantees};
use bochner::training::train;
use ndarray::{Array1, Array2};
use serde_json::{Value, json};

const SIGMA: f64 = 7.7;
const DELTA: f64 = 0.05;

fn inverse(mut matrix: Array2<f64>) -> Array2<f64> {
    let order = matrix.nrows();
    let mut result = Array2::eye(order);
    for pivot in 0..order {
        let scale = matrix[[pivot, pivot]];
        for column in 0..order {
            matrix[[pivot, column]] /= scale;
            result[[pivot, column]] /= scale;
        }
        for row in (0..order).filter(|row| *row != pivot) {
            let factor = matrix[[row, pivot]];
            for column in 0..order {
                matrix[[row, column]] -= factor * matrix[[pivot, column]];
                result[[row, column]] -= factor * result[[pivot, column]];
            }
        }
    }
    result
}

/// Leverages of the 100 frequencies of the pool at λ.
fn leverages(inputs: &Array2<f64>, lambda: f64) -> Array1<f64> {
    let pool = FeatureMap::sample(Kernel::Gaussian { bandwidth: SIGMA }, MapKind::Pair, Sampling::Plain, 0, 200, 30);
    let angles = inputs.dot(&pool.frequencies.written_out().t());
    let (n, m) = (inputs.nrows() as f64, 100.0_f64);
    let (cosines, sines) = (angles.mapv(f64::cos) / m.sqrt(), angles.mapv(f64::sin) / m.sqrt());
    let kernel = (cosines.dot(&cosines.t()) + sines.dot(&sines.t())) / n + Array2::<f64>::eye(inputs.nrows()) * lambda;
    let inverse = inverse(kernel);
    let of = |column: ndarray::ArrayView1<f64>| column.dot(&inverse.dot(&column)) / n;
    (0..100).map(|j| of(cosines.column(j)) + of(sines.column(j))).collect()
}

fn model(features: Value, lambda: f64) -> FittedModel {
    let (inputs, targets) = data("breast_cancer");
    let row = |(row, target): (ndarray::ArrayView1<f64>, &f64)| {
        row.iter().copied().chain([f64::from(u8::from(*target > 0.0))]).collect::<Vec<f64>>()
    };
    let table = Memory { cells: inputs.rows().into_iter().zip(&targets).flat_map(row).collect(), columns: 31 };
    let mut schema = Schema { task: Task::Classification, ..schema(&table) };
    let levels = vec!["no".to_owned(), "yes".to_owned()];
    schema.columns[30] = Column { kind: ColumnKind::Categorical, levels, ..schema.columns[30].clone() };
    let raw = json!({"learner": "logistic", "kernel": {"bandwidth": SIGMA}, "scaling": "none", "features": features,
        "lambda": lambda, "validation_fraction": 0.0, "calibration_fraction": 0.0});
    train(&table, &schema, "ds", &spec(&raw), resources(2), &Silent).unwrap().model
}

fn found(evidence: &Evidence, id: &str) -> Guarantee {
    let around = Circumstances {
        rows: RowAccess::Kept,
        validation_rows: 0,
        held_out_rows: 0,
        sample_weights: false,
        kernel_unbounded: false,
        exact_residual: None,
    };
    let all = guarantees(evidence, DELTA, 0.95, &around).guarantees;
    all.into_iter().find(|guarantee| guarantee.id == id).unwrap()
}

/// Pairs of columns, after rounding draws up.
fn columns(draws: f64) -> f64 {
    2.0 * draws.ceil()
}

#[test]
fn the_counts_of_li_avron_and_shahrampour_are_those_of_a_dense_computation() {
    let (inputs, _) = data("breast_cancer");
    let (n, lambda) = (300.0_f64, 1.0 / 300.0);
    let leverages = leverages(&inputs, lambda);
    let degrees = leverages.sum();
    let bound = degrees / 100.0 / leverages.iter().copied().fold(f64::INFINITY, f64::min);
    let model = model(json!({"count": 100, "pool": 200, "sampling": "leverage"}), lambda);
    let evidence = model.evidence.clone().unwrap();
    assert_close(evidence.feature_bound.unwrap() / bound, 1.0, 1e-4, "b");
    assert_close(model.selection.as_ref().unwrap().degrees[0].1 / degrees, 1.0, 1e-5, "degrees");

    // Draws needed come within rounding of single precision of the dense ones.
    let close = |found: f64, expected: f64, what: &str| assert_close(found / expected, 1.0, 2e-4, what);
    let li = found(&evidence, "li.corollary2");
    let needed = 32.0 / 3.0 * degrees * (16.0 * bound / lambda / DELTA).ln();
    close(li.inputs["draws_needed"], needed, "li draws");
    close(li.value.unwrap(), columns(needed), "li columns");
    let avron = found(&evidence, "avron.lemma6");
    let dimension = n.min(bound / lambda);
    let needed = 8.0 / 3.0 * 4.0 * degrees * (16.0 * dimension / DELTA).ln();
    close(avron.inputs["features_for_delta_half"], columns(needed), "avron columns");
    close(avron.value.unwrap(), (needed / 4.0 / 50.0).sqrt(), "avron delta");
    let shahrampour = found(&evidence, "shahrampour_kolouri.theorem1");
    let needed = 5.0 * degrees * (16.0 * n * degrees).ln();
    close(shahrampour.value.unwrap(), columns(needed), "shahrampour columns");
    close(shahrampour.inputs["rows_needed"], (8.0 / 3.0 * 16.0 * 100.0 * (1.0 / DELTA).ln()).ceil(), "rows");
    assert_close(shahrampour.inputs["er_n"], 1.0 / n.sqrt(), 1e-12, "er_n");
    // 100 features are not enough for any of them, and they say how many are.
    for guarantee in [&li, &avron, &shahrampour] {
        assert_eq!(guarantee.status, Status::NotApplicable, "{}", guarantee.statement);
    }
    assert!(shahrampour.statement.contains("rows to score the pool on"), "{}", shahrampour.statement);
}

/// With as many features as they ask for, the theorems of Li and Avron apply, on assumptions that no one can check.
#[test]
fn with_enough_features_they_apply() {
    let model = model(json!({"count": 4_000, "pool": 4_000, "sampling": "leverage"}), 0.05);
    let evidence = model.evidence.clone().unwrap();
    for id in ["li.corollary2", "li.theorem1", "avron.lemma6"] {
        let guarantee = found(&evidence, id);
        assert_eq!(guarantee.status, Status::Conditional, "{}", guarantee.statement);
        assert!(guarantee.value.unwrap() <= 4_000.0);
    }
    for id in ["li.corollary1", "avron.theorem7"] {
        assert_eq!(found(&evidence, id).status, Status::NotApplicable, "{id}");
    }
    let requirements = model.describe()["report"]["selection"]["requirements"].clone();
    let met = requirements.as_array().unwrap().iter().filter(|requirement| requirement["met"] == true).count();
    assert!(met >= 2, "{requirements}");
}
