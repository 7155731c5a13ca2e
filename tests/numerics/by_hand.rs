//! Exact kernel ridge regression next to a trained model, by a factorisation made here.

use crate::golden::assert_close;
use crate::tables::{RowsInMemory, fit, waves};
use bochner::dataset::{HeldOut, Part, split};
use bochner::linalg::Cholesky;
use bochner::model::{FittedModel, Predictor};
use ndarray::{Array1, Array2, Axis};
use serde_json::json;

/// How far a model of numbers is from the exact method on its validation rows, a fifth of the table that its seed, 0,
/// held out.
pub(crate) fn validation_distances(model: &FittedModel, table: &RowsInMemory) -> Array1<f64> {
    let rows: Vec<&[f64]> = table.cells.chunks(table.columns).collect();
    let parts = split(&vec![Some(0); rows.len()], HeldOut { validation: 0.2, calibration: 0.0, design: 0.0 }, 0);
    let of = |part: Part| -> Vec<&[f64]> {
        rows.iter().zip(&parts).filter(|(_, of)| **of == part).map(|(row, _)| *row).collect()
    };
    let (fitted, validation) = (of(Part::Training), of(Part::Validation));
    assert_eq!(fitted.len(), model.report.training_rows);
    let inputs_of = |rows: &[&[f64]]| model.inputs.prepare(rows.iter().map(|row| &row[..row.len() - 1]));
    let (inputs, held_out) = (inputs_of(&fitted), inputs_of(&validation));
    let kernel = |left: &Array2<f64>, right: &Array2<f64>| {
        let value = |(i, j)| model.map.kernel.evaluate(left.row(i), right.row(j));
        Array2::from_shape_fn((left.nrows(), right.nrows()), value)
    };
    let mut system = kernel(&inputs, &inputs);
    system.diag_mut().mapv_inplace(|value| value + fitted.len() as f64 * model.report.lambda);
    let centred: Array1<f64> = fitted.iter().map(|row| row[row.len() - 1] - model.intercepts[0]).collect();
    let far = kernel(&held_out, &inputs).dot(&Cholesky::factor(system, 2).unwrap().solve(&centred));
    let codes: Vec<&[f64]> = validation.iter().map(|row| &row[..row.len() - 1]).collect();
    let near = Predictor::new(model.clone()).predict(&codes).column(0).to_owned() - model.intercepts[0];
    (near - far).mapv(f64::abs)
}

/// A model without held-out rows: its distance to the exact method is that of both fits without each row in turn, solved
/// anew with nλ and the intercept as they are.
#[test]
fn without_held_out_rows_the_distance_is_that_of_rows_left_out() {
    let table = waves(90);
    for lambda in [1e-2, 1e-5] {
        let raw =
            json!({"lambda": lambda, "features": {"count": 24}, "validation_fraction": 0, "calibration_fraction": 0});
        let model = fit(&table, &raw, 2).unwrap().model;
        assert_eq!((model.report.training_rows, model.report.validation_rows), (90, 0));
        let rows: Vec<&[f64]> = table.cells.chunks(table.columns).collect();
        let inputs = model.inputs.prepare(rows.iter().map(|row| &row[..2]));
        let centred: Array1<f64> = rows.iter().map(|row| row[2] - model.intercepts[0]).collect();
        let psi = model.map.projector::<f64>().transform(inputs.view());
        let value = |(i, j)| model.map.kernel.evaluate(inputs.row(i), inputs.row(j));
        let kernel = Array2::from_shape_fn((90, 90), value);
        let without = |gram: &Array2<f64>, row: usize| {
            let others: Vec<usize> = (0..90).filter(|other| *other != row).collect();
            let mut system = Array2::from_shape_fn((89, 89), |(i, j)| gram[[others[i], others[j]]]);
            system.diag_mut().mapv_inplace(|value| value + 90.0 * lambda);
            let coefficients = Cholesky::factor(system, 1).unwrap().solve(&centred.select(Axis(0), &others));
            gram.row(row).select(Axis(0), &others).dot(&coefficients)
        };
        let approximate = psi.dot(&psi.t());
        let square = |row: usize| (without(&approximate, row) - without(&kernel, row)).powi(2);
        let expected = (0..90).map(square).sum::<f64>() / 90.0;
        let found = model.measured.exact_krr_error.unwrap();
        // The weights come from features in f32.
        assert_close(found / expected, 1.0, 1e-2, "without each row");
        assert!(model.evidence.unwrap().certificate.is_none(), "rows that were fitted certify nothing");
    }
}
