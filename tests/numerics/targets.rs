//! Several targets, sample weights, and rows added later.

use crate::tables::{RowsInMemory, Unwatched, fit, resources, schema, spec, waves};
use bochner::dataset::{Rows, Schema};
use bochner::model::{FittedModel, Predictor, decode, encode};
use bochner::training::{train, update};
use serde_json::{Value, json};

/// y₁ = sin(3a) + b² and y₂ = 1000·cos(2b) − a, with some noise: targets of very different size.
fn two_targets(rows: usize) -> RowsInMemory {
    let row = |i: usize| {
        let a = (i as f64 * 0.618_034).fract() * 2.0 - 1.0;
        let b = (i as f64 * 0.414_214).fract() * 2.0 - 1.0;
        let noise = (i as f64 * 0.754_878).fract() - 0.5;
        [a, b, (3.0 * a).sin() + b * b + 0.1 * noise, 1000.0 * (2.0 * b).cos() - a + 50.0 * noise]
    };
    RowsInMemory { cells: (0..rows).flat_map(row).collect(), columns: 4 }
}

fn fit_targets(table: &RowsInMemory, targets: &[usize], raw: &Value) -> FittedModel {
    let schema = Schema { targets: targets.to_vec(), ..schema(table) };
    train(table, &schema, "ds-test", &spec(raw), resources(2), &Unwatched).unwrap().model
}

/// The columns of `table`, in this order.
fn columns(table: &RowsInMemory, wanted: &[usize]) -> RowsInMemory {
    let rows = table.cells.chunks(table.columns);
    RowsInMemory { cells: rows.flat_map(|row| wanted.iter().map(|&c| row[c])).collect(), columns: wanted.len() }
}

fn largest_difference(left: &ndarray::Array2<f64>, right: &ndarray::Array2<f64>) -> f64 {
    assert_eq!(left.dim(), right.dim());
    (left - right).iter().fold(0.0, |most, value| value.abs().max(most))
}

/// The estimated mean squared distance to the exact method.
fn jackknife(model: &FittedModel) -> f64 {
    model.evidence.as_ref().unwrap().estimates.jackknife.unwrap()
}

/// Fitted together at one λ, each target gets the weights it would get alone.
#[test]
fn several_targets_are_fitted_as_each_alone() {
    let table = two_targets(1_500);
    let raw = json!({"lambda": 1e-3, "features": {"count": 64}, "spread": true});
    let both = fit_targets(&table, &[2, 3], &raw);
    assert_eq!(both.weights.dim(), (64, 2));
    assert_eq!(
        both.report.numbers().unwrap().targets.iter().map(|target| target.name.as_str()).collect::<Vec<_>>(),
        ["c2", "c3"]
    );
    let mut jackknives = 0.0;
    for (output, column) in [(0, 2), (1, 3)] {
        let alone = fit(&columns(&table, &[0, 1, column]), &raw, 2).unwrap().model;
        jackknives += jackknife(&alone);
        let scale = alone.weights.iter().fold(0.0_f64, |most, weight| most.max(weight.abs()));
        let together = both.weights.column(output).insert_axis(ndarray::Axis(1)).to_owned();
        assert!(largest_difference(&together, &alone.weights) < 1e-9 * scale);
        assert!((both.intercepts[output] - alone.intercepts[0]).abs() < 1e-9 * alone.intercepts[0].abs().max(1.0));
        let (found, expected) = (&both.report.numbers().unwrap().targets[output], &alone.report);
        assert!((found.training_mse / expected.numbers().unwrap().training_mse - 1.0).abs() < 1e-6);
        assert!((found.validation_r2.unwrap() - expected.numbers().unwrap().validation_r2.unwrap()).abs() < 1e-6);
        let row: &[f64] = &[0.2, -0.7];
        let spread = Predictor::new(both.clone()).spreads(&[row]).unwrap()[[0, output]];
        let expected = Predictor::new(alone).spreads(&[row]).unwrap()[[0, 0]];
        assert!((spread / expected - 1.0).abs() < 1e-6);
    }
    assert!((jackknife(&both) / jackknives - 1.0).abs() < 1e-6, "the estimate is summed over the targets");
}

/// The λ of several targets does not depend on their units, and both are learned at it.
#[test]
fn one_lambda_serves_targets_of_any_size() {
    let table = two_targets(2_000);
    let raw = json!({"features": {"count": 64}, "guarantees": {"exact_rows": 0}});
    let found = fit_targets(&table, &[2, 3], &raw);
    assert!(
        found.report.numbers().unwrap().targets.iter().all(|target| target.validation_r2.unwrap() > 0.95),
        "{:?}",
        found.report
    );
    let mut other_units = two_targets(2_000);
    other_units.cells.chunks_mut(4).for_each(|row| row[2] *= 1e6);
    assert_eq!(fit_targets(&other_units, &[2, 3], &raw).report.lambda, found.report.lambda);
    let again = decode(&encode(&found).unwrap()).unwrap();
    assert_eq!(found, again);
}

/// Integer weights are repeated rows; a weight of zero is no row.
#[test]
fn a_weight_of_two_is_the_row_twice() {
    let weight = |i: usize| [1.0, 2.0, 0.0, 1.0][i % 4];
    let table = waves(1_200);
    let mut weighted = Vec::new();
    let mut repeated = Vec::new();
    for (i, row) in table.cells.chunks(3).enumerate() {
        weighted.extend([row[0], row[1], weight(i), row[2]]);
        (0..weight(i) as usize).for_each(|_| repeated.extend(row));
    }
    let fixed = json!({
        "lambda": 1e-7, "kernel": {"bandwidth": 1.0}, "scaling": "none", "validation_fraction": 0.0,
        "features": {"count": 48}, "guarantees": {"exact_rows": 0},
    });
    let repeated = fit(&RowsInMemory { cells: repeated, columns: 3 }, &fixed, 2).unwrap().model;
    let mut raw = fixed.clone();
    raw["sample_weight"] = json!("c2");
    let found = fit(&RowsInMemory { cells: weighted, columns: 4 }, &raw, 2).unwrap().model;
    assert_eq!(found.inputs.input_dim(), 2);
    assert!(largest_difference(&found.weights, &repeated.weights) < 1e-6 * norm(&repeated.weights));
    assert!((found.intercepts[0] - repeated.intercepts[0]).abs() < 1e-12);
    assert!(
        (found.report.numbers().unwrap().training_mse / repeated.report.numbers().unwrap().training_mse - 1.0).abs()
            < 1e-6
    );
    assert!(found.evidence.unwrap().rows_weighted);
}

fn norm(matrix: &ndarray::Array2<f64>) -> f64 {
    matrix.iter().map(|value| value * value).sum::<f64>().sqrt()
}

/// Weighted leave-one-out: rows of weight zero do not matter to the λ found, nor does the unit of the
/// weights.
#[test]
fn the_lambda_search_minds_the_weights() {
    let noisy = |i: usize| (i as f64 * 0.569_840).fract() - 0.5;
    let table = waves(2_000);
    let weighted = |weight: &dyn Fn(usize) -> f64, junk: f64| {
        let row = |(i, row): (usize, &[f64])| {
            let target = if weight(i) == 0.0 { junk * noisy(i) } else { row[2] + 0.2 * noisy(i) };
            [row[0], row[1], weight(i), target]
        };
        let cells = table.cells.chunks(3).enumerate().flat_map(row).collect();
        let raw = json!({
            "sample_weight": "c2", "kernel": {"bandwidth": 1.0}, "scaling": "none", "features": {"count": 64},
        });
        fit(&RowsInMemory { cells, columns: 4 }, &raw, 2).unwrap().model.report
    };
    let some = |i: usize| if i.is_multiple_of(3) { 0.0 } else { 1.0 };
    let (clean, junk) = (weighted(&some, 0.0), weighted(&some, 100.0));
    assert_eq!(clean.lambda, junk.lambda);
    let ratio = junk.ridge().unwrap().loo_mse.unwrap() / clean.ridge().unwrap().loo_mse.unwrap();
    assert!((ratio - 1.0).abs() < 1e-6, "{ratio}");
    let scaled = weighted(&|i| 1e6 * some(i), 0.0);
    assert_eq!(scaled.lambda, clean.lambda);
}

#[test]
fn weights_that_sum_to_zero_are_refused() {
    let cells = waves(50).cells.chunks(3).flat_map(|row| [row[0], row[1], 0.0, row[2]]).collect();
    let error = fit(&RowsInMemory { cells, columns: 4 }, &json!({"sample_weight": "c2"}), 1).err().unwrap();
    assert!(error.to_string().contains("sum to 0"), "{error}");
}

fn rows_of(table: &RowsInMemory, range: std::ops::Range<usize>) -> RowsInMemory {
    let cells = table.cells[range.start * table.columns..range.end * table.columns].to_vec();
    RowsInMemory { cells, columns: table.columns }
}

fn add(model: FittedModel, rows: &RowsInMemory, schema: &Schema, raw: &Value) -> FittedModel {
    update(model, 1, &spec(raw), (rows, schema, "ds-more"), 2, &Unwatched).unwrap().model
}

/// Rows added in two steps give the model of all rows at once: to rounding, which is that of f32 products
/// for the larger λ.
#[test]
fn an_updated_model_is_the_model_of_all_rows() {
    for (lambda, tolerance) in [(json!(1e-7), 1e-8), (json!(1e-3), 2e-5), (json!("inverse_sqrt_n"), 2e-5)] {
        let table = two_targets(3_000);
        let raw = json!({
            "lambda": lambda, "kernel": {"bandwidth": 1.2}, "scaling": "none", "validation_fraction": 0.0,
            "features": {"count": 64}, "updatable": true, "spread": true, "guarantees": {"exact_rows": 0},
        });
        let all = fit(&table, &raw, 2).unwrap().model;
        let first = fit(&rows_of(&table, 0..1_100), &raw, 2).unwrap().model;
        let again = decode(&encode(&first).unwrap()).unwrap();
        assert_eq!(first, again);
        let second = add(again, &rows_of(&table, 1_100..1_900), &schema(&table), &raw);
        let updated = add(second, &rows_of(&table, 1_900..3_000), &schema(&table), &raw);
        let difference = largest_difference(&updated.weights, &all.weights) / norm(&all.weights);
        assert!(difference < tolerance, "{lambda}: {difference:e}");
        assert!((updated.intercepts[0] / all.intercepts[0] - 1.0).abs() < 1e-10);
        assert_eq!((updated.report.training_rows, updated.report.added_rows), (3_000, Some(1_100)));
        assert_eq!(updated.report.lambda, all.report.lambda);
        assert!(
            (updated.report.numbers().unwrap().training_mse / all.report.numbers().unwrap().training_mse - 1.0).abs()
                < 1e-4
        );
        let (found, expected) = (updated.spread.unwrap(), all.spread.unwrap());
        assert!((found.noise_variances[0] / expected.noise_variances[0] - 1.0).abs() < 1e-4);
    }
}

/// Columns may come in another order, several targets and weights included; λ is found by GCV.
#[test]
fn an_update_finds_its_columns_by_name() {
    let table = two_targets(2_400);
    let weighted: Vec<f64> = table.cells.chunks(4).flat_map(|row| [row[0], row[1], row[2], row[3], 2.0]).collect();
    let table = RowsInMemory { cells: weighted, columns: 5 };
    let raw = json!({"features": {"count": 64}, "updatable": true, "sample_weight": "c4", "lambda": "search"});
    let with_targets = |table: &RowsInMemory| Schema { targets: vec![2, 3], ..schema(table) };
    let first = train(&rows_of(&table, 0..1_200), &with_targets(&table), "ds", &spec(&raw), resources(2), &Unwatched)
        .unwrap()
        .model;
    let rest = rows_of(&table, 1_200..2_400);
    let straight = add(first.clone(), &rest, &with_targets(&rest), &raw);
    let order = [3, 4, 1, 0, 2];
    let turned = columns(&rest, &order);
    let mut turned_schema = with_targets(&rest);
    turned_schema.columns = order.iter().map(|&c| turned_schema.columns[c].clone()).collect();
    turned_schema.targets = vec![0];
    let found = add(first, &turned, &turned_schema, &raw);
    assert_eq!(found.weights, straight.weights);
    assert!(
        found.report.numbers().unwrap().targets.iter().all(|target| target.validation_r2.unwrap() > 0.95),
        "{:?}",
        found.report
    );
    assert_eq!(found.report.ridge().unwrap().loo_mse, None);
    assert!(turned.row_count() == 1_200 && found.report.ridge().unwrap().lambda_path.len() > 5);
}
