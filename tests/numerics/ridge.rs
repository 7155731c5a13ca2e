//! Features, weights and predictions against the golden ridge cases.

use crate::golden::{assert_close, data, feature_map, indices, load, matrix, number, vector};
use bochner::features::{FeatureMap, Wave};
use bochner::linalg::symmetric_eigen;
use bochner::model::Spread;
use bochner::solver::{
    BlockGram, Gram, GramGrid, GramSums, NormalEquations, Reach, RidgePath, Width, jackknife_weights,
    jackknife_weights_by_rows, solve_ridge,
};
use ndarray::{Array1, Array2, ArrayView2, Axis, s};
use serde_json::Value;

const SETS: [&str; 3] = ["diabetes", "syn1d", "syn3d"];

fn cases(set: &str) -> Vec<Value> {
    let file = load(&format!("features_{set}.json"));
    let cases = file["cases"].as_array().unwrap();
    assert!(cases.len() >= 4);
    cases.clone()
}

/// Ψ in one precision, widened.
fn features<T: Wave>(map: &FeatureMap, inputs: &Array2<f64>) -> Array2<f64> {
    map.projector::<T>().transform(inputs.view()).mapv(T::to_f64)
}

/// The statistics of all rows, from blocks of 100.
fn gram<T: Wave>(map: &FeatureMap, inputs: &Array2<f64>, targets: &Array1<f64>) -> Gram {
    let projector = map.projector::<T>();
    let reach = Reach::of(projector.transform(inputs.view()).view(), column(targets), None);
    let mut sums = GramSums::new(map.feature_count(), GramGrid::new(&reach, Width::Narrow));
    for (inputs, targets) in inputs.axis_chunks_iter(Axis(0), 100).zip(targets.axis_chunks_iter(Axis(0), 100)) {
        sums.add(&[BlockGram::<T>::of(projector.transform(inputs), targets.insert_axis(Axis(1)), None)], 1).unwrap();
    }
    sums.finish()
}

fn weights<T: Wave>(map: &FeatureMap, inputs: &Array2<f64>, targets: &Array1<f64>, ridge: f64) -> Array1<f64> {
    let solution = solve_ridge(&gram::<T>(map, inputs, targets).into_normal_equations(), ridge, 2).unwrap();
    assert!(solution.relative_residual < 1e-12);
    solution.weights.column(0).to_owned()
}

/// One target as a matrix of one column.
fn column(targets: &Array1<f64>) -> ArrayView2<'_, f64> {
    targets.view().insert_axis(Axis(1))
}

fn relative_distance(found: &Array1<f64>, expected: &Array1<f64>) -> f64 {
    let difference = found - expected;
    (difference.dot(&difference) / expected.dot(expected)).sqrt()
}

#[test]
fn features_are_the_golden_ones() {
    for set in SETS {
        let (inputs, _) = data(set);
        for case in cases(set) {
            let double = features::<f64>(&feature_map(&case), &inputs);
            let single = features::<f32>(&feature_map(&case), &inputs);
            let expected = matrix(&case["psi"]);
            for (row, expected) in indices(&case["psi_rows"]).into_iter().zip(expected.rows()) {
                for (j, &expected) in expected.iter().enumerate() {
                    assert_close(double[[row, j]], expected, 1e-12, "psi in f64");
                    // Heavy-tailed frequencies too: their angles are reduced before they are rounded.
                    assert_close(single[[row, j]], expected, 1e-6, "psi in f32");
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
        for case in cases(set) {
            let map = feature_map(&case);
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

/// In mixed precision too: weights to 1e-6 relative for the gaussian kernel and the pair map, to a few
/// times that for rough kernels and for the phase map, whose angles carry one more rounding.
#[test]
fn mixed_precision_reaches_the_golden_weights_too() {
    for set in SETS {
        let (inputs, targets) = data(set);
        for case in cases(set) {
            let map = feature_map(&case);
            let found = weights::<f32>(&map, &inputs, &targets, number(&case["lam"]));
            let distance = relative_distance(&found, &vector(&case["w"]));
            let smooth = case["kernel"] == "gaussian" && case["map"] == "pair";
            let tolerance = if smooth { 1e-6 } else { 4e-6 };
            assert!(distance < tolerance, "weights of {set}: {distance:e}");
        }
    }
}

/// Effective dimension, training error, leave-one-out error and GCV at seven λ, from one reduction.
#[test]
fn the_lambda_path_is_the_golden_one() {
    for set in SETS {
        let (inputs, targets) = data(set);
        for case in cases(set) {
            let map = feature_map(&case);
            let psi = features::<f64>(&map, &inputs);
            let equations = gram::<f64>(&map, &inputs, &targets).into_normal_equations();
            let path = RidgePath::new(&equations, 2);
            let points = case["path"].as_array().unwrap();
            for point in points {
                let lambda = number(&point["lam"]);
                let found = path.point(lambda).unwrap();
                assert_close(found.effective_dimension, number(&point["df"]), 1e-6, "effective dimension");
                assert_close(found.training_mse, number(&point["train_mse"]), 1e-9, "training error");
                assert_close(found.gcv, number(&point["gcv"]), 1e-8, "GCV");
                let weights = path.solution(&equations, lambda, 2).unwrap().weights.column(0).to_owned();
                assert_close(weights.dot(&weights) / number(&point["w_norm2"]), 1.0, 1e-5, "norm of the weights");
                let residual = &targets - &psi.dot(&weights);
                assert_close(residual.dot(&residual) / targets.len() as f64, found.training_mse, 1e-9, "weights");
            }
            let eigenvalues = vector(&case["gram_eigenvalues"]);
            let (found, _) = symmetric_eigen(equations.gram).unwrap();
            for (found, expected) in found.iter().rev().zip(&eigenvalues) {
                assert_close(*found, *expected, 1e-10, "eigenvalue");
            }
        }
    }
}

/// The golden leave-one-out residuals with the mean of the targets taken anew, and brute force.
#[test]
fn leave_one_out_residuals_are_the_golden_ones() {
    for set in SETS {
        let (inputs, targets) = data(set);
        let centred = &targets - targets.mean().unwrap();
        for case in cases(set) {
            let map = feature_map(&case);
            let lambda = number(&case["lam"]);
            let path = RidgePath::new(&gram::<f64>(&map, &inputs, &centred).into_normal_equations(), 2);
            let psi = features::<f64>(&map, &inputs);
            let residuals =
                path.leave_one_out::<f64>(&[lambda, 1.0]).residuals(psi.view(), column(&centred), None).remove(0);
            for (i, &expected) in vector(&case["loo_recentred_first10"]).iter().enumerate() {
                assert_close(residuals[[i, 0]], expected, 1e-8, "leave-one-out residual");
            }
            let single = features::<f32>(&map, &inputs).mapv(|value| value as f32);
            let mixed = path.leave_one_out::<f32>(&[lambda]).residuals(single.view(), column(&centred), None).remove(0);
            for (found, expected) in mixed.iter().zip(residuals.column(0)) {
                assert_close(*found, *expected, 1e-4, "leave-one-out residual in f32");
            }
        }
    }
}

/// ψᵀ(G+λI)⁻¹ψ/n, which the predictive spread adds to the noise, is the golden diagonal of the hat matrix, and with it
/// residuals become the golden leave-one-out residuals of all rows.
#[test]
fn leverage_is_the_golden_hat_diagonal() {
    for set in SETS {
        let (inputs, targets) = data(set);
        for case in cases(set) {
            let (map, lambda) = (feature_map(&case), number(&case["lam"]));
            let equations = gram::<f64>(&map, &inputs, &targets).into_normal_equations();
            let factor = equations.factor(lambda, 1).unwrap().lower_rows();
            let spread = Spread { noise_variances: vec![1.0], sample_count: targets.len(), factor };
            let psi = features::<f64>(&map, &inputs);
            let fitted = psi.dot(&vector(&case["w"]));
            for (i, (hat, residual)) in
                vector(&case["hat_diag"]).iter().zip(&vector(&case["loo_residuals"])).enumerate()
            {
                let leverage = spread.standard_deviations(psi.row(i).iter().copied())[0].powi(2) - 1.0;
                assert_close(leverage, *hat, 1e-9, "diagonal of the hat matrix");
                assert_close((targets[i] - fitted[i]) / (1.0 - leverage), *residual, 1e-7, "leave-one-out residual");
            }
        }
    }
}

/// Leaving a row out for real, with nλ unchanged and the targets centred anew.
#[test]
fn leave_one_out_is_what_refitting_gives() {
    let (inputs, targets) = data("syn1d");
    let case = &cases("syn1d")[1];
    let map = feature_map(case);
    let lambda = 1e-3;
    let n = targets.len();
    let centred = &targets - targets.mean().unwrap();
    let path = RidgePath::new(&gram::<f64>(&map, &inputs, &centred).into_normal_equations(), 2);
    let psi = features::<f64>(&map, &inputs);
    let residuals = path.leave_one_out::<f64>(&[lambda]).residuals(psi.view(), column(&centred), None).remove(0);
    for left_out in [0, 17, 119] {
        let kept: Vec<usize> = (0..n).filter(|&i| i != left_out).collect();
        let (inputs, kept_targets) = (inputs.select(Axis(0), &kept), targets.select(Axis(0), &kept));
        let mean = kept_targets.mean().unwrap();
        let equations = gram::<f64>(&map, &inputs, &(&kept_targets - mean)).into_normal_equations();
        let weights =
            solve_ridge(&equations, lambda * n as f64 / (n - 1) as f64, 2).unwrap().weights.column(0).to_owned();
        let expected = targets[left_out] - mean - psi.row(left_out).dot(&weights);
        assert_close(residuals[[left_out, 0]], expected, 1e-9, "residual");
    }
}

/// The same with weights: a weighted row left out for real, with Σc·λ unchanged and the weighted mean taken
/// anew.
#[test]
fn weighted_leave_one_out_is_what_refitting_gives() {
    let (inputs, targets) = data("syn1d");
    let map = feature_map(&cases("syn1d")[1]);
    let psi = features::<f64>(&map, &inputs);
    let (n, lambda) = (targets.len(), 1e-3);
    let weights: Vec<f64> = (0..n).map(|i| [0.5, 3.0, 1.0, 0.2][i % 4]).collect();
    let equations = |rows: &[usize]| {
        let of_rows: Vec<f64> = rows.iter().map(|&row| weights[row]).collect();
        let kept = targets.select(Axis(0), rows);
        let mut gram = GramSums::of(psi.select(Axis(0), rows), column(&kept), Some(&of_rows)).unwrap().finish();
        let mean = gram.centre_targets()[0];
        (gram.into_normal_equations(), mean)
    };
    let (all, mean) = equations(&(0..n).collect::<Vec<_>>());
    let centred = &targets - mean;
    let leave_one_out = RidgePath::new(&all, 2).leave_one_out::<f64>(&[lambda]);
    let residuals = leave_one_out.residuals(psi.view(), column(&centred), Some(&weights)).remove(0);
    let total: f64 = weights.iter().sum();
    for left_out in [0, 1, 18, 119] {
        let (equations, mean) = equations(&(0..n).filter(|&i| i != left_out).collect::<Vec<_>>());
        let ridge = lambda * total / (total - weights[left_out]);
        let refitted = solve_ridge(&equations, ridge, 2).unwrap().weights.column(0).to_owned();
        let expected = targets[left_out] - mean - psi.row(left_out).dot(&refitted);
        assert_close(residuals[[left_out, 0]], expected, 1e-9, "weighted residual");
    }
}

/// Blocks may be cut anywhere.
#[test]
fn the_gram_matrix_does_not_depend_on_the_blocks() {
    let (inputs, targets) = data("syn3d");
    let map = feature_map(&cases("syn3d")[0]);
    let psi = features::<f64>(&map, &inputs);
    let gram_of = |rows: &[usize]| {
        let grid = GramGrid::new(&Reach::of(psi.view(), column(&targets), None), Width::Narrow);
        let mut sums = GramSums::new(map.feature_count(), grid);
        let mut first = 0;
        for &count in rows {
            let range = first..first + count;
            let part = psi.slice(s![range.clone(), ..]).to_owned();
            sums.add(&[BlockGram::of(part, targets.slice(s![range]).insert_axis(Axis(1)), None)], 1).unwrap();
            first += count;
        }
        sums.finish().into_normal_equations()
    };
    let (whole, parts) = (gram_of(&[200]), gram_of(&[1, 150, 49]));
    let dense = psi.t().dot(&psi) / 200.0;
    let small = |difference: &f64| difference.abs() < 1e-14;
    assert!((&whole.gram - &dense).iter().all(small));
    assert!((&whole.gram - &parts.gram).iter().all(small));
    assert!((&whole.right_side - &parts.right_side).iter().all(small));
    assert!((&whole.mean_feature - &psi.mean_axis(Axis(0)).unwrap()).iter().all(small));
}

/// Four draws with second moments 3, 1, 1 and 0 that never meet, in two groups, so that λ/c² is 1: their leverages are ¾, ½, ½
/// and 0, and their mean weighted by themselves (9/16 + 1/2)/(7/4).
#[test]
fn the_leverage_of_features_counts_each_as_much_as_its_own() {
    let equations = |moments: &[f64]| NormalEquations {
        gram: Array2::from_diag(&Array1::from(moments.to_vec())),
        right_side: Array2::zeros((moments.len(), 1)),
        mean_feature: Array1::zeros(moments.len()),
        target_mean_square: Array1::zeros(1),
        weight: 1.0,
        sample_count: 1,
    };
    let leverage = |moments: &[f64]| jackknife_weights(&equations(moments), 2.0, (4, 2), 1).unwrap().leverage;
    assert_close(leverage(&[3.0, 1.0, 1.0, 0.0]), 17.0 / 28.0, 1e-14, "by hand");
    // The same effective dimension over all draws: the mean leverage, 7/16.
    assert_close(leverage(&[7.0 / 9.0; 4]), 7.0 / 16.0, 1e-14, "spread evenly");
    assert_eq!(leverage(&[0.0; 4]), 0.0);
}

/// Weights without groups of draws: the golden variances of predictions, and a direct solve without the columns.
#[test]
fn the_jackknife_is_the_golden_one() {
    let mut seen = 0;
    for set in SETS {
        let (inputs, targets) = data(set);
        for case in cases(set) {
            let golden = &case["jackknife"];
            if golden.is_null() {
                continue;
            }
            let map = feature_map(&case);
            let equations = gram::<f64>(&map, &inputs, &targets).into_normal_equations();
            let lambda = number(&case["lam"]);
            let groups = number(&golden["groups"]) as usize;
            let found = jackknife_weights(&equations, lambda, (map.draw_count(), groups), 2).unwrap();
            let without = &found.weights;
            assert_eq!(without.len(), groups);
            let psi = features::<f64>(&map, &inputs);
            let centred = (&targets - targets.mean().unwrap()).insert_axis(Axis(1));
            let counts = (map.draw_count(), groups);
            let by_rows = jackknife_weights_by_rows(psi.view(), centred.view(), lambda, counts, 2).unwrap();
            assert_close(by_rows.leverage, found.leverage, 1e-8, "leverage");
            for (by_columns, by_rows) in without.iter().zip(&by_rows.weights) {
                let scale = by_columns.iter().fold(0.0, |scale: f64, weight| scale.max(weight.abs()));
                assert!((by_columns - by_rows).iter().all(|gap| gap.abs() < 1e-6 * scale), "{set} {lambda}");
            }
            let predictions: Vec<Array2<f64>> = without.iter().map(|weights| psi.dot(weights)).collect();
            for (&row, expected) in indices(&golden["rows"]).iter().zip(&vector(&golden["per_row"])) {
                let values: Vec<f64> = predictions.iter().map(|predictions| predictions[[row, 0]]).collect();
                let mean = values.iter().sum::<f64>() / groups as f64;
                let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
                let found = (groups - 1) as f64 / groups as f64 * squares;
                assert_close(found / expected, 1.0, 1e-6, "variance over groups");
            }
            seen += 1;
        }
    }
    assert!(seen > 5, "{seen}");
}
