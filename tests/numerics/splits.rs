//! Splits by time and by group, and cross-validation, against trainings on the same rows by hand.

use crate::tables::{RowsInMemory, fit, resources, schema, spec};
use bochner::dataset::{UnitOrder, fold_units, folds};
use bochner::model::{Measure, Predictor, decode, encode};
use bochner::theory::ours::certificate::COVERED_SHARE;
use bochner::theory::{AssumptionState, RowAccess, RowsSplit, Status, guarantees};
use bochner::training::{Observer, Stage, TrainError, train};
use serde_json::{Value, json};
use std::sync::atomic::{AtomicUsize, Ordering};

const COLUMNS: usize = 4;

/// a, b, the time or group of the row, and y = sin(3a) + b² + a drift.
fn table(rows: usize, key: impl Fn(usize) -> f64) -> RowsInMemory {
    let cells = (0..rows).flat_map(|row| {
        let at = |step: f64| (row as f64 * step).fract() * 2.0 - 1.0;
        let (a, b, key) = (at(0.618_034), at(0.414_214), key(row));
        [a, b, key, (3.0 * a).sin() + b * b + 0.01 * key]
    });
    RowsInMemory { cells: cells.collect(), columns: COLUMNS }
}

/// Times in a mixed order, three rows of each.
fn times(row: usize) -> f64 {
    (row * 211 % 600 / 3) as f64
}

fn rows_of(table: &RowsInMemory, wanted: impl Fn(usize) -> bool) -> RowsInMemory {
    let rows = table.cells.chunks(COLUMNS).enumerate().filter(|(row, _)| wanted(*row));
    RowsInMemory { cells: rows.flat_map(|(_, cells)| cells.to_vec()).collect(), columns: COLUMNS }
}

/// The mean squared error of predictions for all rows of a table; the third column is an input unless rows are split by it.
fn mse(predictor: &Predictor, table: &RowsInMemory) -> f64 {
    let inputs = predictor.model().inputs.encoding.columns.len();
    let codes: Vec<Vec<f64>> = table.cells.chunks(COLUMNS).map(|row| row[..inputs].to_vec()).collect();
    let values = predictor.predict(&codes.iter().map(Vec::as_slice).collect::<Vec<_>>());
    let targets = table.cells.chunks(COLUMNS).map(|row| row[3]);
    values.iter().zip(targets).map(|(value, target)| (value - target).powi(2)).sum::<f64>() / codes.len() as f64
}

/// Everything fixed, and λ so small that features are in f64: a fold differs from a training by hand, whose rows fall into other
/// blocks, by the rounding of f64 alone.
fn settled(split: &Value, more: &Value) -> Value {
    let mut raw = json!({
        "split": split, "lambda": 1e-8, "kernel": {"bandwidth": 1.5}, "features": {"count": 64, "seed": 3},
        "guarantees": {"exact_rows": 0}, "error_bars": false,
    });
    for (name, value) in more.as_object().unwrap() {
        raw[name] = value.clone();
    }
    raw
}

#[test]
fn a_split_by_time_measures_the_error_of_later_rows() {
    let table = table(600, times);
    let raw = settled(&json!({"by": "time", "column": "c2"}), &json!({"calibration_fraction": 0.1}));
    let model = fit(&table, &raw, 2).unwrap().model;
    let report = &model.report;
    assert_eq!((report.training_rows, report.calibration_rows, report.validation_rows), (420, 60, 120));
    let later = rows_of(&table, |row| times(row) >= 160.0);
    assert_eq!(later.cells.len(), 120 * COLUMNS);
    let measured = report.numbers().unwrap().validation_mse.unwrap();
    assert_eq!(model.inputs.encoding.columns.len(), 2, "the column of the split is no input");
    let by_hand = mse(&Predictor::new(model), &later);
    assert!((measured / by_hand - 1.0).abs() < 1e-9, "{measured} {by_hand}");
}

/// Every row of a group has the same inputs up to a little noise, and the target is that of the group: other rows of a group
/// tell the target, other groups do not.
#[test]
fn a_split_at_random_flatters_where_groups_matter() {
    let noise = |row: usize, step: f64| (row as f64 * step).fract();
    let cells = (0..600).flat_map(|row| {
        let group = row / 10;
        let of_group = |step: f64| (group as f64 * step).fract() * 4.0;
        [of_group(0.618_034) + 0.01 * noise(row, 0.7), of_group(0.414_214), group as f64, of_group(7.236_068)]
    });
    let table = RowsInMemory { cells: cells.collect(), columns: COLUMNS };
    let r2 = |split: Value| {
        let raw = json!({"split": split, "features": {"count": 256}, "guarantees": {"exact_rows": 0},
            "kernel": {"bandwidth": 0.3}});
        fit(&table, &raw, 2).unwrap().model.report.numbers().unwrap().validation_r2.unwrap()
    };
    let (at_random, by_group) = (r2(json!({"by": "random"})), r2(json!({"by": "group", "column": "c2"})));
    // With the other rows of its group at hand a row is known; without them its group is new, and a constant would do as well.
    assert!(at_random > 0.9 && by_group < 0.5, "{at_random} {by_group}");
}

/// For each fold, a training by hand on the rows that may be used, and its error on the fold.
#[test]
fn cross_validation_is_a_training_without_each_fold() {
    let table = table(600, times);
    let keys: Vec<f64> = (0..600).map(times).collect();
    for (split, fold_of, first) in [
        (json!({"by": "random"}), folds(&[Some(0); 600], 4, 3), 0),
        (json!({"by": "group", "column": "c2"}), fold_units(&keys, 4, UnitOrder::Random, 3).unwrap(), 0),
        (json!({"by": "time", "column": "c2"}), fold_units(&keys, 5, UnitOrder::Ascending, 3).unwrap(), 1),
    ] {
        let raw = settled(&split, &json!({"cross_validation": 4}));
        let [one, two] = [1, 2].map(|threads| fit(&table, &raw, threads).unwrap().model);
        assert!(one == two, "{split}: threads");
        assert_eq!(decode(&encode(&one).unwrap()).unwrap().cross_validation, one.cross_validation);
        let found = one.cross_validation.unwrap();
        assert_eq!(found.folds.len(), 4);
        let mut errors = Vec::new();
        for (number, fold) in found.folds.iter().enumerate() {
            let tested = number as u32 + first;
            let usable = |own: u32| if first == 1 { own < tested } else { own != tested };
            let (fitted, test) = (
                rows_of(&table, |row| fold_of[row].is_some_and(usable)),
                rows_of(&table, |row| fold_of[row] == Some(tested)),
            );
            assert_eq!((fold.training_rows, fold.test_rows), (fitted.cells.len() / 4, test.cells.len() / 4), "{split}");
            let by_hand = settled(&split, &json!({"validation_fraction": 0.0}));
            let expected = mse(&Predictor::new(fit(&fitted, &by_hand, 1).unwrap().model), &test);
            let (measure, score) = fold.scores[0];
            assert_eq!(measure, Measure::Mse);
            assert!((score.unwrap() / expected - 1.0).abs() < 1e-6, "{split} {number}: {score:?} {expected}");
            errors.push(expected);
        }
        let mean = errors.iter().sum::<f64>() / 4.0;
        let variance = errors.iter().map(|error| (error - mean).powi(2)).sum::<f64>() / 3.0;
        let (found_mean, found_error) = found.mean(Measure::Mse).unwrap();
        assert!((found_mean / mean - 1.0).abs() < 1e-6 && (found_error / (variance / 4.0).sqrt() - 1.0).abs() < 1e-4);
        // The model itself is that of a training without folds.
        let plain = fit(&table, &settled(&split, &json!({})), 2).unwrap().model;
        assert_eq!(plain.weights, two.weights);
    }
}

/// Whoever splits by time or group says that rows depend on it.
#[test]
fn guarantees_that_need_exchangeable_rows_do_not_apply() {
    let table = table(600, times);
    let statuses = |split: Value| {
        let more = json!({"calibration_fraction": 0.2, "guarantees": {"exact_rows": 1000}, "error_bars": true});
        let model = fit(&table, &settled(&split, &more), 2).unwrap().model;
        let model = decode(&encode(&model).unwrap()).unwrap();
        let evidence = model.evidence.clone().unwrap();
        let found = guarantees(&evidence, 0.05, COVERED_SHARE, &model.circumstances(RowAccess::Kept));
        let status = |id: &str| {
            let guarantee = found.guarantees.iter().find(|guarantee| guarantee.id == id).unwrap();
            if guarantee.status == Status::NotApplicable {
                assert!(guarantee.assumptions.iter().any(|own| own.state == AssumptionState::Violated), "{id}");
            }
            guarantee.status
        };
        let ids =
            ["conformal", "bochner.certificate_mean", "bochner.certificate_scaled", "bochner.certificate_tolerance"];
        (evidence.rows_split, ids.map(status), model.has_certified_bars(), model.report.warnings.join(" "))
    };
    let (split, found, bars, warnings) = statuses(json!({"by": "random"}));
    assert_eq!((split, bars), (RowsSplit::AtRandom, true));
    assert!(found.iter().all(|status| matches!(status, Status::Conditional | Status::Vacuous)), "{found:?}");
    assert!(!warnings.contains("guaranteed coverage"), "{warnings}");
    for (by, expected) in [("time", RowsSplit::ByTime), ("group", RowsSplit::ByGroup)] {
        let (split, found, bars, warnings) = statuses(json!({"by": by, "column": "c2"}));
        assert_eq!((split, found, bars), (expected, [Status::NotApplicable; 4], false));
        assert!(warnings.contains("no guaranteed coverage"), "{warnings}");
    }
}

/// Stops at a question that is asked while folds are trained.
struct Impatient {
    folds: AtomicUsize,
}

impl Observer for Impatient {
    fn progress(&self, stage: Stage, _: f64) {
        if stage == Stage::CrossValidate {
            self.folds.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn should_stop(&self) -> bool {
        self.folds.load(Ordering::Relaxed) > 2
    }
}

#[test]
fn cross_validation_can_be_stopped() {
    let table = table(600, times);
    let raw = settled(&json!({"by": "random"}), &json!({"cross_validation": 5}));
    let impatient = Impatient { folds: AtomicUsize::new(0) };
    let stopped = train(&table, &schema(&table), "ds-test", &spec(&raw), resources(1), &impatient);
    assert!(matches!(stopped, Err(TrainError::Stopped)));
}

#[test]
fn too_few_values_are_refused_with_their_number() {
    let few = table(60, |row| (row % 2) as f64);
    for (by, more, words) in [
        (
            "group",
            json!({"cross_validation": 3}),
            "2 different values among the rows with a target that are split; 3 are",
        ),
        ("time", json!({"calibration_fraction": 0.1}), "3 are needed, one for each part"),
    ] {
        let refused = fit(&few, &settled(&json!({"by": by, "column": "c2"}), &more), 1).err().unwrap().to_string();
        assert!(refused.contains(words), "{refused}");
    }
}
