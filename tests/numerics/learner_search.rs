//! Random features or the exact kernel method, as the rows decide: the errors that are compared, by refits without a row, and
//! what becomes of the spec.

use crate::golden::assert_close;
use crate::tables::{RowsInMemory, fit, resources, schema, waves};
use bochner::features::{Frequencies, MapKind};
use bochner::model::{FittedModel, SolverReport, decode, encode};
use bochner::training::{SpecLimits, TrainSpec, estimate_memory, train};
use serde_json::{Value, json};

/// Steps and kinks in six inputs: smooth kernels and few features do badly.
fn rough(rows: usize) -> RowsInMemory {
    let steps = [0.618_034, 0.414_214, 0.732_051, 0.236_068, 0.645_751, 0.316_625];
    let cells = (0..rows).flat_map(|row| {
        let x = steps.map(|step| ((row + 1) as f64 * step).fract() * 2.0 - 1.0);
        let kinks: f64 =
            x.iter().zip([1.0, 0.8, 0.6, 0.5, 0.4, 0.3]).map(|(x, size)| size * (4.0 * x).sin().abs()).sum();
        let target = kinks + if x[0] > 0.3 { 0.7 } else { 0.0 } + (2.0 * (x[1] - 0.2)).abs();
        x.into_iter().chain([target])
    });
    RowsInMemory { cells: cells.collect(), columns: 7 }
}

/// A smooth function of two inputs, and noise that no method can learn.
fn noisy(rows: usize, seed: u64) -> RowsInMemory {
    let mut table = waves(rows);
    let mut state = seed;
    let mut uniform = || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15); // splitmix64
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    };
    for cells in table.cells.chunks_exact_mut(3) {
        let noise = (0..12).map(|_| uniform()).sum::<f64>() - 6.0; // variance 1
        cells[2] += noise * 0.5;
    }
    table
}

fn searched() -> Value {
    json!({"learner": "search", "effort": "balanced"})
}

fn choice(model: &FittedModel) -> bochner::model::LearnerChoice {
    model.learner_choice.expect("the learner was searched for")
}

#[test]
fn the_exact_method_is_kept_where_features_lose() {
    let table = rough(400);
    let model = fit(&table, &searched(), 2).unwrap().model;
    let found = choice(&model);
    assert!(found.exact && found.gain() > 2.0 * found.gain_standard_error, "{found:?}");
    assert_eq!((model.map.kind, found.rows, model.report.feature_count), (MapKind::Points, 320, 320));
    let spec: Value = serde_json::from_str(&model.spec).unwrap();
    assert_eq!((&spec["learner"], &spec["error_bars"]), (&json!("exact_krr"), &json!(false)));
    assert!(model.report.warnings.iter().any(|warning| warning.contains("learner ridge")));
    let ridge = fit(&table, &json!({"learner": "ridge", "effort": "balanced"}), 2).unwrap().model;
    assert!(ridge.learner_choice.is_none());
    let r2 = |model: &FittedModel| model.report.numbers().unwrap().validation_r2.unwrap();
    assert!(1.0 - r2(&model) < 0.9 * (1.0 - r2(&ridge)), "{} {}", r2(&model), r2(&ridge));
    // The search is that of the method that was kept: no candidate had features.
    let search = model.describe()["report"]["search"].clone();
    assert_eq!((&search["features"], &search["candidates"][0]["features"]), (&Value::Null, &Value::Null));
    assert_eq!(decode(&encode(&model).unwrap()).unwrap(), model);
    assert_eq!(encode(&model).unwrap(), encode(&fit(&table, &searched(), 3).unwrap().model).unwrap());
    // What is kept can be trained again by its own spec, which names the learner and the scaling.
    let again = fit(&table, &spec, 2).unwrap().model;
    assert!(
        (again.map.kind, again.learner_choice) == (MapKind::Points, None) && (r2(&again) - r2(&model)).abs() < 0.05
    );
}

/// Both errors are of the same rows; that of the exact method by fits without each row, on a matrix made value by value.
#[test]
fn the_error_of_the_exact_method_is_that_of_refits() {
    let model = fit(&rough(100), &json!({"learner": "search", "effort": "balanced", "validation_fraction": 0.0}), 1);
    let model = model.unwrap().model;
    let found = choice(&model);
    assert!(found.exact, "{found:?}");
    let SolverReport::Exact(report) = &model.report.solver else { panic!("exact") };
    let search = report.search.as_ref().unwrap();
    assert_eq!((search.features, search.loo_rows), (None, 100));
    let best = report.lambda_path.iter().min_by(|a, b| a.loo_mse.unwrap().total_cmp(&b.loo_mse.unwrap())).unwrap();
    assert_eq!(best.lambda, model.report.lambda);
    let Frequencies::Dense(points) = &model.map.frequencies else { panic!("points are dense") };
    let shift = 100.0 * model.report.lambda;
    let kernel = |i: usize, j: usize| model.map.kernel.evaluate(points.row(i), points.row(j));
    // y from α: (K + nλI)α + ȳ.
    let target = |i: usize| {
        let fitted: f64 = (0..100).map(|j| kernel(i, j) * model.weights[[j, 0]]).sum();
        fitted + shift * model.weights[[i, 0]] + model.intercepts[0]
    };
    let targets: Vec<f64> = (0..100).map(target).collect();
    let mut sum = 0.0;
    for out in 0..100 {
        let kept: Vec<usize> = (0..100).filter(|row| *row != out).collect();
        let mean = kept.iter().map(|&row| targets[row]).sum::<f64>() / 99.0;
        let mut system: Vec<Vec<f64>> = kept
            .iter()
            .map(|&i| {
                let row = kept.iter().map(|&j| kernel(i, j) + if i == j { shift } else { 0.0 });
                row.chain([targets[i] - mean]).collect()
            })
            .collect();
        let alpha = eliminate(&mut system);
        let near: f64 = kept.iter().zip(&alpha).map(|(&row, alpha)| kernel(out, row) * alpha).sum();
        sum += (targets[out] - mean - near).powi(2);
    }
    assert_close(found.exact_loo_mse / (sum / 100.0), 1.0, 1e-6, "leave-one-out error");
}

/// Gauss without pivots: the systems are positive definite.
fn eliminate(system: &mut [Vec<f64>]) -> Vec<f64> {
    let n = system.len();
    for column in 0..n {
        for row in column + 1..n {
            let factor = system[row][column] / system[column][column];
            let (above, below) = system.split_at_mut(row);
            below[0].iter_mut().zip(&above[column]).for_each(|(value, pivot)| *value -= factor * pivot);
        }
    }
    let mut found = vec![0.0; n];
    for row in (0..n).rev() {
        let known: f64 = (row + 1..n).map(|k| system[row][k] * found[k]).sum();
        found[row] = (system[row][n] - known) / system[row][row];
    }
    found
}

#[test]
fn features_stay_where_they_lose_nothing() {
    // In both, the exact method gains more than two standard errors: its search is one over many candidates.
    let [_, model] = [0, 4].map(|seed| {
        let model = fit(&noisy(600, seed), &searched(), 2).unwrap().model;
        let found = choice(&model);
        assert!(!found.exact && found.features_loo_mse > 0.0, "{found:?}");
        model
    });
    let found = choice(&model);
    assert!(model.error_bars.is_some() && model.map.kind == MapKind::Pair);
    assert_eq!(serde_json::from_str::<Value>(&model.spec).unwrap()["learner"], "ridge");
    assert_close(found.features_loo_mse / found.exact_loo_mse, 1.0, 0.1, "both see the same noise");
    assert_eq!(decode(&encode(&model).unwrap()).unwrap(), model);
}

/// More rows than are factored at once are fitted on features, without a comparison.
#[test]
fn many_rows_are_fitted_on_features() {
    let raw = json!({"learner": "search", "effort": "balanced", "features": {"count": 64},
        "kernel": {"name": "gaussian", "metric": "none"}, "guarantees": {"exact_rows": 0}});
    let model = fit(&waves(3_800), &raw, 2).unwrap().model;
    assert!(model.learner_choice.is_none() && model.map.feature_count() == 64);
}

/// The kernel matrix and its factor are part of the estimate.
#[test]
fn the_comparison_is_part_of_the_memory() {
    let table = waves(3_600);
    let of = |learner: &str| {
        let raw = json!({"learner": learner, "guarantees": {"exact_rows": 0}});
        let spec = TrainSpec::check("", Some(&raw), SpecLimits { feature_count: 256 }).unwrap();
        estimate_memory(&spec.for_rows(&schema(&table)), &schema(&table), 1)
    };
    assert!(of("search") >= of("ridge").min(2 * 2_880 * 2_880 * 8) && of("search") > 2 * 2_880 * 2_880 * 8);
}

/// A stop is heard within the search of the exact method too.
#[test]
fn a_search_stops_when_asked() {
    struct Impatient;
    impl bochner::training::Observer for Impatient {
        fn progress(&self, _: bochner::training::Stage, _: f64) {}
        fn should_stop(&self) -> bool {
            true
        }
    }
    let table = rough(200);
    let spec = TrainSpec::check("", Some(&json!({"learner": "exact_krr"})), SpecLimits { feature_count: 64 }).unwrap();
    let stopped = train(&table, &schema(&table), "ds", &spec, resources(1), &Impatient);
    assert!(matches!(stopped, Err(bochner::training::TrainError::Stopped)));
}
