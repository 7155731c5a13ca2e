//! Features, weights and predictions against the golden ridge cases.

use crate::golden::{assert_close, data, indices, load, matrix, number, vector};
use bochner::features::{FeatureMap, MapKind, Wave};
use bochner::solver::{BlockGram, Gram, solve_ridge};
use ndarray::{Array1, Array2, Axis, s};
use serde_json::Value;

const SETS: [&str; 3] = ["diabetes", "syn1d", "syn3d"];

fn pair_cases(set: &str) -> Vec<Value> {
    let file = load(&format!("features_{set}.json"));
    let cases: Vec<Value> =
        file["cases"].as_array().unwrap().iter().filter(|case| case["map"] == "pair").cloned().collect();
    assert!(cases.len() >= 2);
    cases
}

fn map_of(case: &Value) -> FeatureMap {
    FeatureMap { kind: MapKind::Pair, frequencies: matrix(&case["V"]) }
}

/// Ψ in one precision, widened.
fn features<T: Wave>(map: &FeatureMap, inputs: &Array2<f64>) -> Array2<f64> {
    map.projector::<T>().transform(inputs.mapv(T::from_f64).view()).mapv(T::to_f64)
}

/// Weights from blocks of 100 rows.
fn weights<T: Wave>(map: &FeatureMap, inputs: &Array2<f64>, targets: &Array1<f64>, ridge: f64) -> Array1<f64> {
    let projector = map.projector::<T>();
    let mut block = BlockGram::<T>::new(map.feature_count());
    let mut gram = Gram::new(map.feature_count());
    for (inputs, targets) in inputs.axis_chunks_iter(Axis(0), 100).zip(targets.axis_chunks_iter(Axis(0), 100)) {
        block.fill(projector.transform(inputs.mapv(T::from_f64).view()).view(), targets);
        gram.add(&block);
    }
    let solution = solve_ridge(gram, ridge).unwrap();
    assert!(solution.relative_residual < 1e-12);
    solution.weights
}

fn relative_distance(found: &Array1<f64>, expected: &Array1<f64>) -> f64 {
    let difference = found - expected;
    (difference.dot(&difference) / expected.dot(expected)).sqrt()
}

#[test]
fn features_are_the_golden_ones() {
    for set in SETS {
        let (inputs, _) = data(set);
        for case in pair_cases(set) {
            let double = features::<f64>(&map_of(&case), &inputs);
            let single = features::<f32>(&map_of(&case), &inputs);
            let expected = matrix(&case["psi"]);
            for (row, expected) in indices(&case["psi_rows"]).into_iter().zip(expected.rows()) {
                for (j, &expected) in expected.iter().enumerate() {
                    assert_close(double[[row, j]], expected, 1e-12, "psi in f64");
                    // Heavy-tailed frequencies make angles of some hundred, whose f32 rounding is 1e-5.
                    let tolerance = if case["kernel"] == "gaussian" { 1e-6 } else { 1e-4 };
                    assert_close(single[[row, j]], expected, tolerance, "psi in f32");
                }
            }
        }
    }
}

#[test]
fn weights_and_predictions_are_the_golden_ones() {
    for set in SETS {
        let (inputs, targets) = data(set);
        let largest = targets.iter().fold(0.0_f64, |largest, value| largest.max(value.abs()));
        for case in pair_cases(set) {
            let map = map_of(&case);
            let found = weights::<f64>(&map, &inputs, &targets, number(&case["lam"]));
            let distance = relative_distance(&found, &vector(&case["w"]));
            assert!(distance < 1e-6, "weights of {set}: {distance:e}");
            let predictions = features::<f64>(&map, &inputs).dot(&found);
            for (row, &expected) in indices(&case["predict_rows"]).into_iter().zip(&vector(&case["predictions"])) {
                assert_close(predictions[row], expected, 1e-8 * largest, "prediction");
            }
        }
    }
}

/// The gaussian cases in mixed precision: weights to 1e-6 relative as well.
#[test]
fn mixed_precision_reaches_the_golden_weights_too() {
    for set in SETS {
        let (inputs, targets) = data(set);
        for case in pair_cases(set).into_iter().filter(|case| case["kernel"] == "gaussian") {
            let map = map_of(&case);
            let found = weights::<f32>(&map, &inputs, &targets, number(&case["lam"]));
            let distance = relative_distance(&found, &vector(&case["w"]));
            assert!(distance < 1e-6, "weights of {set}: {distance:e}");
        }
    }
}

/// The golden λ path: training error and ‖w‖² at seven λ.
#[test]
fn the_lambda_path_is_the_golden_one() {
    for set in SETS {
        let (inputs, targets) = data(set);
        for case in pair_cases(set) {
            let map = map_of(&case);
            let psi = features::<f64>(&map, &inputs);
            for point in case["path"].as_array().unwrap() {
                let found = weights::<f64>(&map, &inputs, &targets, number(&point["lam"]));
                let residual = &targets - &psi.dot(&found);
                let mse = residual.dot(&residual) / targets.len() as f64;
                assert_close(mse, number(&point["train_mse"]), 1e-8, "training error");
                assert_close(found.dot(&found) / number(&point["w_norm2"]), 1.0, 1e-5, "norm of the weights");
            }
        }
    }
}

/// Blocks may be cut anywhere.
#[test]
fn the_gram_matrix_does_not_depend_on_the_blocks() {
    let (inputs, targets) = data("syn3d");
    let map = map_of(&pair_cases("syn3d")[0]);
    let psi = features::<f64>(&map, &inputs);
    let gram_of = |rows: &[usize]| {
        let mut gram = Gram::new(map.feature_count());
        let mut first = 0;
        for &count in rows {
            let range = first..first + count;
            let mut block = BlockGram::<f64>::new(map.feature_count());
            let part = psi.slice(s![range.clone(), ..]).to_owned();
            block.fill(part.view(), targets.slice(s![range]));
            gram.add(&block);
            first += count;
        }
        gram.into_normal_equations()
    };
    let (whole, moments) = gram_of(&[200]);
    let (parts, parts_moments) = gram_of(&[1, 150, 49]);
    let dense = psi.t().dot(&psi) / 200.0;
    assert!((&whole - &dense).iter().all(|difference| difference.abs() < 1e-14));
    assert!((&whole - &parts).iter().all(|difference| difference.abs() < 1e-14));
    assert!((&moments - &parts_moments).iter().all(|difference| difference.abs() < 1e-14));
}
