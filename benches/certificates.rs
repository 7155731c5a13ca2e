//! How near the tolerance certificate is to the truth it bounds: on 16,000 training rows, against rows that took no part
//! in anything, predicted by the model and by the exact method. And what it saves to stop the exact solver by its gap.
//!
//! `BOCHNER_DATA=folder cargo bench --bench certificates`, where the folder holds `california_housing.csv.gz`. Without a
//! folder there is nothing to do.

use bochner::dataset::{HeldOut, Part, RowsInMemory, split};
use bochner::features::Precision;
use bochner::linalg::use_one_blas_thread;
use bochner::model::{FittedModel, Predictor};
use bochner::solver::{ExactKrr, ExactProblem, FeatureSource, Watch};
use bochner::theory::ours::certificate::certificate_tolerance;
use ndarray::{Array2, ArrayView2};
use serde_json::{Value, json};
use std::time::Instant;

mod table;
mod trainer;

/// Training rows, and rows that the certificate rests on.
const TRAINING: usize = 16_000;
const HELD_OUT: usize = 2_000;

/// p and δ.
const SHARE: f64 = 0.9;
const DELTA: f64 = 0.05;

/// The residual that the exact system was solved to before the gap decided.
const FULL: f64 = 1e-8;

/// The certificate is at most this many times the true quantile.
const WITHIN: f64 = 1.3;

fn main() {
    let Ok(folder) = std::env::var("BOCHNER_DATA") else {
        println!("skipped: BOCHNER_DATA names no folder; see the head of benches/certificates.rs");
        return;
    };
    use_one_blas_thread();
    let (known, fresh) = houses(&format!("{folder}/california_housing.csv.gz"));
    for (name, lambda) in [("1/sqrt(n)", json!("inverse_sqrt_n")), ("1e-5", json!(1e-5))] {
        let model = train(&known, &json!({"lambda": lambda, "guarantees": {"exact_rows": TRAINING}}));
        let exact = solved_both_ways(&model, &known);
        let evidence = model.evidence.as_ref().expect("evidence of a ridge fit");
        let tolerance = certificate_tolerance(evidence, SHARE, DELTA).value.expect("rows enough");
        let truth = quantile(distances(model, &exact, &fresh));
        let ratio = tolerance / truth;
        println!(
            "cadata, n = {TRAINING}, s = 1024, lambda = {name}: certificate {tolerance:.5}, true 90th percentile \
             {truth:.5} of the target's deviation: {ratio:.3} times"
        );
        assert!((1.0..WITHIN).contains(&ratio), "the certificate is {ratio} times the truth");
    }
}

/// The exact method, solved to the residual at which training stopped next to the model, and from the same start to
/// 1e-8, which is where training stopped before.
fn solved_both_ways(model: &FittedModel, table: &RowsInMemory) -> ExactKrr {
    let share = HELD_OUT as f64 / (TRAINING + HELD_OUT) as f64;
    let held_out = HeldOut { validation: share, calibration: 0.0, design: 0.0 };
    let parts = split(&vec![Some(0); TRAINING + HELD_OUT], held_out, 0);
    let rows = table.cells.chunks(table.columns).zip(parts).filter(|(_, part)| *part == Part::Training);
    let rows: Vec<&[f64]> = rows.map(|(row, _)| row).collect();
    let inputs = model.inputs.prepare(rows.iter().map(|row| &row[..row.len() - 1]));
    let targets = rows.iter().map(|row| row[row.len() - 1] - model.intercepts[0]).collect();
    let targets = Array2::from_shape_vec((rows.len(), 1), targets).expect("a column");
    let projector = model.map.projector::<f32>();
    let make = |inputs: ArrayView2<f64>| projector.transform(inputs);
    let problem = ExactProblem {
        kernel: model.map.kernel,
        inputs: inputs.view(),
        targets: targets.view(),
        ridge: model.report.lambda,
        tolerance: FULL,
        features: Some(&FeatureSource { count: model.map.feature_count(), make: &make }),
        precision: Precision::Mixed,
        preconditioner: None,
        memory: 256 << 20,
        threads: 2,
        progress: None,
    };
    let watch = Watch { progress: None, go_on: &|| true };
    let start = Instant::now();
    let mut solver = problem.prepare(watch).expect("a system within reach");
    println!("    prepared in {:.1} s", start.elapsed().as_secs_f64());
    let features = model.map.projector::<f64>().transform(inputs.view());
    let guess = (&targets - &features.dot(&model.weights)) / (rows.len() as f64 * model.report.lambda);
    let mut to = |tolerance: f64| {
        let start = Instant::now();
        let found = solver.solve(targets.view(), tolerance, Some(guess.clone()), watch).expect("a solution");
        (found, start.elapsed().as_secs_f64())
    };
    let stopped = model.measured.exact_krr.as_ref().expect("the exact system was solved");
    let (by_gap, short) = to(stopped.relative_residual);
    let (full, long) = to(FULL);
    println!(
        "    exact solve stopped by the gap: {} iterations in {short:.1} s to {:.1e} (in training {}); to {:.1e} as before: {} \
         iterations in {long:.1} s",
        by_gap.evidence.iterations,
        by_gap.evidence.relative_residual,
        stopped.iterations,
        full.evidence.relative_residual,
        full.evidence.iterations
    );
    full
}

/// What is trained on and held out, and the rest; the target in units of its deviation.
fn houses(path: &str) -> (RowsInMemory, RowsInMemory) {
    let (inputs, targets) = table::read(path);
    let targets: Vec<f64> = targets.iter().map(|cell| cell.parse().expect("numbers")).collect();
    let targets = ndarray::Array1::from(targets);
    let targets = (&targets - targets.mean().unwrap_or(0.0)) / targets.std(0.0);
    let n = inputs.nrows();
    // Rows in the order of a multiplicative shuffle: the file is sorted.
    let row = |i: usize| inputs.row(i * 7_919 % n).iter().copied().chain([targets[i * 7_919 % n]]).collect::<Vec<_>>();
    let columns = inputs.ncols() + 1;
    let known = RowsInMemory { cells: (0..TRAINING + HELD_OUT).flat_map(row).collect(), columns };
    (known, RowsInMemory { cells: (TRAINING + HELD_OUT..n).flat_map(row).collect(), columns })
}

fn train(table: &RowsInMemory, raw: &Value) -> FittedModel {
    let mut raw = raw.clone();
    raw["validation_fraction"] = json!(HELD_OUT as f64 / (TRAINING + HELD_OUT) as f64);
    trainer::train_as(table, &raw, 2)
}

/// |f_s − f| of every row.
fn distances(model: FittedModel, exact: &ExactKrr, rows: &RowsInMemory) -> Vec<f64> {
    let inputs: Vec<&[f64]> = rows.cells.chunks(rows.columns).map(|row| &row[..rows.columns - 1]).collect();
    let far = exact.predict(model.inputs.prepare(inputs.iter().copied()).view()) + model.intercepts[0];
    let gaps = Predictor::new(model).predict(&inputs) - far;
    gaps.iter().map(|gap| gap.abs()).collect()
}

/// The smallest distance that a share of all do not exceed.
fn quantile(mut distances: Vec<f64>) -> f64 {
    distances.sort_by(f64::total_cmp);
    distances[(SHARE * distances.len() as f64).ceil() as usize - 1]
}
