//! `bochner.theorem1_relative` and the certificates against the dense solves of `tests/fixtures/dense.py`.

use crate::evidence::ridge_fit;
use crate::exact::problem;
use crate::golden::{assert_close, data, feature_map, load, number, vector};
use bochner::features::Kernel;
use bochner::model::ErrorBars;
use bochner::solver::{GramSums, jackknife_weights, solve_ridge};
use bochner::theory::ours::betting::largest_mean_by_betting;
use bochner::theory::ours::certificate::{certificate_mean, certificate_tolerance, largest_mean, tolerance_rank};
use bochner::theory::ours::certificate_scaled::{CertifiedBars, scale};
use bochner::theory::ours::relative::theorem1_relative;
use bochner::theory::{CertificateDetail, CertificateEvidence, Evidence, ExactEvidence, ScaledDifferences};
use ndarray::{Axis, s};

#[test]
fn the_relative_bound_is_that_of_a_dense_solve() {
    let (inputs, targets) = data("syn3d");
    let file = load("dense_syn3d.json");
    let kernel = Kernel::Gaussian { bandwidth: number(&file["sigma"]) };
    for case in file["relative"].as_array().unwrap() {
        let ridge = number(&case["lam"]);
        let exact = problem(kernel, inputs.view(), targets.view().insert_axis(Axis(1)), ridge);
        let exact = exact.solve(None, &|| true).unwrap();
        let solved = ExactEvidence {
            quadratic_form: exact.quadratic_form,
            fitted_square: Some(exact.fitted_square),
            fitted_form: None,
            relative_residual: exact.evidence.relative_residual,
            held_out_error: None,
        };
        let fit = ridge_fit(inputs.nrows(), (40, 20), 1.0, ridge, 0.16);
        let found = theorem1_relative(&Evidence { exact: Some(solved), ..fit }, number(&case["delta"]));
        let close = |found: f64, key: &str| assert_close(found / number(&case[key]), 1.0, 1e-8, key);
        close(found.value.unwrap(), "sharp");
        close(found.inputs["plain_bound"], "plain");
        close(found.inputs["t"], "t");
    }
}

#[test]
fn the_certificates_are_those_of_dense_solves() {
    let (inputs, targets) = data("syn3d");
    let file = load("dense_syn3d.json");
    let map = feature_map(&load("features_syn3d.json")["cases"][file["case"].as_u64().unwrap() as usize]);
    let projector = map.projector::<f64>();
    for case in file["certificates"].as_array().unwrap() {
        let (ridge, training) = (number(&case["lam"]), case["training"].as_u64().unwrap() as usize);
        let (rows, held_out) = (inputs.slice(s![..training, ..]), inputs.slice(s![training.., ..]));
        let column = targets.slice(s![..training]).insert_axis(Axis(1));
        let exact = problem(map.kernel, rows, column, ridge).solve(None, &|| true).unwrap();
        let gram = GramSums::of(projector.transform(rows), column, None).unwrap().finish();
        let weights = solve_ridge(&gram.into_normal_equations(), ridge, 2).unwrap().weights;
        let difference = projector.transform(held_out).dot(&weights) - exact.predict(held_out);
        let mut differences: Vec<f64> = difference.iter().map(|value| value.abs()).collect();
        differences.sort_by(f64::total_cmp);
        for (found, expected) in differences.iter().zip(&vector(&case["differences"])) {
            assert_close(*found, *expected, 1e-9, "difference");
        }
        let certificate = CertificateEvidence {
            differences,
            clipped_mean_square: number(&case["clipped_mean_square"]),
            clipped_square_variance: 0.0,
            clip_width: number(&case["clip_width"]),
            solver_slack: 0.0,
            detail: None,
        };
        let fit = ridge_fit(training, (map.feature_count(), map.feature_count() / 2), 1.0, ridge, 0.16);
        let evidence = Evidence { certificate: Some(certificate), ..fit };
        let (delta, share) = (number(&case["delta"]), number(&case["share"]));
        let rank = tolerance_rank(inputs.nrows() - training, share, delta);
        assert_eq!(rank, case["rank"].as_u64().map(|rank| rank as usize));
        let close = |found: Option<f64>, key: &str| assert_close(found.unwrap() / number(&case[key]), 1.0, 1e-7, key);
        close(certificate_mean(&evidence, delta).value, "mean");
        close(certificate_tolerance(&evidence, share, delta).value, "tolerance");
    }
}

/// Error bars, ratios, their certified factor and the bound by betting, from the values of `tests/fixtures/scaled.py`.
#[test]
fn certified_error_bars_are_those_of_dense_solves() {
    let (inputs, targets) = data("syn3d");
    let map =
        feature_map(&load("features_syn3d.json")["cases"][load("dense_syn3d.json")["case"].as_u64().unwrap() as usize]);
    let features = map.projector::<f64>().transform(inputs.view());
    for case in load("scaled_syn3d.json")["certificates"].as_array().unwrap() {
        let (ridge, training) = (number(&case["lam"]), case["training"].as_u64().unwrap() as usize);
        let rows = inputs.slice(s![..training, ..]);
        let column = targets.slice(s![..training]).insert_axis(Axis(1));
        let exact = problem(map.kernel, rows, column, ridge).solve(None, &|| true).unwrap();
        let gram = GramSums::of(features.slice(s![..training, ..]).to_owned(), column, None).unwrap().finish();
        let equations = gram.into_normal_equations();
        let weights = solve_ridge(&equations, ridge, 1).unwrap().weights;
        let without = jackknife_weights(&equations, ridge, (map.draw_count(), 10), 1).unwrap().weights;
        let bars = ErrorBars::new(&without).unwrap();
        let bar = |row: usize| bars.standard_deviations(features.row(row))[0];
        let mean_square = (0..training).map(|row| bar(row).powi(2)).sum::<f64>() / training as f64;
        assert_close(mean_square / number(&case["mean_square"]), 1.0, 1e-7, "mean square");
        let gaps = features.dot(&weights) - exact.predict(inputs.view());
        let held_out = training..inputs.nrows();
        for (row, expected) in held_out.clone().zip(&vector(&case["bars"])) {
            assert_close(bar(row) / expected, 1.0, 1e-6, "error bar");
        }
        let mut ratios: Vec<f64> = held_out.map(|row| gaps[[row, 0]].abs() / scale(bar(row), mean_square)).collect();
        ratios.sort_by(f64::total_cmp);
        let (squares, width) = (vector(&case["clipped_squares"]).to_vec(), number(&case["clip_width"]));
        let certificate = CertificateEvidence {
            differences: ratios.clone(),
            clipped_mean_square: squares.iter().sum::<f64>() / squares.len() as f64,
            clipped_square_variance: 0.0,
            clip_width: width,
            solver_slack: 0.25,
            detail: Some(CertificateDetail {
                clipped_squares: squares.clone(),
                scaled: Some(ScaledDifferences { ratios, mean_squares: vec![mean_square] }),
                validation_rows: 50,
                calibration_rows: 0,
                unlabelled_rows: 0,
            }),
        };
        let (delta, share) = (number(&case["delta"]), number(&case["share"]));
        let made = CertifiedBars::new(&certificate, share, delta).unwrap().unwrap();
        assert_close(made.factor / number(&case["factor"]), 1.0, 1e-6, "factor");
        let first = bar(training);
        let expected = number(&case["factor"]) * (first * first + 0.3 * mean_square).sqrt() + 0.25;
        assert_close(made.bars(&[first])[0] / expected, 1.0, 1e-6, "certified bar");
        let values: Vec<f64> = squares.iter().map(|square| square / (width * width)).collect();
        assert_close(largest_mean_by_betting(&values, delta) / number(&case["betting"]), 1.0, 1e-9, "betting");
        // The certificate takes the smaller bound, each at half of δ.
        let evidence =
            Evidence { certificate: Some(certificate.clone()), ..ridge_fit(training, (40, 20), 1.0, ridge, 0.16) };
        let mean = certificate.clipped_mean_square / (width * width);
        let both = largest_mean_by_betting(&values, delta / 2.0).min(largest_mean(50, mean, delta / 2.0));
        let bound = (width * both.sqrt() + 0.25).powi(2).min(width * width);
        assert_close(certificate_mean(&evidence, delta).value.unwrap() / bound, 1.0, 1e-12, "mean");
    }
}
