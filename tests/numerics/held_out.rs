//! What held-out rows have no part in, and how often certificates that rest on them hold.

use crate::soundness::mixed;
use crate::tables::{RowsInMemory, Unwatched, fit, resources, schema, spec, waves};
use bochner::dataset::{HeldOut, Part, split};
use bochner::model::{FittedModel, Predictor};
use bochner::theory::Choices;
use bochner::theory::ours::binomial::upper_tail;
use bochner::theory::ours::certificate::tolerance_rank;
use bochner::theory::ours::certificate_scaled::BAR_SHARE;
use bochner::training::train;
use ndarray::Array2;
use serde_json::json;

/// Which rows of a table with all targets are in a part, with validation rows alone held out.
fn rows_in(rows: usize, validation: f64, seed: u64, part: Part) -> Vec<usize> {
    let parts = split(&vec![Some(0); rows], HeldOut { validation, calibration: 0.0, design: 0.0 }, seed);
    (0..rows).filter(|&row| parts[row] == part).collect()
}

/// The exact method next to a model is solved by iterations, and where they stop is decided by the training rows: the
/// certificates take its solution for independent of the rows that they rest on.
#[test]
fn held_out_rows_do_not_decide_where_the_exact_solver_stops() {
    let raw = json!({"kernel": {"bandwidth": 1.0}, "lambda": 1e-4, "features": {"count": 128}, "scaling": "none",
        "validation_fraction": 0.1});
    let solved = |scale: f64| {
        let mut table = waves(3_500);
        for row in rows_in(3_500, 0.1, 0, Part::Validation) {
            table.cells[3 * row..3 * row + 2].iter_mut().for_each(|cell| *cell *= scale);
        }
        let model = fit(&table, &raw, 2).unwrap().model;
        let solve = model.measured.exact_krr.clone().unwrap();
        assert!(solve.iterations > 0 && model.report.training_rows == 3_150);
        // The estimate looks at held-out inputs.
        (model.measurements()["jackknife_error"].as_f64(), (solve.iterations, solve.relative_residual.to_bits()))
    };
    let (near, far) = (solved(1.0), solved(3.0));
    assert!(near.0 != far.0, "{near:?}");
    assert_eq!(near.1, far.1);
}

/// The cell that fills a missing one is a mean of training rows: the kernel at a new input with such a cell is not fixed in
/// advance, although no fitted row has one.
#[test]
fn a_missing_cell_in_a_held_out_row_is_filled_by_a_choice() {
    let raw = json!({"kernel": {"bandwidth": 1.0}, "lambda": 0.5, "features": {"count": 16}, "scaling": "none"});
    let choices = |missing: bool| {
        let mut table = waves(200);
        let mut schema = schema(&table);
        if missing {
            table.cells[3 * rows_in(200, 0.2, 0, Part::Validation)[0]] = f64::NAN;
            schema.columns[0].missing = 1;
        }
        let trained = train(&table, &schema, "ds-test", &spec(&raw), resources(1), &Unwatched).unwrap();
        trained.model.evidence.unwrap().choices
    };
    assert_eq!((choices(false), choices(true)), (Choices::FixedInAdvance, Choices::FromInputs));
}

/// y = sin(4a)·b + c² of three uniform inputs and a little noise.
fn noisy(first: usize, rows: usize) -> RowsInMemory {
    let uniform = |row: usize, place: usize| (mixed((8 * row + place) as u64) >> 11) as f64 / (1_u64 << 53) as f64;
    let cells = (first..first + rows).flat_map(|row| {
        let [a, b, c] = [0, 1, 2].map(|place| 2.0 * uniform(row, place) - 1.0);
        [a, b, c, (4.0 * a).sin() * b + c * c + 0.2 * uniform(row, 3)]
    });
    RowsInMemory { cells: cells.collect(), columns: 4 }
}

/// The share of some inputs at which a model is within its certified error bars of the exact method, and the number of
/// rows that the certificate rests on.
fn share_within(model: &FittedModel, known: &RowsInMemory, seed: u64, fresh: &RowsInMemory) -> (f64, usize) {
    let of = |table: &RowsInMemory, rows: &[usize]| {
        let inputs: Vec<&[f64]> = rows.iter().map(|row| &table.cells[4 * row..4 * row + 3]).collect();
        model.inputs.prepare(inputs.into_iter())
    };
    let fitted = rows_in(known.cells.len() / 4, VALIDATION, seed, Part::Training);
    let (inputs, n, kernel) = (of(known, &fitted), fitted.len(), model.map.kernel);
    let matrix = |left: &Array2<f64>| {
        Array2::from_shape_fn((left.nrows(), n), |(i, j)| kernel.evaluate(left.row(i), inputs.row(j)))
    };
    let mut system = matrix(&inputs);
    system.diag_mut().mapv_inplace(|value| value + n as f64 * model.report.lambda);
    let targets = fitted.iter().map(|row| known.cells[4 * row + 3] - model.intercepts[0]).collect();
    let alpha = bochner::linalg::Cholesky::factor(system, 1).unwrap().solve(&ndarray::Array1::from_vec(targets));
    let all: Vec<usize> = (0..fresh.cells.len() / 4).collect();
    let exact = matrix(&of(fresh, &all)).dot(&alpha) + model.intercepts[0];
    let codes: Vec<&[f64]> = fresh.cells.chunks(4).map(|row| &row[..3]).collect();
    let predictor = Predictor::new(model.clone());
    let (near, bars) = (predictor.predict(&codes), predictor.error_bars(&codes).unwrap());
    let certified = model.certified_bars(DELTA).unwrap().unwrap();
    let within = |row: &usize| (near[[*row, 0]] - exact[*row]).abs() <= certified.bars(&[bars[[*row, 0]]])[0];
    let rows = model.evidence.as_ref().unwrap().certificate.as_ref().unwrap().differences.len();
    (all.iter().filter(|row| within(row)).count() as f64 / all.len() as f64, rows)
}

const VALIDATION: f64 = 0.3;
const DELTA: f64 = 0.1;
const MODELS: u64 = 300;

/// Small tables of their own, each with a search for λ: bars that hold for fewer than nine inputs in ten are as rare as the
/// binomial distribution of the held-out rows says, which is at most δ.
#[test]
fn certified_bars_fail_as_often_as_they_may() {
    let fresh = noisy(1_000_000, 3_000);
    let (mut failed, mut rows) = (0, 0);
    for seed in 0..MODELS {
        let known = noisy(seed as usize * 200, 200);
        let raw = json!({"features": {"count": 32, "seed": seed}, "validation_fraction": VALIDATION});
        let model = fit(&known, &raw, 2).unwrap().model;
        let (share, compared) = share_within(&model, &known, seed, &fresh);
        rows = compared;
        failed += u64::from(share < BAR_SHARE);
    }
    let rank = tolerance_rank(rows, BAR_SHARE, DELTA).unwrap();
    // P(Binomial(m, p) ≥ k): as many rows are within the true quantile, so that the bar is below it.
    let chance = upper_tail(rows, rank, BAR_SHARE);
    assert!(rows == 60 && chance <= DELTA, "{rows} {chance}");
    let expected = MODELS as f64 * chance;
    let deviations = (failed as f64 - expected) / (expected * (1.0 - chance)).sqrt();
    println!("{failed} of {MODELS} models failed, {expected:.1} expected: {deviations:.2} standard deviations");
    assert!(deviations.abs() < 4.0, "{failed} of {MODELS} models failed, {expected} expected");
}
