//! How often the interval of the jackknife holds the distance that it speaks of.

use crate::soundness::noisy;
use crate::tables::fit;
use bochner::model::Predictor;
use serde_json::{Value, json};

const MODELS: usize = 200;
const ROWS: usize = 300;

/// What one model says of its distance, and how far it is at inputs without end.
struct Run {
    estimate: f64,
    low: f64,
    high: f64,
    distance: f64,
    left_out: bool,
}

/// Models with rows and draws of their own; a fine grid knows the distribution of the inputs. Models without an estimate are
/// skipped.
fn runs(validation: f64, lambda: f64) -> Vec<Run> {
    let grid: Vec<f64> = (0..2_000).map(|i| (f64::from(i) + 0.5) / 1_000.0 - 1.0).collect();
    let inputs: Vec<&[f64]> = grid.chunks(1).collect();
    let run = |split: usize| {
        let table = noisy(20_000_000 + split * ROWS, ROWS);
        let train = |learner: &str, features: Value| {
            let raw = json!({
                "learner": learner, "features": features, "lambda": lambda, "kernel": {"bandwidth": 0.7},
                "scaling": "none", "validation_fraction": validation, "calibration_fraction": 0.0,
                "guarantees": {"exact_rows": 0},
            });
            fit(&table, &raw, 1).unwrap().model
        };
        let model = train("ridge", json!({"count": 64, "seed": split}));
        let exact = train("exact_krr", json!({"seed": split}));
        let estimates = model.evidence.as_ref().unwrap().estimates.clone();
        let detail = estimates.jackknife_detail?;
        let gaps = Predictor::new(model).predict(&inputs) - Predictor::new(exact).predict(&inputs);
        Some(Run {
            estimate: estimates.jackknife?,
            low: detail.low,
            high: detail.high,
            distance: gaps.mapv(|gap| gap * gap).mean().unwrap(),
            left_out: detail.left_out,
        })
    };
    (0..MODELS).filter_map(run).collect()
}

/// The claim is nine in ten of the models that have an estimate, four deviations of the binomial count less at the least.
/// The mean of the estimates is within a factor 1.5 of that of the distances.
fn holds_as_often_as_it_says(validation: f64, lambda: f64) {
    let runs = runs(validation, lambda);
    assert!(runs.len() >= MODELS / 10, "{} estimates", runs.len());
    assert!(runs.iter().all(|run| run.left_out == (validation == 0.0)));
    let held = runs.iter().filter(|run| (run.low..=run.high).contains(&run.distance)).count();
    let count = runs.len() as f64;
    let least = 0.9 * count - 4.0 * (0.9 * 0.1 * count).sqrt();
    assert!(held as f64 >= least, "{held} of {count} at {lambda:e}");
    let mean = |of: fn(&Run) -> f64| runs.iter().map(of).sum::<f64>() / count;
    let ratio = mean(|run| run.estimate) / mean(|run| run.distance);
    assert!((1.0 / 1.5..=1.5).contains(&ratio), "{ratio} at {lambda:e}");
}

#[test]
fn the_interval_holds_nine_times_in_ten_with_validation_rows() {
    for lambda in [1e-2, 1e-4] {
        holds_as_often_as_it_says(0.3, lambda);
    }
}

#[test]
fn the_interval_holds_nine_times_in_ten_where_fitted_rows_are_left_out() {
    for lambda in [1e-2, 1e-4] {
        holds_as_often_as_it_says(0.0, lambda);
    }
}
