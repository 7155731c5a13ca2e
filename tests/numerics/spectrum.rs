//! What is told of a spectrum, against the golden eigenvalues, traces and path.

use crate::evidence::ridge_fit;
use crate::golden::{assert_close, load, number, vector};
use crate::tables::{fit, waves};
use bochner::theory::{Evidence, SpectralProfile, spectral_profile};
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
    assert_eq!(told.missing.iter().map(|missing| missing.what).collect::<Vec<_>>(), ["leverage"]);
}
