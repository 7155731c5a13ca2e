//! The spectral profile against the golden eigenvalues, traces and path.

use crate::evidence::ridge_fit;
use crate::golden::{assert_close, data, feature_map, load, number, vector};
use crate::soundness::mixed;
use crate::tables::{RowsInMemory, fit, waves};
use bochner::features::Precision;
use bochner::model::{decode, encode};
use bochner::solver::{Leverage, NormalEquations};
use bochner::theory::{Evidence, SpectralProfile, spectral_profile};
use ndarray::{Array1, Axis};
use serde_json::json;

fn profile(spectrum: Vec<f64>, ridge: f64) -> SpectralProfile {
    let fit = ridge_fit(1_000, (spectrum.len(), spectrum.len()), 2.0, ridge, 1.0);
    spectral_profile(&Evidence { spectrum: Some(spectrum), ..fit })
}

/// Intercept and slope by elimination of the normal equations, and the root mean square that is left.
fn straight_line(points: &[(f64, f64)]) -> (f64, f64) {
    let n = points.len() as f64;
    let sum = |of: fn(f64, f64) -> f64| points.iter().map(|&(x, y)| of(x, y)).sum::<f64>();
    let (x, y, xx, xy) = (sum(|x, _| x), sum(|_, y| y), sum(|x, _| x * x), sum(|x, y| x * y));
    let slope = (n * xy - x * y) / (n * xx - x * x);
    let intercept = (y - slope * x) / n;
    let left: f64 = points.iter().map(|(x, y)| (y - intercept - slope * x).powi(2)).sum();
    (slope, (left / n).sqrt())
}

#[test]
fn dimensions_and_their_exponent_are_those_of_the_golden_spectrum() {
    let mut seen = 0;
    for set in ["diabetes", "syn1d", "syn3d"] {
        for case in load(&format!("features_{set}.json"))["cases"].as_array().unwrap() {
            let spectrum = vector(&case["gram_eigenvalues"]).to_vec();
            let told = profile(spectrum.clone(), number(&case["lam"]));
            let values = told.eigenvalues.unwrap();
            assert!(values.complete && values.count == spectrum.len());
            let curve = told.effective_dimension.unwrap();
            if let Some(expected) = case["effective_dim_features"].as_f64() {
                assert_close(curve.at_lambda / expected, 1.0, 1e-7, "N(lambda)");
            }
            // The path's degrees of freedom are the same sum at other λ.
            for point in case["path"].as_array().unwrap() {
                let other = profile(spectrum.clone(), number(&point["lam"])).effective_dimension.unwrap();
                assert_close(other.at_lambda / number(&point["df"]), 1.0, 1e-6, "df");
                seen += 1;
            }
            let logs: Vec<(f64, f64)> =
                curve.grid.iter().map(|point| (point.lambda.ln(), point.dimension.ln())).collect();
            let (slope, left) = straight_line(&logs);
            let gamma = curve.gamma.unwrap();
            assert_close(gamma.exponent, -slope, 1e-9, "gamma");
            assert_close(gamma.residual, left, 1e-9, "residual");
            assert!((0.0..=1.0).contains(&gamma.quality));
        }
    }
    assert!(seen > 30, "{seen}");
}

/// What training keeps: the eigenvalues of ΨᵀΨ/n, whose sum is the mean of ‖ψ‖², 1 for the pair map.
#[test]
fn a_trained_model_keeps_what_is_told() {
    let model = fit(&waves(1_000), &json!({"features": {"count": 400}, "lambda": 1e-4}), 2).unwrap().model;
    let told = spectral_profile(model.evidence.as_ref().unwrap());
    let values = told.eigenvalues.unwrap();
    assert_eq!((values.count, values.complete), (400, false));
    assert_close(values.sum, 1.0, 1e-5, "trace");
    assert!(told.kernel_dimension.is_some() && told.regime.is_some());
    assert!(told.missing.is_empty(), "{:?}", told.missing);
    // Σ Q_jj = N(λ), so that the largest of 200 draws is at least N(λ) over all of them, and at most 2·200.
    let (curve, leverage) = (told.effective_dimension.unwrap(), told.leverage.unwrap());
    assert_eq!(leverage.points.len(), curve.grid.len());
    for (point, dimension) in leverage.points.iter().zip(&curve.grid) {
        assert_eq!(point.lambda, dimension.lambda);
        assert!((dimension.dimension..=400.0).contains(&point.largest), "{point:?} {dimension:?}");
    }
}

/// m·max Q_jj of a pool against the golden one, and every draw's share against the golden diagonal.
#[test]
fn leverages_are_the_golden_ones() {
    let mut seen = 0;
    for set in ["syn3d", "diabetes", "breast_cancer"] {
        let file = load(&format!("sampling_{set}.json"));
        let (inputs, targets) = data(set);
        let n = inputs.nrows() as f64;
        for case in file["elss"].as_array().unwrap() {
            let mut pool = file.clone();
            pool["map"] = case["map"].clone();
            let psi = feature_map(&pool).projector::<f64>().transform(inputs.view());
            let leverage = Leverage::new(&NormalEquations {
                gram: psi.t().dot(&psi) / n,
                right_side: psi.t().dot(&targets).insert_axis(Axis(1)) / n,
                mean_feature: psi.mean_axis(Axis(0)).unwrap(),
                target_mean_square: Array1::from_elem(1, targets.dot(&targets) / n),
                weight: n,
                sample_count: inputs.nrows(),
            })
            .unwrap();
            let (ridge, draws) = (number(&case["lam"]), file["M0"].as_u64().unwrap() as usize);
            let golden = vector(&case["diag"]);
            let of_draw = |draw: usize| golden.iter().skip(draw).step_by(draws).sum::<f64>();
            for (draw, found) in leverage.of_draws(ridge, draws).iter().enumerate() {
                assert_close(*found, of_draw(draw), 1e-9, "leverage");
            }
            assert_close(leverage.largest(ridge, draws) / number(&case["F_inf"]), 1.0, 1e-8, "F_inf");
            let trace: f64 = leverage.of_draws(ridge, draws).sum();
            assert_close(trace / number(&case["trace"]), 1.0, 1e-8, "trace");
            seen += 1;
        }
    }
    assert!(seen >= 12, "{seen}");
}

/// Inputs that fill a cube of side 2√3, whose columns have variance 1, and a smooth target.
fn cube(dimension: usize, rows: usize) -> RowsInMemory {
    let unit = |number: usize| (mixed(number as u64) >> 11) as f64 / (1_u64 << 53) as f64;
    let row = |i: usize| {
        let inputs: Vec<f64> = (0..dimension).map(|j| 12_f64.sqrt() * (unit(i * dimension + j) - 0.5)).collect();
        let target = inputs.iter().map(|x| (2.0 * x).sin()).sum();
        inputs.into_iter().chain([target]).collect::<Vec<f64>>()
    };
    RowsInMemory { cells: (0..rows).flat_map(row).collect(), columns: dimension + 1 }
}

/// Kernels whose spectra are known, by the G of a trained model in both precisions: smooth ones fall exponentially,
/// that of laplace like a power, and linear ones end.
#[test]
fn regimes_of_known_kernels_are_told_in_both_precisions() {
    let regime = |dimension: usize, kernel: &str, lambda: f64, precision: Precision| {
        let raw = json!({"kernel": {"name": kernel}, "features": {"count": 512}, "lambda": lambda,
            "guarantees": {"exact_rows": 0}});
        let model = fit(&cube(dimension, 4_000), &raw, 2).unwrap().model;
        assert_eq!(model.precision, precision);
        // The stored evidence gives the same profile.
        let kept = decode(&encode(&model).unwrap()).unwrap();
        assert_eq!(kept.evidence, model.evidence);
        spectral_profile(model.evidence.as_ref().unwrap()).regime.unwrap()
    };
    for (lambda, precision) in [(1e-3, Precision::Mixed), (1e-8, Precision::Double)] {
        for dimension in 1..=3 {
            let smooth = regime(dimension, "gaussian", lambda, precision);
            assert_eq!(smooth.kind, "exponential", "d = {dimension}: {smooth:?}");
            let rough = regime(dimension, "laplace", lambda, precision);
            assert_eq!(rough.kind, "polynomial", "d = {dimension}: {rough:?}");
            // One dimension is known in closed form: i^(−2).
            let exponent = rough.fit.unwrap().exponent;
            assert!(dimension > 1 || (1.7..2.4).contains(&exponent), "{exponent}");
        }
    }
    let linear = regime(3, "linear", 1e-3, Precision::Double);
    assert_eq!((linear.kind, linear.rank), ("finite_rank", Some(3)));
}
