//! Degenerate tables: a right answer or a refusal that says why, never NaN.

use crate::tables::{RowsInMemory, fit};
use bochner::model::{FittedModel, Predictor};
use bochner::training::TrainError;
use serde_json::{Value, json};

/// y = x² on n rows, each made of its number by `row`.
fn table<const N: usize>(rows: i32, row: impl Fn(f64) -> [f64; N]) -> RowsInMemory {
    RowsInMemory { cells: (0..rows).flat_map(|i| row(f64::from(i) / f64::from(rows))).collect(), columns: N }
}

/// The model, with everything in it finite.
fn solved(table: &RowsInMemory, spec: &Value) -> FittedModel {
    let model = fit(table, spec, 2).unwrap().model;
    assert!(model.weights.iter().all(|weight| weight.is_finite()), "{:?}", model.report);
    assert!(model.report.numbers().unwrap().training_mse.is_finite());
    let rows: Vec<&[f64]> = table.cells.chunks(table.columns).map(|row| &row[..table.columns - 1]).collect();
    assert!(Predictor::new(model.clone()).predict(&rows).iter().all(|value| value.is_finite()));
    model
}

fn refusal(table: &RowsInMemory, spec: &Value) -> String {
    match fit(table, spec, 1) {
        Err(TrainError::Data(detail)) => detail,
        Err(other) => panic!("{other}"),
        Ok(trained) => panic!("trained: {:?}", trained.model.report),
    }
}

#[test]
fn duplicated_and_collinear_rows_and_columns() {
    let duplicated = table(400, |x| [(x * 10.0).floor(), (x * 10.0).floor().powi(2)]);
    assert!(
        solved(&duplicated, &json!({"features": {"count": 64}})).report.numbers().unwrap().validation_r2.unwrap()
            > 0.99
    );
    let collinear = table(400, |x| [x, 2.0 * x, -3.0 * x + 1.0, x * x]);
    assert!(
        solved(&collinear, &json!({"features": {"count": 64}})).report.numbers().unwrap().validation_r2.unwrap() > 0.99
    );
}

#[test]
fn constant_columns() {
    let one = table(50, |x| [1e12, x, x * x]);
    assert_eq!(solved(&one, &json!({"features": {"count": 16}})).report.constant_inputs, 1);
    assert!(refusal(&table(50, |x| [1.0, 2.0, x]), &json!({})).contains("no input varies"));
    assert!(refusal(&table(50, |x| [x, 5.0]), &json!({})).contains("is the same in every training row"));
}

#[test]
fn fewer_rows_than_features_and_two_rows() {
    let few = table(30, |x| [x, x * x]);
    for lambda in [json!("search"), json!(1e-3), json!(1e-12)] {
        solved(&few, &json!({"lambda": lambda, "features": {"count": 256}}));
    }
    let two = table(2, |x| [x, x * x]);
    assert!(refusal(&two, &json!({})).contains("fewer than two rows"));
    for lambda in [json!("search"), json!("inverse_sqrt_n")] {
        let spec = json!({"lambda": lambda, "validation_fraction": 0, "features": {"count": 8}});
        assert_eq!(solved(&two, &spec).report.numbers().unwrap().validation_mse, None);
    }
}

/// Scaling takes care of units: the same table in other units predicts the same, scaled.
#[test]
fn huge_and_tiny_scales() {
    let plain = table(300, |x| [x, x * x]);
    let scaled = table(300, |x| [1e12 * x, 1e-12 * x * x]);
    let spec = json!({"features": {"count": 64}, "lambda": 1e-5});
    let (plain, scaled) = (solved(&plain, &spec), solved(&scaled, &spec));
    let (r2, scaled_r2) = (
        plain.report.numbers().unwrap().validation_r2.unwrap(),
        scaled.report.numbers().unwrap().validation_r2.unwrap(),
    );
    assert!((r2 - scaled_r2).abs() < 1e-6, "{r2} {scaled_r2}");
    assert!(refusal(&table(20, |x| [1e200 * x, x]), &json!({})).contains("column 'c0'"));
    assert!(refusal(&table(20, |x| [x, 1e200 * x]), &json!({})).contains("target"));
}

#[test]
fn a_vanishing_ridge() {
    for kernel in ["gaussian", "laplace", "linear", "angular"] {
        let table = table(300, |x| [x, (9.0 * x).sin(), x * x]);
        let spec = json!({"lambda": 1e-12, "kernel": {"name": kernel}, "features": {"count": 128}});
        solved(&table, &spec);
    }
}

/// The bandwidth rules need rows that differ.
/// Where the Gram matrix has no factor there is no spread, and the report says so; the weights are there all the same.
#[test]
fn a_vanishing_ridge_leaves_no_spread_and_says_so() {
    let spec = json!({"lambda": 1e-300, "spread": true, "features": {"count": 128}, "guarantees": {"exact_rows": 0}});
    let model = solved(&table(300, |x| [x, x * x]), &spec);
    let warned = model.report.warnings.iter().any(|warning| warning.contains("no spread"));
    assert!(warned != model.spread.is_some() && warned, "{:?}", model.report.warnings);
}

/// The exact method is a yardstick: where it cannot be solved the model is there all the same, and the report says what
/// is missing. As a model of its own it is refused, in words.
#[test]
fn a_vanishing_ridge_leaves_no_comparison_and_says_so() {
    let smooth = table(300, |x| [x, x * x]);
    let model = solved(&smooth, &json!({"lambda": 1e-20, "features": {"count": 32}}));
    let warned = model.report.warnings.iter().find(|warning| warning.contains("No comparison with the exact")).unwrap();
    assert!(warned.contains("lambda = 1e-20 is too small") && !warned.contains("LAPACK"), "{warned}");
    let tried = model.measured.exact_krr.as_ref().unwrap();
    assert!(!tried.converged && tried.relative_residual == 1.0 && model.measured.exact_krr_error.is_none());
    let evidence = model.evidence.as_ref().unwrap();
    assert!(evidence.exact.is_none() && evidence.kernel.is_none() && evidence.certificate.is_none());

    let exact = json!({"learner": "exact_krr", "lambda": 1e-30});
    let Err(TrainError::Solve(cause)) = fit(&smooth, &exact, 1) else { panic!("it was solved") };
    let said = cause.to_string();
    assert!(said.contains("lambda = 1e-30 is too small") && !said.contains("LAPACK"), "{said}");
}

/// Values whose squares underflow vary by nothing that can be computed with.
#[test]
fn differences_too_small_for_squares() {
    let tiny = table(100, |x| [x, 1e-200 * x, x * x]);
    let model = solved(&tiny, &json!({"features": {"count": 64}, "lambda": 1e-6}));
    assert_eq!(model.report.constant_inputs, 1);
}

#[test]
fn most_rows_equal() {
    let mostly_zero = table(400, |x| [f64::from(x > 0.98), x]);
    let spec = json!({"kernel": {"bandwidth": "median"}});
    assert!(refusal(&mostly_zero, &spec).contains("most rows are equal"));
    solved(&mostly_zero, &json!({"features": {"count": 16}}));
}
