//! The efforts of a spec: what fast is, what a search finds, and what it leaves alone.

use crate::metric::{planted, r2, turned};
use crate::tables::{RowsInMemory, Unwatched, fit, resources, schema, spec, waves};
use bochner::dataset::{Column, ColumnKind, ScalingRule, Schema, Task};
use bochner::model::{FittedModel, MetricKind, decode, encode};
use bochner::theory::Choices;
use bochner::training::train;
use serde_json::{Value, json};

/// A spec without anything that takes long and is not looked at here.
fn balanced(member: &str, value: Value) -> Value {
    let mut raw = json!({
        "effort": "balanced", "features": {"count": 256}, "guarantees": {"exact_rows": 0}, "error_bars": false,
    });
    raw[member] = value;
    raw
}

fn model(table: &RowsInMemory, raw: &Value) -> FittedModel {
    fit(table, raw, 2).unwrap().model
}

/// What an empty spec meant before there were efforts, field by field.
#[test]
fn fast_gives_the_bits_of_the_spec_that_was_the_default_before() {
    let written = json!({
        "effort": "fast", "kernel": {"name": "gaussian", "bandwidth": "mean_distance"}, "lambda": "search",
        "features": {"count": 1024, "map": "pair", "sampling": "plain", "seed": 0}, "scaling": "standard",
        "missing": "mean", "spread": false, "error_bars": true, "updatable": false, "validation_fraction": 0.2,
        "guarantees": {"delta": 0.05, "exact_rows": 5000},
    });
    let table = waves(300);
    let models = [json!({"effort": "fast"}), written].map(|raw| model(&table, &raw));
    assert!(models[0] == models[1] && models[0].search.is_none() && models[0].metric.is_none());
    // The root mean square distance of standardised inputs is √(2d).
    assert!((models[0].report.bandwidth.unwrap() - 2.0).abs() < 1e-12);
    assert_eq!(models[0].map.feature_count(), 1_024);
}

#[test]
fn a_search_finds_the_metric_that_a_table_was_made_with() {
    for (table, chosen) in [(planted(3, 900, 10), MetricKind::Diagonal), (turned(900), MetricKind::Full)] {
        let found = model(&table, &balanced("lambda", json!("search")));
        let fast = model(&table, &json!({"effort": "fast", "features": {"count": 256}}));
        assert!(1.0 - r2(&found) < 0.5 * (1.0 - r2(&fast)), "{} {}", r2(&found), r2(&fast));
        let (search, metric) = (found.search.as_ref().unwrap(), found.metric.as_ref().unwrap());
        let kept = &search.candidates[search.chosen];
        assert!(metric.chosen != MetricKind::None && metric.chosen == kept.metric);
        assert!(chosen == MetricKind::Diagonal || metric.chosen == chosen, "{:?}", metric.chosen);
        assert_eq!(
            (Some(kept.bandwidth), kept.kernel.as_str()),
            (found.report.bandwidth, found.map.kernel.shape().name())
        );
    }
}

/// By its own criterion a search is never worse than what it started from. Of the candidates that are compared on the most
/// features it keeps the best without a metric; noise has no metric.
#[test]
fn a_search_starts_from_fast_and_keeps_the_best_or_a_metric_that_gains() {
    let noise = RowsInMemory {
        cells: planted(5, 400, 3).cells.chunks(6).flat_map(|row| [row[0], row[1], row[2], row[4]]).collect(),
        columns: 4,
    };
    for (table, is_noise) in [(&noise, true), (&waves(400), false)] {
        let found = model(table, &balanced("lambda", json!("search")));
        let search = found.search.unwrap();
        let first = search.finals.map_or(0, |finals| finals.first);
        let (start, again) = (&search.candidates[0], &search.candidates[first]);
        assert_eq!(
            (start.kernel.as_str(), start.scaling, start.metric),
            ("gaussian", ScalingRule::Standard, MetricKind::None)
        );
        assert!((start.bandwidth - (2.0 * (table.columns - 1) as f64).sqrt()).abs() < 1e-9, "{start:?}");
        assert_eq!((again.kernel.as_str(), again.bandwidth), (start.kernel.as_str(), start.bandwidth));
        let kept = &search.candidates[search.chosen];
        assert!(kept.loo_mse <= again.loo_mse && (again.loo_mse - kept.loo_mse - search.gain).abs() < 1e-12);
        let without = search.candidates[first..].iter().filter(|candidate| candidate.metric == MetricKind::None);
        let best = without.map(|candidate| candidate.loo_mse).fold(f64::INFINITY, f64::min);
        assert!(if kept.metric == MetricKind::None { kept.loo_mse == best } else { kept.loo_mse < best }, "{search:?}");
        assert!(!is_noise || kept.metric == MetricKind::None, "{search:?}");
    }
}

/// 600 rows pay for few features in the search; its final has as many as the model, by the system of the rows, and what is kept
/// is no worse there than what effort fast would take.
#[test]
fn the_best_candidates_are_compared_again_on_more_features() {
    let found = model(
        &planted(4, 600, 4),
        &json!({"effort": "balanced", "guarantees": {"exact_rows": 0}, "error_bars": false}),
    );
    let search = found.search.as_ref().unwrap();
    let finals = search.finals.unwrap();
    assert!(finals.features > search.features && search.chosen >= finals.first, "{finals:?}");
    assert_eq!((finals.features, search.rows, search.loo_rows), (found.map.feature_count(), 480, 480));
    assert!(search.candidates[search.chosen].loo_mse <= search.candidates[finals.first].loo_mse, "{search:?}");
    assert_eq!(
        (search.features_at(finals.first - 1), search.features_at(finals.first)),
        (search.features, finals.features)
    );
    let last = &search.candidates[finals.first..];
    assert!((2..=5).contains(&last.len()), "{last:?}");
    assert!(last.iter().any(|candidate| candidate.metric == MetricKind::Diagonal));
    let shown = search.to_json(false, json!({}));
    let features = |place: usize| shown["candidates"][place]["features"].as_u64();
    assert_eq!((features(0), features(search.chosen)), (Some(search.features as u64), Some(finals.features as u64)));
}

#[test]
fn what_a_spec_says_is_not_searched() {
    let table = planted(4, 500, 4);
    let search = |member: &str, value: Value| model(&table, &balanced(member, value)).search;
    let of_kernel = search("kernel", json!({"name": "laplace"})).unwrap();
    assert!(of_kernel.candidates.iter().all(|candidate| candidate.kernel == "laplace"));
    assert!(of_kernel.candidates.iter().any(|candidate| candidate.metric == MetricKind::Diagonal));
    let unscaled = search("scaling", json!("none")).unwrap();
    assert!(unscaled.candidates.iter().all(|candidate| candidate.scaling == ScalingRule::None));
    let kernels = |name: &str| unscaled.candidates.iter().filter(|candidate| candidate.kernel == name).count();
    assert!(["gaussian", "matern", "laplace"].into_iter().all(|name| kernels(name) > 0), "{:?}", unscaled.candidates);
    let without = search("kernel", json!({"metric": "none"})).unwrap();
    assert!(without.candidates.iter().all(|candidate| candidate.metric == MetricKind::None));
    assert!(search("kernel", json!({"bandwidth": 2.5})).is_none());
}

/// A kernel that is best at a λ of its own may be bad at the one that the spec gives.
#[test]
fn candidates_are_compared_at_the_lambda_that_the_spec_gives() {
    let table = planted(4, 500, 4);
    let given = model(&table, &balanced("lambda", json!(0.01)));
    assert_eq!(given.report.lambda, 0.01);
    let search = given.search.as_ref().unwrap();
    assert!(search.candidates.iter().all(|candidate| candidate.lambda == 0.01), "{:?}", search.candidates);
    let fast = model(&table, &json!({"effort": "fast", "features": {"count": 256}, "lambda": 0.01}));
    assert!(r2(&given) > r2(&fast), "{} {}", r2(&given), r2(&fast));
    // The bandwidth that is best at this λ is not the one that is best at any.
    let bandwidth = |lambda: Value| {
        let raw = json!({
            "effort": "fast", "features": {"count": 256}, "kernel": {"bandwidth": "search"}, "lambda": lambda,
            "guarantees": {"exact_rows": 0}, "error_bars": false,
        });
        model(&table, &raw).report.bandwidth.unwrap()
    };
    assert!(bandwidth(json!(0.01)) < bandwidth(json!("search")));
}

#[test]
fn a_search_does_not_depend_on_threads_and_survives_the_file_of_its_model() {
    let table = turned(500);
    let models = [1, 2].map(|threads| fit(&table, &balanced("lambda", json!("search")), threads).unwrap().model);
    assert!(models[0] == models[1]);
    assert!(decode(&encode(&models[0]).unwrap()).unwrap() == models[0]);
    let report = &models[0].describe()["report"]["search"];
    assert_eq!(report["criterion"], "leave_one_out");
    let resolved = spec(&report["resolved"]);
    assert_eq!((resolved.open.kernel, resolved.feature_count), (false, 256));
    let seconds = fit(&table, &balanced("lambda", json!("search")), 2).unwrap().candidate_seconds;
    assert_eq!(seconds.len(), report["candidates"].as_array().unwrap().len());
    assert!(seconds.iter().all(|seconds| *seconds > 0.0));
}

/// Theorems that need a kernel fixed in advance apply only if rows apart chose it.
#[test]
fn design_rows_search_in_the_place_of_the_training_rows() {
    let table = planted(6, 600, 3);
    for (share, choices) in [(0.0, Choices::FromTargets), (0.3, Choices::FromDesignRows)] {
        let found = model(&table, &balanced("design_fraction", json!(share)));
        assert_eq!(found.evidence.unwrap().choices, choices);
        let rows = if share > 0.0 { 180 } else { 480 };
        assert_eq!(found.search.unwrap().rows, rows);
    }
}

/// By ridge regression on the codes of the labels, whose decision values have the gradients.
#[test]
fn labels_are_searched_too() {
    let mut table = planted(8, 700, 6);
    let columns = table.columns;
    table.cells.chunks_mut(columns).for_each(|row| row[columns - 1] = f64::from(u8::from(row[columns - 1] > 0.3)));
    let numbers = schema(&table);
    let mut target = numbers.columns[columns - 1].clone();
    (target.kind, target.levels) = (ColumnKind::Categorical, vec!["no".into(), "yes".into()]);
    let columns: Vec<Column> = numbers.columns[..columns - 1].iter().cloned().chain([target]).collect();
    let schema = Schema { columns, task: Task::Classification, ..numbers };
    let raw = balanced("lambda", json!(1e-4));
    let found = train(&table, &schema, "ds-test", &spec(&raw), resources(2), &Unwatched).unwrap().model;
    let report = &found.describe()["report"]["search"];
    assert_eq!(report["criterion"], "leave_one_out_of_ridge_on_labels");
    let relevances = found.metric.unwrap().relevances;
    assert!(relevances[..2].iter().sum::<f64>() > 0.8, "{relevances:?}");
}

/// The count follows the rows: 1,024 features for a small table, and the spec of the model names the number.
#[test]
fn the_count_by_rows_is_settled_before_training() {
    let raw =
        json!({"effort": "balanced", "kernel": {"bandwidth": 1.0}, "lambda": 1e-3, "guarantees": {"exact_rows": 0}});
    let found = model(&waves(200), &raw);
    assert_eq!(found.map.feature_count(), 1_024);
    assert_eq!(spec(&serde_json::from_str(&found.spec).unwrap()).feature_count, 1_024);
}
