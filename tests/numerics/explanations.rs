//! Importance, partial dependence and contributions against brute force.

use crate::tables::{RowsInMemory, Unwatched, resources, schema, spec};
use bochner::dataset::{Column, ColumnKind, HeldOut, Part, Schema, split};
use bochner::features::Precision;
use bochner::model::{Extras, FittedModel, Predictor, decode, encode};
use bochner::training::train;
use serde_json::{Value, json};

const COLUMNS: usize = 5;

/// a, b, a colour of three levels and a column that says nothing; y = sin(2a) + a·b + a step for each colour. Some cells
/// are missing.
fn table(rows: usize) -> (RowsInMemory, Schema) {
    let cells = (0..rows).flat_map(|row| {
        let at = |step: f64| (row as f64 * step).fract() * 2.0 - 1.0;
        let (a, b, idle) = (at(0.618_034), at(0.414_214), at(0.236_068));
        let colour = (row % 3) as f64;
        let b = if row % 17 == 0 { f64::NAN } else { b };
        [a, b, colour, idle, (2.0 * a).sin() + a * if b.is_nan() { 0.0 } else { b } + 0.7 * colour]
    });
    let table = RowsInMemory { cells: cells.collect(), columns: COLUMNS };
    let mut schema = schema(&table);
    let levels = ["blue", "green", "red"].map(str::to_owned).to_vec();
    schema.columns[2] = Column { kind: ColumnKind::Categorical, levels, ..schema.columns[2].clone() };
    schema.columns[1] = Column { missing: rows.div_ceil(17) as u64, ..schema.columns[1].clone() };
    (table, schema)
}

/// λ is small enough for features in f64, which brute force is compared with to 1e-6.
fn fitted(rows: usize, raw: &Value) -> FittedModel {
    let (table, schema) = table(rows);
    let mut full = json!({
        "explanations": true, "lambda": 1e-8, "features": {"count": 128}, "guarantees": {"exact_rows": 0},
        "validation_fraction": 0.0,
    });
    for (name, value) in raw.as_object().unwrap() {
        full[name] = value.clone();
    }
    train(&table, &schema, "ds-test", &spec(&full), resources(2), &Unwatched).unwrap().model
}

fn codes(table: &RowsInMemory) -> Vec<Vec<f64>> {
    table.cells.chunks(COLUMNS).map(|row| row[..COLUMNS - 1].to_vec()).collect()
}

fn mean_prediction(predictor: &Predictor, rows: &[Vec<f64>]) -> f64 {
    let rows: Vec<&[f64]> = rows.iter().map(Vec::as_slice).collect();
    predictor.predict(&rows).mean().unwrap()
}

#[test]
fn partial_dependence_is_the_mean_prediction_with_the_column_set() {
    let rows = codes(&table(300).0);
    for raw in [
        json!({}),
        json!({"features": {"count": 128, "map": "phase"}}),
        json!({"kernel": {"metric": "full", "bandwidth": 2.0}}),
        json!({"kernel": {"name": "laplace"}}),
    ] {
        let model = fitted(300, &raw);
        assert_eq!(model.precision, Precision::Double);
        let model = decode(&encode(&model).unwrap()).unwrap();
        let found = model.explanations.clone().unwrap();
        assert_eq!((found.rows, found.permuted_rows), (300, 0));
        let predictor = Predictor::new(model);
        for (column, explained) in found.columns.iter().enumerate() {
            assert_eq!(explained.points.len(), if column == 2 { 3 } else { 21 });
            for (point, dependence) in explained.points.iter().zip(&explained.dependence).step_by(5) {
                let mut moved = rows.clone();
                for row in &mut moved {
                    row[column] = *point;
                }
                let expected = mean_prediction(&predictor, &moved);
                assert!((dependence - expected).abs() < 1e-6, "{raw} {column}: {dependence} {expected}");
            }
        }
    }
}

#[test]
fn contributions_add_up_to_the_prediction_minus_the_baseline() {
    let rows = codes(&table(300).0);
    let rows: Vec<&[f64]> = rows.iter().map(Vec::as_slice).take(40).collect();
    for raw in [json!({}), json!({"features": {"count": 128, "map": "phase"}}), json!({"kernel": {"metric": "full"}})] {
        let predictor = Predictor::new(fitted(300, &raw));
        let found = predictor.compute(&rows, Extras { contributions: true, ..Extras::default() });
        let shares = found.contributions.unwrap();
        assert_eq!(shares.shares.dim(), (40, 4));
        for (row, value) in shares.shares.rows().into_iter().zip(&found.values) {
            assert!((row.sum() + shares.baseline[0] - value).abs() < 1e-6, "{raw}");
        }
        // The baseline is a row of numbers at their mean and of the most frequent level.
        let typical = predictor.model().inputs.typical_codes();
        assert!(typical[2] == 0.0 || typical[2] == 1.0 || typical[2] == 2.0, "{typical:?}");
        let at_baseline = predictor.compute(&[&typical], Extras { contributions: true, ..Extras::default() });
        assert!((at_baseline.values[[0, 0]] - shares.baseline[0]).abs() < 1e-6);
        assert!(at_baseline.contributions.unwrap().shares.iter().all(|share| share.abs() < 1e-9));
        // The same bits alone and among others.
        let alone = predictor.compute(&rows[7..8], Extras { contributions: true, ..Extras::default() });
        assert_eq!(alone.contributions.unwrap().shares.row(0), shares.shares.row(7));
    }
}

/// A linear kernel finds y = 2a − b + 0.7·colour exactly, so that permuting column j costs (gⱼ(x′) − gⱼ(x))² with x′ any of the
/// rows: 2 Var gⱼ/Var y on average over permutations, with the variances of the validation rows. A column that the target does
/// not depend on costs nothing.
#[test]
fn permuting_a_column_costs_twice_the_variance_that_it_explains() {
    let (mut table, schema) = table(1200);
    for row in table.cells.chunks_mut(COLUMNS) {
        row[1] = if row[1].is_nan() { 0.5 } else { row[1] };
        row[4] = 2.0 * row[0] - row[1] + 0.7 * row[2];
    }
    let schema = Schema {
        columns: schema.columns.into_iter().map(|column| Column { missing: 0, ..column }).collect(),
        ..schema
    };
    let raw = json!({
        "explanations": true, "kernel": {"name": "linear"}, "features": {"count": 6}, "lambda": 1e-12,
        "validation_fraction": 0.4, "guarantees": {"exact_rows": 0},
    });
    let model = train(&table, &schema, "ds-test", &spec(&raw), resources(2), &Unwatched).unwrap().model;
    let left = 1.0 - model.report.numbers().unwrap().validation_r2.unwrap();
    assert!(left < 1e-9, "the function is not found exactly: {left}");
    let parts = split(&[Some(0); 1200], HeldOut { validation: 0.4, ..HeldOut::default() }, 0);
    let variance = |of: &dyn Fn(&[f64]) -> f64| {
        let held_out = table.cells.chunks(COLUMNS).zip(&parts).filter(|(_, part)| **part == Part::Validation);
        let values: Vec<f64> = held_out.map(|(row, _)| of(row)).collect();
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / values.len() as f64
    };
    let total = variance(&|row| row[4]);
    // The factors of a, b, the colour and the column that says nothing.
    let factors = [2.0, -1.0, 0.7, 0.0];
    let found = model.explanations.unwrap();
    assert_eq!(found.permuted_rows, 480);
    for (column, (explained, factor)) in found.columns.iter().zip(factors).enumerate() {
        let cost = explained.permutation.unwrap();
        let expected = 2.0 * variance(&|row| factor * row[column]) / total;
        let allowed = 4.0 * cost.standard_error + 1e-9;
        assert!((cost.increase - expected).abs() < allowed, "{column}: {cost:?} {expected}");
        assert!(expected == 0.0 || cost.increase > 4.0 * cost.standard_error, "{column}: {cost:?} {expected}");
    }
}

/// The curves of single rows against predictions of the same rows, and the mean of all of them.
#[test]
fn individual_curves_are_predictions_with_the_column_set() {
    for (raw, has_waves) in [(json!({}), true), (json!({"kernel": {"name": "angular"}, "lambda": 1e-3}), false)] {
        let rows = codes(&table(300).0);
        let model = fitted(300, &raw);
        let model = decode(&encode(&model).unwrap()).unwrap();
        let found = model.explanations.clone().unwrap();
        assert_eq!(found.individual_rows, [31, 91, 151, 211, 271]);
        let shown = model.explain().unwrap();
        let predictor = Predictor::new(model);
        for (column, explained) in found.columns.iter().enumerate() {
            assert_eq!(explained.dependence.is_empty(), !has_waves);
            let mut expected = Vec::new();
            for row in &found.individual_rows {
                for point in &explained.points {
                    let mut moved = rows[row - 1].clone();
                    moved[column] = *point;
                    expected.push(predictor.predict(&[&moved])[[0, 0]]);
                }
            }
            assert_eq!(explained.individual, expected, "{raw} {column}");
            let curves = &shown["columns"][column]["individual_curves"];
            assert_eq!(curves["points"].as_array().unwrap().len(), explained.points.len());
            assert_eq!(curves["curves"][1]["row"], 91);
            assert_eq!(curves["curves"][1]["outputs"]["c4"][0], json!(expected[explained.points.len()]));
        }
    }
    // Five rows are all rows: the mean of their curves is the partial dependence.
    let model = fitted(5, &json!({}));
    for explained in model.explanations.unwrap().columns {
        let points = explained.points.len();
        for (point, dependence) in explained.dependence.iter().enumerate() {
            let mean = explained.individual.iter().skip(point).step_by(points).sum::<f64>() / 5.0;
            assert!((mean - dependence).abs() < 1e-6, "{mean} {dependence}");
        }
    }
}

/// Features in single precision lose digits; the shares add up to what is predicted all the same.
#[test]
fn contributions_add_up_in_single_precision_too() {
    let predictor = Predictor::new(fitted(300, &json!({"lambda": 1e-3})));
    assert_eq!(predictor.model().precision, Precision::Mixed);
    let rows = codes(&table(300).0);
    let rows: Vec<&[f64]> = rows.iter().map(Vec::as_slice).collect();
    let found = predictor.compute(&rows, Extras { contributions: true, ..Extras::default() });
    let shares = found.contributions.unwrap();
    for (row, value) in shares.shares.rows().into_iter().zip(&found.values) {
        assert!((row.sum() + shares.baseline[0] - value).abs() < 1e-9, "{row} {value}");
    }
}

#[test]
fn explanations_do_not_depend_on_the_number_of_threads() {
    let threads = [1, 2].map(|threads| {
        let (table, schema) = table(200);
        let raw = json!({"explanations": true, "features": {"count": 32}, "lambda": 1e-3});
        train(&table, &schema, "ds-test", &spec(&raw), resources(threads), &Unwatched).unwrap().model
    });
    assert!(threads[0] == threads[1]);
}

/// Kernels without waves have permutations alone.
#[test]
fn features_that_are_no_waves_have_no_gradients() {
    let model = fitted(300, &json!({"kernel": {"name": "angular"}, "lambda": 1e-3, "validation_fraction": 0.2}));
    let columns = model.explanations.clone().unwrap().columns;
    assert!(columns.iter().all(|column| column.sensitivities.is_empty() && column.dependence.is_empty()));
    assert!(columns.iter().all(|column| column.permutation.is_some()));
    assert!(!model.has_contributions());
    assert!(model.explain().unwrap()["columns"][0]["sensitivity"].is_null());
}
