//! The theorems on leverage sampling for a real set, against a computation that shares no code with them: the leverages of
//! the pool by the n×n matrix of its kernel, inverted by Gauss–Jordan elimination.

use crate::golden::{assert_close, data};
use crate::tables::{RowsInMemory, Unwatched, resources, schema, spec};
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
    let table = RowsInMemory { cells: inputs.rows().into_iter().zip(&targets).flat_map(row).collect(), columns: 31 };
    let mut schema = Schema { task: Task::Classification, ..schema(&table) };
    let levels = vec!["no".to_owned(), "yes".to_owned()];
    schema.columns[30] = Column { kind: ColumnKind::Categorical, levels, ..schema.columns[30].clone() };
    let raw = json!({"learner": "logistic", "kernel": {"bandwidth": SIGMA}, "scaling": "none", "features": features,
        "lambda": lambda, "validation_fraction": 0.0, "calibration_fraction": 0.0});
    train(&table, &schema, "ds", &spec(&raw), resources(2), &Unwatched).unwrap().model
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

/// S's Theorem 1 with all its conditions met: a Lipschitz loss, λ = 1/n, 128 rows a candidate and more, and a kernel so wide
/// that a pool of 155 draws has as many as are required. The degrees of freedom by elimination, Er(k) by pairs of rows.
#[test]
fn the_theorem_of_shahrampour_applies_to_a_wide_kernel() {
    const ROWS: usize = 20_000;
    let x = |i: usize| (i as f64 * 0.618_033_988_749_895).fract();
    let cells = (0..ROWS).flat_map(|i| [x(i), f64::from(u8::from(x(i) > 0.4))]).collect();
    let table = RowsInMemory { cells, columns: 2 };
    let mut schema = Schema { task: Task::Classification, ..schema(&table) };
    let levels = vec!["low".to_owned(), "high".to_owned()];
    schema.columns[1] = Column { kind: ColumnKind::Categorical, levels, ..schema.columns[1].clone() };
    let lambda = 1.0 / ROWS as f64;
    let raw = json!({"learner": "logistic", "kernel": {"bandwidth": 6.0}, "scaling": "none", "lambda": lambda,
        "features": {"count": 310, "pool": 310, "sampling": "elss1"}, "validation_fraction": 0.0,
        "calibration_fraction": 0.0});
    let model = train(&table, &schema, "ds", &spec(&raw), resources(2), &Unwatched).unwrap().model;
    let guarantee = found(model.evidence.as_ref().unwrap(), "shahrampour_kolouri.theorem1");
    assert_eq!(guarantee.status, Status::Conditional, "{}", guarantee.statement);

    let pool = FeatureMap::sample(Kernel::Gaussian { bandwidth: 6.0 }, MapKind::Pair, Sampling::Plain, 0, 310, 1);
    let frequencies = pool.frequencies.written_out().column(0).to_owned();
    let m = frequencies.len() as f64;
    let features = Array2::from_shape_fn((ROWS, 310), |(i, column)| {
        let angle = frequencies[column % 155] * x(i);
        (if column < 155 { angle.cos() } else { angle.sin() }) / m.sqrt()
    });
    let gram = features.t().dot(&features) / ROWS as f64;
    let inverse = inverse(&gram + &(Array2::<f64>::eye(310) * lambda));
    let degrees = 310.0 - lambda * inverse.diag().sum();
    // Sums of products in single precision leave eigenvalues of about 1e-8 where there are none, and λ is 5e-5.
    assert_close(guarantee.inputs["degrees"] / degrees, 1.0, 1e-2, "degrees");
    let needed = 5.0 * degrees * (16.0 * ROWS as f64 * degrees).ln();
    assert_close(guarantee.value.unwrap() / columns(needed), 1.0, 1.5e-2, "columns");
    assert!(columns(needed) <= 310.0, "{needed}");
    // The variance of cos(v·(x − x')) at z = |x − x'|/6 is (1 − exp(−z²))²/2.
    let stride = ROWS / 200;
    let pairs = (0..200).flat_map(|i| (0..200).map(move |j| ((x(i * stride) - x(j * stride)) / 6.0).powi(2)));
    let variance = pairs.map(|square| (1.0 - (-square).exp()).powi(2) / 2.0).sum::<f64>() / 40_000.0;
    assert_close(guarantee.inputs["er_k"] / (variance / m).sqrt(), 1.0, 0.05, "er_k");
}
