//! Comparisons of samplings next to trainings of their own, and the trials that settle counts and samplings.

use crate::tables::{RowsInMemory, Unwatched, fit, resources, schema, spec, waves};
use bochner::dataset::{HeldOut, Part, Rows, split};
use bochner::model::{FeatureTrial, Predictor, decode, encode};
use bochner::theory::papers::rudi_rosasco::{self, worst_case_rate};
use bochner::theory::{Choices, SamplingKind};
use bochner::training::{CompareSpec, SpecLimits, compare, train};
use serde_json::{Value, json};

fn compare_spec(raw: &Value) -> CompareSpec {
    CompareSpec::check(raw, SpecLimits { feature_count: 4096 }).unwrap()
}

/// The error of a trial is that of a training with the same seed, kernel and λ, on the rows that its split holds out.
#[test]
fn a_trial_is_a_training_of_its_own() {
    let table = waves(400);
    let raw = json!({"samplings": ["plain", "elss1", "eerf"], "features": [10, 20], "repeats": 2,
        "spec": {"lambda": 1e-4, "features": {"seed": 11}}});
    let found = compare(&table, &schema(&table), "waves", &compare_spec(&raw), resources(2), &Unwatched).unwrap();
    for trial in &found.trials {
        let seed = 11 + trial.repetition;
        let raw = json!({"lambda": 1e-4, "validation_fraction": 0.0, "calibration_fraction": 0.2, "error_bars": false,
            "features": {"count": trial.features, "sampling": trial.sampling, "seed": seed},
            "guarantees": {"exact_rows": 0}});
        let predictor = Predictor::new(fit(&table, &raw, 1).unwrap().model);
        let held_out = HeldOut { calibration: 0.2, ..HeldOut::default() };
        let parts = split(&vec![Some(0); 400], held_out, seed);
        let tested: Vec<&[f64]> = table
            .cells
            .chunks(3)
            .zip(&parts)
            .filter(|(_, part)| **part == Part::Calibration)
            .map(|(row, _)| row)
            .collect();
        let square = |row: &&[f64]| (predictor.predict(&[&row[..2]])[[0, 0]] - row[2]).powi(2);
        let rmse = (tested.iter().map(square).sum::<f64>() / tested.len() as f64).sqrt();
        assert_eq!(tested.len(), 80);
        assert!((trial.error / rmse - 1.0).abs() < 1e-9, "{trial:?}: {rmse}");
    }
    assert_eq!(found.trials.len(), 12);
}

#[test]
fn some_rows_are_the_same_share_of_everything_and_the_result_does_not_depend_on_threads() {
    let table = waves(2_000);
    let raw = json!({"samplings": ["plain", "leverage"], "features": [10], "repeats": 2, "rows": 300});
    let run = |threads| {
        compare(&table, &schema(&table), "waves", &compare_spec(&raw), resources(threads), &Unwatched).unwrap()
    };
    let found = run(1);
    assert_eq!(found, run(3));
    let rows = &found.repetitions[0];
    assert_eq!((rows.training_rows, rows.test_rows, rows.unlabelled_rows), (240, 60, 0));
}

/// Rows whose target is missing, NaN here, at inputs that lie elsewhere.
fn with_unlabelled(labelled: usize, unlabelled: usize) -> RowsInMemory {
    let mut table = waves(labelled);
    for i in 0..unlabelled {
        table.cells.extend([3.0 + (i as f64 * 0.618_034).fract(), if i % 5 == 0 { f64::NAN } else { -1.0 }, f64::NAN]);
    }
    table
}

/// By hand: means over training rows and rows without a target; validation rows have no say.
#[test]
fn rows_without_a_target_scale_and_fill_and_are_not_fitted() {
    let table = with_unlabelled(200, 300);
    let mut schema = schema(&table);
    schema.columns[2].missing = 300;
    let raw = json!({"lambda": 1e-3, "features": {"count": 20, "seed": 5}, "guarantees": {"exact_rows": 0}});
    let model = train(&table, &schema, "few", &spec(&raw), resources(1), &Unwatched).unwrap().model;
    assert_eq!((model.report.training_rows, model.report.unlabelled_rows), (160, 300));
    let groups: Vec<Option<u32>> = table.cells.chunks(3).map(|row| (!row[2].is_nan()).then_some(0)).collect();
    let parts = split(&groups, HeldOut { validation: 0.2, ..HeldOut::default() }, 5);
    for input in 0..2 {
        let seen: Vec<f64> = (table.cells.chunks(3).zip(&parts))
            .filter(|(row, part)| matches!(part, Part::Training | Part::Unlabelled) && !row[input].is_nan())
            .map(|(row, _)| row[input])
            .collect();
        let mean = seen.iter().sum::<f64>() / seen.len() as f64;
        let scaling = &model.inputs.scaling;
        assert!((scaling.offset[input] - mean).abs() < 1e-12 && (scaling.fill[input] - mean).abs() < 1e-12);
    }
    // With the inputs scaled as they are, the weights are those of the labelled rows alone.
    let raw = json!({"lambda": 1e-3, "features": {"count": 20, "seed": 5}, "scaling": "none",
        "kernel": {"bandwidth": 1.0}, "guarantees": {"exact_rows": 0}});
    let with = train(&table, &schema, "few", &spec(&raw), resources(1), &Unwatched).unwrap().model;
    assert_eq!(with.weights, fit(&waves(200), &raw, 1).unwrap().model.weights);
    // They score a pool.
    let raw = json!({"lambda": 1e-3, "features": {"count": 20, "seed": 5, "sampling": "elss1"},
        "guarantees": {"exact_rows": 0}});
    let chosen = train(&table, &schema, "few", &spec(&raw), resources(1), &Unwatched).unwrap().model;
    assert_eq!(chosen.selection.unwrap().rows, 160 + 300);
    assert_eq!(table.row_count(), 500);
}

#[test]
fn an_open_count_is_the_smallest_that_is_close_to_the_largest() {
    let table = waves(3_000);
    let raw = json!({"features": {"count": "auto"}, "lambda": 1e-3, "guarantees": {"exact_rows": 0}});
    let model = fit(&table, &raw, 2).unwrap().model;
    let trials = model.trials.clone().unwrap();
    assert_eq!((trials.fitted_rows, trials.tested_rows), (1_800, 600));
    let counts: Vec<usize> = trials.counts.iter().map(|trial| trial.features).collect();
    assert_eq!(counts, [32, 64, 128, 256, 512, 1_024, 1_800]);
    let last = trials.counts.last().unwrap().error;
    let enough = trials.counts.iter().find(|trial| trial.error <= 1.05 * last).unwrap().features;
    assert_eq!(trials.enough, Some(enough));
    let draws = |rows| worst_case_rate(1.0, rows, 0.05).draws;
    let wanted = (enough as f64 * draws(2_400) / draws(1_800)).ceil() as usize;
    assert_eq!(model.map.feature_count(), wanted.next_multiple_of(2));
    assert_eq!(trials.feature_count, model.report.feature_count);
    let evidence = model.evidence.as_ref().unwrap();
    assert_eq!(evidence.choices, Choices::FromTargets, "the rows chose the count");
    let rate = rudi_rosasco::theorem1(evidence, 0.05);
    let c0 = enough as f64 / 2.0 / draws(1_800);
    assert!((rate.inputs["c0"] / c0 - 1.0).abs() < 1e-12 && rate.estimated.contains(&"c0"));
    assert_eq!(decode(&encode(&model).unwrap()).unwrap(), model);
    assert_eq!(encode(&fit(&table, &raw, 1).unwrap().model).unwrap(), encode(&model).unwrap());
    assert_eq!(serde_json::from_str::<Value>(&model.spec).unwrap()["features"]["count"], "auto");
}

#[test]
fn a_searched_sampling_is_the_best_of_those_tried() {
    let table = waves(1_000);
    let raw = json!({"features": {"count": 16, "sampling": "search"}, "guarantees": {"exact_rows": 0}});
    let model = fit(&table, &raw, 2).unwrap().model;
    let trials = model.trials.clone().unwrap();
    let names: Vec<&str> = trials.samplings.iter().map(|trial| trial.sampling.as_str()).collect();
    assert_eq!((names.as_slice(), trials.counts.len()), (&["plain", "leverage", "pooled_ridge"][..], 0));
    let error = |trial: &&FeatureTrial| trial.error;
    let best = trials.samplings.iter().min_by(|a, b| error(a).total_cmp(&error(b))).unwrap();
    assert_eq!(trials.sampling, best.sampling);
    let kind = match best.sampling.as_str() {
        "plain" => SamplingKind::DataIndependent,
        "leverage" => SamplingKind::LeverageWeighted,
        _ => SamplingKind::ChosenByTargets,
    };
    let evidence = model.evidence.as_ref().unwrap();
    assert_eq!(evidence.sampling, kind);
    assert!(matches!(evidence.choices, Choices::FromTargets | Choices::FromDraws), "{:?}", evidence.choices);
    assert_eq!(decode(&encode(&model).unwrap()).unwrap(), model);
}

/// Without rows to try on there is nothing to settle by.
#[test]
fn too_few_rows_for_trials_are_refused_in_words() {
    let refused = fit(&waves(4), &json!({"features": {"count": "auto"}, "validation_fraction": 0.2}), 1);
    let detail = refused.err().unwrap().to_string();
    assert!(detail.contains("too few training rows to try feature counts"), "{detail}");
}
