//! Exact kernel ridge regression next to a trained model, by a factorisation made here.

use crate::tables::RowsInMemory;
use bochner::dataset::{HeldOut, Part, split};
use bochner::linalg::Cholesky;
use bochner::model::{FittedModel, Predictor};
use ndarray::{Array1, Array2};

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
