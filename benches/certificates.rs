//! How near the tolerance certificate is to the truth it bounds: on 16,000 training rows, against rows that took no part
//! in anything, predicted by the model and by the exact method.
//!
//! `BOCHNER_DATA=folder cargo bench --bench certificates`, where the folder holds `california_housing.csv.gz`. Without a
//! folder there is nothing to do.

use bochner::dataset::RowsInMemory;
use bochner::linalg::use_one_blas_thread;
use bochner::model::{FittedModel, Predictor, SolverReport};
use bochner::theory::ours::certificate::certificate_tolerance;
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
        let start = Instant::now();
        let model = train(&known, &json!({"lambda": lambda, "guarantees": {"exact_rows": TRAINING}}));
        let exact = train(&known, &json!({"lambda": lambda, "learner": "exact_krr", "guarantees": {"exact_rows": 0}}));
        assert_eq!((model.report.training_rows, exact.report.training_rows), (TRAINING, TRAINING));
        // The exact learner is solved to a relative residual of 1e-8, the comparison until its gap is small enough.
        if let (Some(gap), SolverReport::Exact(full)) = (&model.measured.exact_krr, &exact.report.solver) {
            println!(
                "    exact solve: {} iterations to {:.1e} stopped by the gap, {} to {:.1e} before",
                gap.iterations, gap.relative_residual, full.evidence.iterations, full.evidence.relative_residual
            );
        }
        let evidence = model.evidence.as_ref().expect("evidence of a ridge fit");
        let tolerance = certificate_tolerance(evidence, SHARE, DELTA).value.expect("rows enough");
        let truth = quantile(distances(model, exact, &fresh));
        let (ratio, seconds) = (tolerance / truth, start.elapsed().as_secs_f64());
        println!(
            "cadata, n = {TRAINING}, s = 1024, lambda = {name}: certificate {tolerance:.5}, true 90th percentile \
             {truth:.5} of the target's deviation: {ratio:.3} times; {seconds:.0} s"
        );
        assert!((1.0..WITHIN).contains(&ratio), "the certificate is {ratio} times the truth");
    }
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
fn distances(model: FittedModel, exact: FittedModel, rows: &RowsInMemory) -> Vec<f64> {
    let inputs: Vec<&[f64]> = rows.cells.chunks(rows.columns).map(|row| &row[..rows.columns - 1]).collect();
    let gaps = Predictor::new(model).predict(&inputs) - Predictor::new(exact).predict(&inputs);
    gaps.iter().map(|gap| gap.abs()).collect()
}

/// The smallest distance that a share of all do not exceed.
fn quantile(mut distances: Vec<f64>) -> f64 {
    distances.sort_by(f64::total_cmp);
    distances[(SHARE * distances.len() as f64).ceil() as usize - 1]
}
