//! Learned metrics: what they find, what they cost in error, and that nothing else changes.

use crate::soundness::mixed;
use crate::tables::{RowsInMemory, Unwatched, fit, resources, schema, spec};
use bochner::dataset::{Column, ColumnKind, Schema, Task};
use bochner::model::{FittedModel, MetricKind, Predictor, decode, encode, to_onnx};
use bochner::theory::Choices;
use bochner::theory::ours::conformal::conformal_quantile;
use bochner::training::train;
use serde_json::{Value, json};

/// Uniform on [−1, 1], for each place of an endless table.
fn uniform(seed: u64, row: usize, place: usize) -> f64 {
    let at = seed * 1_000_003 + (64 * row + place) as u64;
    (mixed(at) >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
}

/// y = sin(2a) + b + b²/2 with a little noise, where a and b stand among `others` inputs that say nothing.
pub(crate) fn planted(seed: u64, rows: usize, others: usize) -> RowsInMemory {
    let cells = (0..rows).flat_map(|row| {
        let inputs: Vec<f64> = (0..others + 2).map(|place| uniform(seed, row, place)).collect();
        let noise = 0.1 * uniform(seed, row, others + 2);
        let target = (2.0 * inputs[0]).sin() + inputs[1] + 0.5 * inputs[1] * inputs[1] + noise;
        inputs.into_iter().chain([target])
    });
    RowsInMemory { cells: cells.collect(), columns: others + 3 }
}

/// y = sin(2(a + b − c)) among inputs of the same size: one direction counts.
pub(crate) fn turned(rows: usize) -> RowsInMemory {
    let cells = (0..rows).flat_map(|row| {
        let inputs: Vec<f64> = (0..6).map(|place| uniform(7, row, place)).collect();
        let target = (2.0 * (inputs[0] + inputs[1] - inputs[2])).sin() + 0.05 * uniform(7, row, 6);
        inputs.into_iter().chain([target])
    });
    RowsInMemory { cells: cells.collect(), columns: 7 }
}

fn with_metric(metric: &str, count: usize) -> Value {
    json!({
        "kernel": {"metric": metric, "bandwidth": "search"}, "scaling": "standard", "features": {"count": count},
        "guarantees": {"exact_rows": 0}, "error_bars": false,
    })
}

pub(crate) fn r2(model: &FittedModel) -> f64 {
    model.report.numbers().unwrap().validation_r2.unwrap()
}

#[test]
fn relevant_inputs_come_first_among_fifty_others() {
    for seed in 0..20 {
        let raw = json!({
            "kernel": {"metric": "diagonal", "bandwidth": 10.0}, "features": {"count": 256, "seed": seed},
            "guarantees": {"exact_rows": 0}, "error_bars": false, "explanations": true,
        });
        let model = fit(&planted(seed, 600, 50), &raw, 2).unwrap().model;
        let (report, explained) = (model.metric.unwrap(), model.explanations.unwrap().columns);
        let sensitivities = explained.iter().map(|column| column.sensitivities[0]).collect();
        let permutations = explained.iter().map(|column| column.permutation.unwrap().increase).collect();
        for importance in [report.relevances.clone(), sensitivities, permutations] {
            let mut ranked: Vec<usize> = (0..52).collect();
            ranked.sort_by(|left, right| importance[*right].total_cmp(&importance[*left]));
            ranked[..2].sort_unstable();
            assert_eq!(ranked[..2], [0, 1], "seed {seed}: {importance:?}");
        }
        assert_eq!(report.chosen, MetricKind::Diagonal);
        assert!(report.effective_rank < 10.0, "{}", report.effective_rank);
    }
}

/// On other rows than those it was learned from.
#[test]
fn a_metric_lowers_the_error_where_inputs_differ_in_relevance() {
    let table = planted(3, 900, 10);
    let [none, diagonal] = ["none", "diagonal"].map(|metric| fit(&table, &with_metric(metric, 256), 2).unwrap().model);
    assert!(1.0 - r2(&diagonal) < 0.5 * (1.0 - r2(&none)), "{} {}", r2(&none), r2(&diagonal));
    let table = turned(900);
    let models = ["none", "diagonal", "full"].map(|metric| fit(&table, &with_metric(metric, 256), 2).unwrap().model);
    let [none, diagonal, full] = models.each_ref().map(|model| 1.0 - r2(model));
    assert!(full < 0.5 * none && full < 0.7 * diagonal, "{none} {diagonal} {full}");
    let searched = fit(&table, &with_metric("search", 256), 2).unwrap().model;
    assert_eq!(searched.metric.as_ref().unwrap().chosen, MetricKind::Full);
    assert_eq!(searched.map, models[2].map, "the same metric as when asked for");
}

/// By its own criterion a metric is never worse than none, and where all inputs matter alike none is kept.
#[test]
fn a_metric_is_kept_only_where_it_gains() {
    let alike = |seed: u64| {
        let cells = (0..500).flat_map(|row| {
            let inputs: Vec<f64> = (0..4).map(|place| uniform(seed, row, place)).collect();
            let target = inputs.iter().map(|x| (2.0 * x).sin()).sum::<f64>() + 0.5 * uniform(seed, row, 4);
            inputs.into_iter().chain([target])
        });
        RowsInMemory { cells: cells.collect(), columns: 5 }
    };
    let mut kept = 0;
    for seed in 0..10 {
        let model = fit(&alike(seed), &with_metric("search", 128), 2).unwrap().model;
        let report = model.metric.unwrap();
        let without = report.rounds[0];
        assert_eq!((without.kind, without.round, report.rounds.len()), (MetricKind::None, 0, 9));
        let of_kind = report.rounds.iter().filter(|round| round.kind == report.chosen);
        let best = of_kind.map(|round| round.loo_mse).fold(f64::INFINITY, f64::min);
        assert!(best <= without.loo_mse, "{report:?}");
        kept += usize::from(report.chosen != MetricKind::None);
    }
    assert!(kept <= 3, "{kept} of 10 metrics of nothing were kept");
}

#[test]
fn a_metric_does_not_depend_on_the_number_of_threads() {
    let table = turned(700);
    for metric in ["diagonal", "full"] {
        let fits = [1, 2].map(|threads| fit(&table, &with_metric(metric, 64), threads).unwrap().model);
        assert!(fits[0] == fits[1], "{metric}");
    }
}

/// A full metric is held by the inputs of training and folded into the frequencies of predictions.
#[test]
fn a_full_metric_survives_its_file() {
    let table = turned(500);
    let model = fit(&table, &with_metric("full", 128), 2).unwrap().model;
    assert!(model.inputs.metric_root.is_some() && model.metric.is_some());
    let read = decode(&encode(&model).unwrap()).unwrap();
    assert!(read == model);
    assert!(to_onnx(&model, "turned", 1).is_ok());
    let rows: Vec<&[f64]> = table.cells.chunks(7).map(|row| &row[..6]).collect();
    let served = Predictor::new(read).predict(&rows);
    let (weights, intercept) = (&model.weights, model.intercepts[0]);
    let inputs = model.inputs.prepare(rows.iter().copied());
    let by_hand = model.map.projector::<f64>().transform(inputs.view()).dot(weights) + intercept;
    let scale = r2(&model).abs();
    assert!(served.iter().zip(&by_hand).all(|(a, b)| (a - b).abs() < 1e-4 * scale), "the folded map is the same map");
}

/// The exact method next to a model has the same metric: the distance that training measures is that to the exact
/// learner, trained by the same spec.
#[test]
fn the_exact_comparison_uses_the_metric() {
    let table = turned(300);
    let raw = |learner: &str| {
        let mut raw = json!({
            "kernel": {"metric": "full", "bandwidth": 2.0}, "lambda": 1e-3, "learner": learner,
            "guarantees": {"exact_rows": 1000},
        });
        if learner == "ridge" {
            raw["features"] = json!({"count": 1024});
        }
        raw
    };
    let [near, far] = ["ridge", "exact_krr"].map(|learner| fit(&table, &raw(learner), 2).unwrap().model);
    assert_eq!(near.inputs, far.inputs, "the same metric");
    let measured = near.measured.exact_krr_error.unwrap();
    let variance = near.evidence.as_ref().unwrap().target_mean_square.unwrap();
    assert!(measured < 1e-2 * variance, "{measured} of {variance}");
    let rows: Vec<&[f64]> = table.cells.chunks(7).map(|row| &row[..6]).collect();
    let gaps = Predictor::new(near).predict(&rows) - Predictor::new(far).predict(&rows);
    let mean = gaps.iter().map(|gap| gap * gap).sum::<f64>() / rows.len() as f64;
    assert!(mean < 4.0 * measured && measured < 4.0 * mean, "{mean} {measured}");
}

/// Labels choose the metric: without design rows no theorem that needs a fixed kernel applies.
#[test]
fn a_metric_is_a_choice_from_the_targets() {
    let table = turned(400);
    for (design, expected) in [(0.0, Choices::FromTargets), (0.3, Choices::FromDesignRows)] {
        let raw = json!({
            "kernel": {"metric": "diagonal", "bandwidth": 2.0}, "lambda": 1e-3, "features": {"count": 64},
            "guarantees": {"exact_rows": 0}, "design_fraction": design,
        });
        let model = fit(&table, &raw, 2).unwrap().model;
        assert_eq!(model.evidence.as_ref().unwrap().choices, expected);
        let rows = if design > 0.0 { model.report.design_rows } else { model.report.training_rows };
        assert_eq!(model.metric.unwrap().rows, rows, "calibration and validation rows take no part");
    }
}

/// Laplace and Cauchy kernels have a relevance for each input, found by differences where frequencies have heavy tails.
#[test]
fn product_kernels_learn_a_diagonal() {
    for kernel in ["laplace", "cauchy", "matern"] {
        let mut raw = with_metric("search", 256);
        raw["kernel"]["name"] = json!(kernel);
        let model = fit(&planted(5, 700, 8), &raw, 2).unwrap().model;
        let report = model.metric.unwrap();
        let shares: f64 = report.relevances[..2].iter().sum();
        assert!(report.chosen != MetricKind::None && shares > 0.6, "{kernel} {:?}", report.relevances);
    }
}

/// The sign of a planted direction, as labels: gradients of the decision values of a least-squares fit.
#[test]
fn classifiers_learn_a_metric_from_their_decision_values() {
    let mut table = planted(9, 800, 12);
    table.cells.chunks_mut(15).for_each(|row| row[14] = f64::from(u8::from(row[14] > 0.2)));
    let mut schema = Schema { task: Task::Classification, ..schema(&table) };
    let levels = vec!["no".to_owned(), "yes".to_owned()];
    schema.columns[14] = Column { kind: ColumnKind::Categorical, levels, ..schema.columns[14].clone() };
    for learner in ["ridge", "logistic"] {
        let raw =
            json!({"learner": learner, "kernel": {"metric": "diagonal"}, "features": {"count": 128}, "lambda": 1e-3});
        let model = train(&table, &schema, "ds-test", &spec(&raw), resources(2), &Unwatched).unwrap().model;
        let report = model.metric.unwrap();
        let shares: f64 = report.relevances[..2].iter().sum();
        assert!(report.chosen == MetricKind::Diagonal && shares > 0.5, "{learner} {:?}", report.relevances);
    }
}

/// Nothing but the one input that varies is left to weigh.
#[test]
fn inputs_that_never_vary_have_no_relevance() {
    let cells = (0..200).flat_map(|row| {
        let x = uniform(1, row, 0);
        [4.0, x, -1.0, (3.0 * x).sin() + 0.1 * uniform(1, row, 1)]
    });
    let table = RowsInMemory { cells: cells.collect(), columns: 4 };
    for metric in ["diagonal", "full", "search"] {
        let model = fit(&table, &with_metric(metric, 64), 2).unwrap().model;
        let report = model.metric.as_ref().unwrap();
        assert_eq!((report.chosen, report.rounds.len()), (MetricKind::None, 1));
        assert_eq!(report.relevances, [0.0, 1.0, 0.0]);
        assert!(r2(&model) > 0.9);
    }
    let missing_signal = (0..120).flat_map(|row| (0..6).map(move |place| uniform(2, row, place)));
    let noise = RowsInMemory { cells: missing_signal.collect(), columns: 6 };
    let model = fit(&noise, &with_metric("search", 64), 2).unwrap().model;
    assert!(model.weights.iter().all(|weight| weight.is_finite()), "noise has gradients too");
}

/// Conformal intervals cover as often as they say: calibration rows take no part in the rounds.
#[test]
fn intervals_cover_with_a_learned_metric() {
    const DELTA: f64 = 0.1;
    const SPLITS: usize = 60;
    const FRESH: usize = 400;
    let fresh = planted(1_000, FRESH, 4);
    let inputs: Vec<&[f64]> = fresh.cells.chunks(7).map(|row| &row[..6]).collect();
    let (mut covered, mut scores) = (0, 0);
    for split in 0..SPLITS {
        let raw = json!({
            "kernel": {"metric": "diagonal", "bandwidth": 3.0}, "lambda": 1e-3,
            "features": {"count": 64, "seed": split}, "validation_fraction": 0.0, "calibration_fraction": 0.3,
            "guarantees": {"exact_rows": 0, "delta": DELTA}, "error_bars": false,
        });
        let model = fit(&planted(split as u64, 130, 4), &raw, 1).unwrap().model;
        let kept = model.calibration_scores().unwrap();
        scores = kept.len();
        let half = conformal_quantile(kept, DELTA) * model.interval_scales[0];
        let values = Predictor::new(model).predict(&inputs);
        let targets = fresh.cells.chunks(7).map(|row| row[6]);
        covered += targets.zip(&values).filter(|(target, value)| (target - *value).abs() <= half).count();
    }
    let coverage = covered as f64 / (SPLITS * FRESH) as f64;
    let variance = DELTA * (1.0 - DELTA) * (1.0 / (scores * SPLITS) as f64 + 1.0 / FRESH as f64);
    let chance = 4.0 * variance.sqrt();
    assert!(coverage >= 1.0 - DELTA - chance, "{coverage}");
    assert!(coverage <= 1.0 - DELTA + 1.0 / (scores + 1) as f64 + chance, "{coverage}");
}
