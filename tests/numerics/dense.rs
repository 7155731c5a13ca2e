//! `bochner.theorem1_relative` and the certificates against the dense solves of `tests/fixtures/dense.py`.

use crate::evidence::ridge_fit;
use crate::exact::problem;
use crate::golden::{assert_close, data, feature_map, load, number, vector};
use bochner::features::Kernel;
use bochner::solver::{BlockGram, Gram, solve_ridge};
use bochner::theory::ours::certificate::{certificate_mean, certificate_tolerance, tolerance_rank};
use bochner::theory::ours::relative::theorem1_relative;
use bochner::theory::{CertificateEvidence, Evidence, ExactEvidence};
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
        let mut gram = Gram::new(map.feature_count(), 1);
        gram.add(&[BlockGram::of(projector.transform(rows), column, None)], 1);
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
