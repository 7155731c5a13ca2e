//! The whole recipe on tables in memory.

use crate::by_hand::validation_distances;
use crate::golden::assert_close;
use crate::tables::{RowsInMemory, fit, resources, schema, spec, waves};
use bochner::features::Precision;
use bochner::model::{Predictor, decode, encode};
use bochner::training::{Observer, Stage, TrainError, train};
use serde_json::json;
use std::sync::atomic::{AtomicUsize, Ordering};

#[test]
fn a_smooth_function_is_learned() {
    let model = fit(&waves(3_000), &json!({"lambda": 1e-11, "features": {"count": 200}}), 2).unwrap().model;
    assert!(model.report.numbers().unwrap().validation_r2.unwrap() > 0.999, "{:?}", model.report);
    assert_eq!((model.report.training_rows, model.report.validation_rows), (2_400, 600));
    let ratio = model.report.numbers().unwrap().training_mse / model.report.numbers().unwrap().validation_mse.unwrap();
    assert!((0.5..1.5).contains(&ratio), "{ratio}"); // a smooth function without noise: alike
    let (a, b) = (0.3, -0.4);
    let prediction = Predictor::new(model).predict(&[&[a, b]])[[0, 0]];
    assert!((prediction - ((3.0 * a).sin() + b * b)).abs() < 0.02, "{prediction}");
}

/// The artifact, every byte of it, depends on data, spec and seed alone.
#[test]
fn the_same_seed_gives_the_same_artifact_for_any_thread_count() {
    let table = waves(5_000);
    let artifact = |threads, seed| {
        let raw = json!({"features": {"count": 64, "seed": seed}, "lambda": "search", "guarantees": {"exact_rows": 0}});
        encode(&fit(&table, &raw, threads).unwrap().model).unwrap()
    };
    let reference = artifact(1, 7);
    assert_eq!(reference, artifact(2, 7));
    assert_eq!(reference, artifact(5, 7));
    assert_ne!(reference, artifact(1, 8));
}

#[test]
fn an_artifact_reads_back_to_the_same_predictions() {
    let model = fit(&waves(500), &json!({"features": {"count": 32}}), 1).unwrap().model;
    let again = decode(&encode(&model).unwrap()).unwrap();
    assert_eq!(model, again);
    let row: &[f64] = &[0.1, 0.2];
    assert_eq!(Predictor::new(model).predict(&[row]), Predictor::new(again).predict(&[row]));
}

#[test]
fn a_damaged_artifact_is_refused() {
    let bytes = encode(&fit(&waves(100), &json!({"features": {"count": 8}}), 1).unwrap().model).unwrap();
    for position in (0..bytes.len()).step_by(37) {
        let mut flipped = bytes.clone();
        flipped[position] ^= 1;
        assert!(decode(&flipped).is_err(), "byte {position}");
    }
    for length in [0, 7, 51, 52, bytes.len() - 1] {
        assert!(decode(&bytes[..length]).is_err(), "{length} bytes");
    }
}

/// A tiny λ is solved in f64, and both precisions agree where both are sound.
#[test]
fn the_precision_follows_the_ridge() {
    let table = waves(2_000);
    let fit = |lambda: f64| fit(&table, &json!({"lambda": lambda, "features": {"count": 64}}), 2).unwrap().model;
    assert_eq!(fit(1e-6).precision, Precision::Mixed);
    assert_eq!(fit(9e-7).precision, Precision::Double);
    let double = fit(1e-10);
    assert_eq!(double.precision, Precision::Double);
    assert!(double.weights.iter().all(|weight| weight.is_finite()));
    assert!(double.report.ridge().unwrap().relative_residual < 1e-8);
}

/// Far from the threshold the mixed-precision model predicts as an f64 twin with the same features.
#[test]
fn mixed_precision_predicts_as_a_double_twin() {
    let table = waves(3_000);
    let model =
        fit(&table, &json!({"lambda": 1e-4, "features": {"count": 128}, "validation_fraction": 0.0}), 2).unwrap().model;
    let mut psi = ndarray::Array2::<f64>::zeros((0, 128));
    let mut targets = Vec::new();
    let projector = model.map.projector::<f64>();
    for row in table.cells.chunks(3) {
        let inputs = model.inputs.prepare([&row[..2]].into_iter());
        psi.append(ndarray::Axis(0), projector.transform(inputs.view()).view()).unwrap();
        targets.push(row[2] - model.intercepts[0]);
    }
    let targets = ndarray::Array1::from_vec(targets);
    let n = targets.len() as f64;
    let mut system = psi.t().dot(&psi) / n;
    system.diag_mut().mapv_inplace(|value| value + 1e-4);
    let weights = bochner::linalg::Cholesky::factor(system, 1).unwrap().solve(&(psi.t().dot(&targets) / n));
    let twin = psi.dot(&weights) + model.intercepts[0];
    let rows: Vec<&[f64]> = table.cells.chunks(3).map(|row| &row[..2]).collect();
    // An f32 feature is off by a few units in the last place of its amplitude 1/√m.
    let tolerance = 4.0 * f64::from(f32::EPSILON) * weights.mapv(f64::abs).sum() / 8.0;
    let predictions = Predictor::new(model).predict(&rows);
    let largest = predictions.iter().zip(&twin).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    assert!(largest < tolerance, "{largest:e} < {tolerance:e}");
}

#[test]
fn the_exact_solution_comes_with_small_tables_and_its_distance_is_that_of_a_factorisation() {
    let raw = json!({"lambda": "certified", "features": {"count": 100}});
    let model = fit(&waves(1_000), &raw, 2).unwrap().model;
    let error = model.measured.exact_krr_error.unwrap();
    let expected = validation_distances(&model, &waves(1_000)).mapv(|gap| gap * gap).mean().unwrap();
    assert_close(error / expected, 1.0, 1e-3, "mean squared distance"); // features are in f32
    assert!(model.measured.exact_krr.unwrap().relative_residual < 1e-10);

    let skipped = fit(&waves(1_000), &json!({"guarantees": {"exact_rows": 100}}), 1).unwrap().model;
    assert_eq!((skipped.measured.exact_krr_error, skipped.evidence.unwrap().exact), (None, None));
}

#[test]
fn training_stops_between_blocks() {
    struct StopAfter(AtomicUsize);
    impl Observer for StopAfter {
        fn progress(&self, stage: Stage, _: f64) {
            if stage == Stage::Accumulate {
                self.0.fetch_add(1, Ordering::Relaxed);
            }
        }

        fn should_stop(&self) -> bool {
            self.0.load(Ordering::Relaxed) >= 2
        }
    }
    let table = waves(10_000);
    let observer = StopAfter(AtomicUsize::new(0));
    let outcome = train(&table, &schema(&table), "ds-test", &spec(&json!({})), resources(2), &observer);
    assert!(matches!(outcome, Err(TrainError::Stopped)));
    assert!(observer.0.load(Ordering::Relaxed) <= 3);
}

/// The spread against a dense twin: σ̂²(1 + ψᵀ(G+λI)⁻¹ψ/n) by solving for each row, tr H by summing its
/// diagonal.
#[test]
fn the_predictive_spread_is_that_of_a_dense_twin() {
    let table = waves(400);
    let lambda = 1e-4;
    let spec = json!({"lambda": lambda, "features": {"count": 32}, "validation_fraction": 0.0, "spread": true});
    let model = fit(&table, &spec, 2).unwrap().model;
    let rows: Vec<&[f64]> = table.cells.chunks(3).map(|row| &row[..2]).collect();
    let psi = model.map.projector::<f64>().transform(model.inputs.prepare(rows.iter().copied()).view());
    let n = rows.len() as f64;
    let mut system = psi.t().dot(&psi) / n;
    system.diag_mut().mapv_inplace(|value| value + lambda);
    let factor = bochner::linalg::Cholesky::factor(system, 1).unwrap();
    let leverage: Vec<f64> = psi.rows().into_iter().map(|row| row.dot(&factor.solve(&row.to_owned())) / n).collect();
    let noise = model.report.numbers().unwrap().training_mse * n / (n - leverage.iter().sum::<f64>());
    let spreads = Predictor::new(model).spreads(&rows).unwrap();
    for (found, leverage) in spreads.iter().zip(leverage) {
        let expected = (noise * (1.0 + leverage)).sqrt();
        assert!((found / expected - 1.0).abs() < 1e-4, "{found} {expected}"); // features are in f32
    }
}

/// y = sin(25x) + noise: far rougher than the mean distance between rows suggests.
fn ripples(rows: usize) -> RowsInMemory {
    let row = |i: usize| {
        let x = (i as f64 * 0.618_034).fract();
        let noise = (i as f64 * 0.754_878).fract() - 0.5; // uniform, variance 1/12
        [x, (25.0 * x).sin() + 0.5 * noise]
    };
    RowsInMemory { cells: (0..rows).flat_map(row).collect(), columns: 2 }
}

/// The λ found is the best of its path, and its leave-one-out error is what held-out rows show.
#[test]
fn the_lambda_search_takes_the_smallest_leave_one_out_error() {
    let report = fit(&ripples(3_000), &json!({"features": {"count": 64}, "kernel": {"bandwidth": 0.2}}), 2)
        .unwrap()
        .model
        .report;
    let best =
        report.ridge().unwrap().lambda_path.iter().min_by(|a, b| a.loo_mse.partial_cmp(&b.loo_mse).unwrap()).unwrap();
    assert_eq!((report.lambda, report.ridge().unwrap().loo_mse), (best.lambda, best.loo_mse));
    let ratio = report.ridge().unwrap().loo_mse.unwrap() / report.numbers().unwrap().validation_mse.unwrap();
    assert!((0.85..1.15).contains(&ratio), "{ratio}");
    let noise = 0.25 / 12.0;
    assert!(
        report.ridge().unwrap().loo_mse.unwrap() > 0.9 * noise
            && report.ridge().unwrap().loo_mse.unwrap() < 1.2 * noise,
        "{report:?}"
    );
}

/// The bandwidth search leaves the rule where the rule is wrong, stays in its range, and pays.
#[test]
fn the_bandwidth_search_beats_a_rule_that_is_too_wide() {
    let report = |bandwidth: &str| {
        let spec = json!({"features": {"count": 32}, "kernel": {"bandwidth": bandwidth}});
        fit(&ripples(3_000), &spec, 2).unwrap().model.report
    };
    let (rule, searched) = (report("mean_distance"), report("search"));
    let factor = searched.bandwidth.unwrap() / rule.bandwidth.unwrap();
    assert!((0.05..0.5).contains(&factor), "{factor}");
    assert!(
        searched.numbers().unwrap().validation_mse.unwrap() < 0.5 * rule.numbers().unwrap().validation_mse.unwrap(),
        "{rule:?} {searched:?}"
    );
}

/// Searched for with the bandwidth, the scaling is the one whose own search ends at the smaller error, and the
/// spec of the model names it.
#[test]
fn the_scaling_search_takes_the_better_of_two() {
    // A skewed input that matters on a logarithmic scale, and one that is even.
    let row = |i: usize| {
        let (a, b) = ((i as f64 * 0.618_034).fract(), (i as f64 * 0.414_214).fract());
        [(6.0 * a).exp(), b, (9.0 * a).sin() + b]
    };
    let table = RowsInMemory { cells: (0..1_500).flat_map(row).collect(), columns: 3 };
    let train = |scaling: Option<&str>| {
        let mut raw = json!({
            "features": {"count": 64}, "kernel": {"bandwidth": "search"}, "guarantees": {"exact_rows": 0},
        });
        if let Some(scaling) = scaling {
            raw["scaling"] = json!(scaling);
        }
        fit(&table, &raw, 2).unwrap().model
    };
    let (searched, standard, minmax) = (train(None), train(Some("standard")), train(Some("minmax")));
    let error = |model: &bochner::model::FittedModel| model.report.ridge().unwrap().loo_mse.unwrap();
    let better = if error(&standard) < error(&minmax) { &standard } else { &minmax };
    assert!((error(&standard) / error(&minmax) - 1.0).abs() > 0.01, "the two must differ to tell them apart");
    assert_eq!(searched.weights, better.weights);
    assert_eq!(searched.spec, better.spec);
}
