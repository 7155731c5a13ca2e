//! Label sets, and intervals of several targets at once, held against how often they cover.

use crate::soundness::mixed;
use crate::tables::{RowsInMemory, Unwatched, resources, schema, spec};
use bochner::dataset::{Column, ColumnKind, Schema, Task};
use bochner::model::{FittedModel, Predictor};
use bochner::theory::ours::conformal::conformal_quantile;
use bochner::training::train;
use serde_json::{Value, json};

const DELTA: f64 = 0.1;
const SPLITS: usize = 200;
const FRESH: usize = 1_000;

/// A uniform number for each place of an endless table.
fn uniform(row: usize, place: usize) -> f64 {
    (mixed((8 * row + place) as u64) >> 11) as f64 / (1_u64 << 53) as f64
}

fn fitted(table: &RowsInMemory, schema: &Schema, raw: &Value) -> FittedModel {
    train(table, schema, "ds-test", &spec(raw), resources(1), &Unwatched).unwrap().model
}

/// Between 1 − δ and 1 − δ + 1/(m+1), give or take what the splits and the fresh rows leave to chance: four
/// deviations, where one split's coverage has √(δ(1−δ)/m) and the fresh rows, the same for all, √(δ(1−δ)/1000).
fn assert_covers(coverage: f64, scores: usize) {
    let variance = DELTA * (1.0 - DELTA) * (1.0 / (scores * SPLITS) as f64 + 1.0 / FRESH as f64);
    let chance = 4.0 * variance.sqrt();
    assert!(coverage >= 1.0 - DELTA - chance, "{coverage} {scores}");
    assert!(coverage <= 1.0 - DELTA + 1.0 / (scores + 1) as f64 + chance, "{coverage} {scores}");
}

/// Three classes along a line, each with a chance to be another.
fn classes(first: usize, rows: usize) -> RowsInMemory {
    let cells = (first..first + rows).flat_map(|i| {
        let a = uniform(i, 0);
        let class = (3.0 * (a + 0.3 * (uniform(i, 1) - 0.5)).clamp(0.0, 0.999)).floor();
        let class = if uniform(i, 2) < 0.1 { (class + 1.0) % 3.0 } else { class };
        [a, class]
    });
    RowsInMemory { cells: cells.collect(), columns: 2 }
}

/// Over splits of `rows` rows each: how often label sets cover fresh rows, of how many labels they are, and from how
/// many scores.
fn label_coverage(rows: usize, spec_of: impl Fn(usize) -> Value) -> (f64, f64, usize) {
    let labelled = |table: &RowsInMemory| {
        let mut schema = Schema { task: Task::Classification, ..schema(table) };
        let levels = ["low", "middle", "high"].map(str::to_owned).to_vec();
        schema.columns[1] = Column { kind: ColumnKind::Categorical, levels, ..schema.columns[1].clone() };
        schema
    };
    let fresh = classes(1_000_000, FRESH);
    let inputs: Vec<&[f64]> = fresh.cells.chunks(2).map(|row| &row[..1]).collect();
    let (mut coverage, mut sizes, mut scores) = (0.0, 0.0, 0);
    for split in 0..SPLITS {
        let table = classes(split * rows, rows);
        let model = fitted(&table, &labelled(&table), &spec_of(split));
        let quantile = conformal_quantile(model.calibration_scores().unwrap(), DELTA);
        scores = model.calibration_scores().unwrap().len();
        let labels = model.head.labels().unwrap().clone();
        let predictions = Predictor::new(model).predict(&inputs);
        for (row, values) in fresh.cells.chunks(2).zip(predictions.rows()) {
            let scores = labels.conformal_scores(&values.to_vec());
            let within = |label: usize| scores[label] <= quantile;
            coverage += f64::from(within(row[1] as usize)) / (FRESH * SPLITS) as f64;
            sizes += (0..3).filter(|&label| within(label)).count() as f64 / (FRESH * SPLITS) as f64;
        }
    }
    (coverage, sizes, scores)
}

#[test]
fn label_sets_cover_as_often_as_they_say() {
    let (coverage, sizes, scores) = label_coverage(300, |split| {
        json!({
            "features": {"count": 16, "seed": split}, "lambda": 1e-3, "validation_fraction": 0.0,
            "calibration_fraction": 0.2,
        })
    });
    assert_covers(coverage, scores);
    assert!(sizes < 2.5, "sets of {sizes} of three labels say little");
}

/// A hinge whose λ is searched for spends the validation rows on it, and the slope of its probabilities is made of the
/// calibration rows; scores know nothing of the slope.
#[test]
fn label_sets_of_a_searched_hinge_cover_as_often_as_they_say() {
    let (coverage, sizes, scores) = label_coverage(
        150,
        |split| json!({"learner": "hinge", "features": {"count": 8, "seed": split}, "calibration_fraction": 0.3}),
    );
    assert_eq!(scores, 45);
    assert_covers(coverage, scores);
    assert!(sizes < 2.6, "sets of {sizes} of three labels say little");
}

/// y₁ = sin(3a) + noise, y₂ a thousand times as large and with noise that goes along with that of y₁: one quantile
/// covers both at once.
#[test]
fn intervals_of_several_targets_cover_all_of_them_at_once() {
    let noisy = |first: usize, rows: usize| {
        let cells = (first..first + rows).flat_map(|i| {
            let a = uniform(i, 0) * 2.0 - 1.0;
            let noise = |place: usize| uniform(i, place) + uniform(i, place + 1) - 1.0;
            let (one, other) = (noise(1), noise(3));
            [a, (3.0 * a).sin() + 0.5 * one, 1_000.0 * (a * a + 0.3 * one + 0.3 * other)]
        });
        RowsInMemory { cells: cells.collect(), columns: 3 }
    };
    let fresh = noisy(1_000_000, FRESH);
    let rows: Vec<&[f64]> = fresh.cells.chunks(3).map(|row| &row[..1]).collect();
    let (mut coverage, mut alone, mut scores) = (0.0, 0.0, 0);
    for split in 0..SPLITS {
        let raw = json!({"features": {"count": 16, "seed": split}, "lambda": 1e-3, "guarantees": {"exact_rows": 0}});
        let table = noisy(split * 300, 300);
        let model = fitted(&table, &Schema { targets: vec![1, 2], ..schema(&table) }, &raw);
        let quantile = conformal_quantile(model.calibration_scores().unwrap(), DELTA);
        scores = model.calibration_scores().unwrap().len();
        let scales = model.interval_scales.clone();
        let predictions = Predictor::new(model).predict(&rows);
        for (row, values) in fresh.cells.chunks(3).zip(predictions.rows()) {
            let within = |target: usize| (row[1 + target] - values[target]).abs() <= quantile * scales[target];
            coverage += f64::from(within(0) && within(1)) / (FRESH * SPLITS) as f64;
            alone += f64::from(within(0)) / (FRESH * SPLITS) as f64;
        }
    }
    assert_covers(coverage, scores);
    assert!(alone > coverage, "one target is covered more often than both");
}

/// In units of the predictive spread intervals cover as often, and are wider where less is known.
#[test]
fn scaled_intervals_cover_and_are_wider_where_rows_are_few() {
    // Most rows lie below 0.3: a = u³.
    let thin = |first: usize, rows: usize| {
        let cells = (first..first + rows).flat_map(|i| {
            let a = uniform(i, 0).powi(3);
            [a, (6.0 * a).sin() + 0.3 * (uniform(i, 1) + uniform(i, 2) - 1.0)]
        });
        RowsInMemory { cells: cells.collect(), columns: 2 }
    };
    let fresh = thin(1_000_000, FRESH);
    let rows: Vec<&[f64]> = fresh.cells.chunks(2).map(|row| &row[..1]).collect();
    let (mut coverage, mut wider, mut scores) = (0.0, 0.0, 0);
    for split in 0..SPLITS {
        let raw = json!({
            "features": {"count": 16, "seed": split}, "lambda": 1e-4, "guarantees": {"exact_rows": 0},
            "spread": true, "intervals": "scaled", "error_bars": false,
        });
        let table = thin(split * 100, 100);
        let model = fitted(&table, &schema(&table), &raw);
        assert!(model.scales_intervals());
        let quantile = conformal_quantile(model.calibration_scores().unwrap(), DELTA);
        scores = model.calibration_scores().unwrap().len();
        let predictor = Predictor::new(model);
        let (predictions, spreads) = (predictor.predict(&rows), predictor.spreads(&rows).unwrap());
        for ((row, value), spread) in fresh.cells.chunks(2).zip(&predictions).zip(&spreads) {
            coverage += f64::from((row[1] - value).abs() <= quantile * spread) / (FRESH * SPLITS) as f64;
        }
        let ends = predictor.spreads(&[&[0.05], &[1.0]]).unwrap();
        wider += ends[[1, 0]] / ends[[0, 0]] / SPLITS as f64;
    }
    assert_covers(coverage, scores);
    assert!(wider > 1.02, "{wider}");
}
