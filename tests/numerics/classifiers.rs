//! Training of classifiers on tables in memory.

use crate::tables::{RowsInMemory, Unwatched, resources, schema, spec};
use bochner::dataset::{Column, ColumnKind, Schema, Task};
use bochner::model::{FittedModel, LabelErrors, Predictor, decode, encode};
use bochner::training::{Resources, TrainError, train};
use serde_json::{Value, json};

/// `class_count` classes in a plane: rows of class c lie in a ring of sectors, some labels are wrong.
fn sectors(rows: usize, class_count: usize, noise: f64) -> RowsInMemory {
    let row = |i: usize| {
        let a = (i as f64 * 0.618_034).fract() * 2.0 - 1.0;
        let b = (i as f64 * 0.414_214).fract() * 2.0 - 1.0;
        let turn = (b.atan2(a) / std::f64::consts::TAU + 0.5).min(0.999_999);
        let class = (turn * class_count as f64) as usize;
        let wrong = (i as f64 * 0.754_878).fract() < noise;
        [a, b, ((class + usize::from(wrong)) % class_count) as f64]
    };
    RowsInMemory { cells: (0..rows).flat_map(row).collect(), columns: 3 }
}

fn labelled(table: &RowsInMemory, class_count: usize) -> Schema {
    let mut schema = Schema { task: Task::Classification, ..schema(table) };
    let target = table.columns - 1;
    let levels = (0..class_count).map(|class| format!("class {class:04}")).collect();
    schema.columns[target] = Column { kind: ColumnKind::Categorical, levels, ..schema.columns[target].clone() };
    schema
}

fn try_fit(table: &RowsInMemory, class_count: usize, raw: &Value) -> Result<FittedModel, TrainError> {
    let schema = labelled(table, class_count);
    train(table, &schema, "ds-test", &spec(raw), resources(2), &Unwatched).map(|trained| trained.model)
}

fn fit(table: &RowsInMemory, class_count: usize, raw: &Value) -> FittedModel {
    try_fit(table, class_count, raw).unwrap()
}

fn errors(model: &FittedModel) -> &LabelErrors {
    model.report.labels().unwrap()
}

#[test]
fn every_learner_finds_two_and_four_classes() {
    for class_count in [2, 4] {
        let table = sectors(6_000, class_count, 0.05);
        for learner in ["ridge", "logistic", "hinge", "squared_hinge"] {
            let model = fit(&table, class_count, &json!({"learner": learner, "features": {"count": 128}}));
            let errors = errors(&model);
            eprintln!(
                "XX {learner} {class_count} {:?} {:?} {:?}",
                model.report.lambda, errors.expected_calibration_error, errors.validation_log_loss
            );
            let accuracy = errors.validation_accuracy.unwrap();
            assert!(accuracy > 0.9, "{learner} with {class_count} classes: {accuracy}");
            assert!(errors.validation_log_loss.unwrap() < 0.5, "{learner}: {errors:?}");
            assert!(errors.expected_calibration_error.unwrap() < 0.08, "{learner}: {errors:?}");
            assert_eq!(errors.validation_roc_auc.is_some(), class_count == 2);
            let counted: f64 = errors.confusion.as_ref().unwrap().iter().flatten().sum();
            assert_eq!(counted as usize, model.report.validation_rows);
            // They make the slope of all but the logistic, whose values are log odds, and are scored for label sets.
            assert_eq!(model.report.calibration_rows, 600);
            assert_eq!(model.calibration_scores().unwrap().len(), 600, "{learner}");
            assert_eq!(decode(&encode(&model).unwrap()).unwrap(), model);
        }
    }
}

/// Of every learner of labels a tenth of the rows is for calibration where nothing else is said, and some are scored.
#[test]
fn every_learner_scores_rows_by_default() {
    let table = sectors(600, 2, 0.05);
    for learner in ["ridge", "logistic", "hinge", "squared_hinge"] {
        let model = fit(&table, 2, &json!({"learner": learner, "features": {"count": 16}}));
        assert_eq!(model.report.calibration_rows, 60, "{learner}");
        assert_eq!(model.calibration_scores().unwrap().len(), 60, "{learner}");
    }
}

/// The most probable label is the one decided for, and probabilities sum to one.
#[test]
fn labels_and_probabilities_agree() {
    let table = sectors(1_000, 3, 0.1);
    for learner in ["ridge", "logistic", "hinge", "squared_hinge"] {
        let model = fit(&table, 3, &json!({"learner": learner, "lambda": 1e-4, "features": {"count": 64}}));
        let labels = model.head.labels().unwrap().clone();
        let rows: Vec<&[f64]> = table.cells.chunks(3).map(|row| &row[..2]).collect();
        for values in Predictor::new(model).predict(&rows).rows() {
            let values = values.to_vec();
            let p = labels.probabilities(&values).unwrap();
            assert!((p.iter().sum::<f64>() - 1.0).abs() < 1e-12);
            assert!(p.iter().all(|other| *other <= p[labels.decide(&values)]), "{learner}: {values:?} {p:?}");
        }
    }
}

/// Kept features and features made anew give the same bits; so do one thread and three.
#[test]
fn neither_the_cache_nor_the_threads_change_the_model() {
    let table = sectors(4_000, 3, 0.05);
    let artifact = |learner: &str, threads: usize, cache_bytes: u64| {
        let raw = json!({"learner": learner, "features": {"count": 64}});
        let resources = Resources { cache_bytes, ..resources(threads) };
        let model = train(&table, &labelled(&table, 3), "ds", &spec(&raw), resources, &Unwatched).unwrap().model;
        encode(&model).unwrap()
    };
    for learner in ["logistic", "hinge"] {
        let reference = artifact(learner, 1, 0);
        for (threads, cache_bytes) in [(3, 0), (1, 1 << 30), (2, 500_000)] {
            assert_eq!(artifact(learner, threads, cache_bytes), reference, "{learner} {threads} {cache_bytes}");
        }
    }
}

/// One row in forty is of the second class: unweighted it is hardly ever found; balanced it is, and the
/// probabilities still are those of the rows.
#[test]
fn balanced_classes_find_the_rare_one_and_keep_probabilities_honest() {
    let row = |i: usize| {
        let a = (i as f64 * 0.618_034).fract() * 2.0 - 1.0;
        let rare = (i as f64 * 0.754_878).fract() < 0.025 + 0.05 * a.max(0.0);
        [a, f64::from(u8::from(rare))]
    };
    let table = RowsInMemory { cells: (0..8_000).flat_map(row).collect(), columns: 2 };
    for learner in ["logistic", "ridge", "squared_hinge"] {
        let fit = |class_weight: &str| {
            let raw =
                json!({"learner": learner, "lambda": 1e-3, "class_weight": class_weight, "features": {"count": 32}});
            fit(&table, 2, &raw)
        };
        let (plain, balanced) = (fit("none"), fit("balanced"));
        let found = |model: &FittedModel| errors(model).confusion.as_ref().unwrap()[1][1];
        assert!(found(&plain) < 1.0 && found(&balanced) > 10.0, "{learner}");
        assert!(errors(&balanced).validation_balanced_accuracy > errors(&plain).validation_balanced_accuracy);
        let loss = |model: &FittedModel| errors(model).validation_log_loss.unwrap();
        assert!((loss(&balanced) / loss(&plain) - 1.0).abs() < 0.1, "{learner}: {} {}", loss(&balanced), loss(&plain));
        assert!(errors(&balanced).expected_calibration_error.unwrap() < 0.03, "{learner}");
    }
}

/// Integer weights are repeated rows, for classifiers too.
#[test]
fn sample_weights_are_repeated_rows() {
    let table = sectors(900, 3, 0.1);
    let weight = |i: usize| [1.0, 2.0, 0.0][i % 3];
    let (mut weighted, mut repeated) = (Vec::new(), Vec::new());
    for (i, row) in table.cells.chunks(3).enumerate() {
        weighted.extend([row[0], row[1], weight(i), row[2]]);
        (0..weight(i) as usize).for_each(|_| repeated.extend(row));
    }
    let mut raw = json!({
        "lambda": 1e-3, "kernel": {"bandwidth": 1.0}, "scaling": "none", "validation_fraction": 0.0,
        "calibration_fraction": 0.0, "features": {"count": 32},
    });
    for learner in ["logistic", "hinge", "ridge"] {
        raw["learner"] = json!(learner);
        let repeated = fit(&RowsInMemory { cells: repeated.clone(), columns: 3 }, 3, &raw);
        let mut with_weights = raw.clone();
        with_weights["sample_weight"] = json!("c2");
        let found = fit(&RowsInMemory { cells: weighted.clone(), columns: 4 }, 3, &with_weights);
        let rows: Vec<&[f64]> = table.cells.chunks(3).map(|row| &row[..2]).collect();
        let difference = Predictor::new(found).predict(&rows) - Predictor::new(repeated).predict(&rows);
        let largest = difference.iter().fold(0.0_f64, |most, value| most.max(value.abs()));
        assert!(largest < 0.02, "{learner}: {largest}");
    }
}

#[test]
fn hard_cases_end_with_finite_numbers_or_a_reason() {
    let finite = |model: &FittedModel| model.weights.iter().chain(&model.intercepts).all(|value| value.is_finite());
    // Separable, with a ridge that is next to nothing.
    let separable = RowsInMemory {
        cells: (0..400).flat_map(|i| [f64::from(i), f64::from(u8::from(i >= 200))]).collect(),
        columns: 2,
    };
    for learner in ["logistic", "hinge", "squared_hinge"] {
        let raw = json!({"learner": learner, "lambda": 1e-10, "features": {"count": 32}});
        let model = fit(&separable, 2, &raw);
        assert!(finite(&model), "{learner}");
        assert!(errors(&model).validation_accuracy.unwrap() > 0.97, "{learner}");
    }
    // A class with one row is trained on and never held out.
    let mut lonely = sectors(300, 2, 0.0);
    lonely.cells[2] = 2.0;
    for learner in ["logistic", "hinge", "ridge"] {
        let model = fit(&lonely, 3, &json!({"learner": learner, "features": {"count": 16}}));
        assert!(finite(&model), "{learner}");
        assert_eq!((errors(&model).classes[2].training_rows, errors(&model).classes[2].validation_rows), (1, 0));
    }
    // As many classes as there may be.
    let many = RowsInMemory {
        cells: (0..4_000).flat_map(|i| [f64::from(i % 1_000), f64::from(i % 1_000)]).collect(),
        columns: 2,
    };
    let model = fit(&many, 1_000, &json!({"lambda": 1e-4, "features": {"count": 16}}));
    assert!(finite(&model) && model.weights.dim() == (16, 1_000));
    assert!(errors(&model).confusion.is_none() && errors(&model).validation_accuracy.is_some());
}

/// Weights that leave nothing to fit or to measure on are refused by name, for labels as for numbers.
#[test]
fn weights_that_sum_to_nothing_are_refused() {
    let with_weights = |weight: &dyn Fn(usize) -> f64| {
        let row = |(i, row): (usize, &[f64])| [row[0], row[1], weight(i), row[2]];
        let cells = sectors(200, 2, 0.1).cells.chunks(3).enumerate().flat_map(row).collect();
        let raw = json!({"sample_weight": "c2", "lambda": 1e-3, "features": {"count": 16}});
        try_fit(&RowsInMemory { cells, columns: 4 }, 2, &raw).err().unwrap().to_string()
    };
    assert!(with_weights(&|_| 0.0).contains("sum to 0"));
    assert!(with_weights(&|_| 1e308).contains("overflow when summed"));
}

/// The λ found is the best of its path on the validation rows, and the path goes down from large to small. The path is of
/// other draws of as many features, so the loss of the model itself is near that of its λ, not equal to it.
#[test]
fn the_search_takes_the_smallest_validation_loss() {
    let model = fit(&sectors(2_000, 2, 0.1), 2, &json!({"features": {"count": 128}}));
    let report = model.report.to_json();
    let path = report["lambda_path"].as_array().unwrap();
    let losses: Vec<f64> = path.iter().map(|point| point["validation_loss"].as_f64().unwrap()).collect();
    let best = (0..losses.len()).min_by(|&a, &b| losses[a].total_cmp(&losses[b])).unwrap();
    assert_eq!(path[best]["lambda"], report["lambda"]);
    assert!(path.windows(2).all(|pair| pair[0]["lambda"].as_f64() > pair[1]["lambda"].as_f64()));
    let loss = report["validation_log_loss"].as_f64().unwrap();
    assert!((loss / losses[best] - 1.0).abs() < 0.1, "{loss} {}", losses[best]);
    assert_eq!(report["converged"], true);
}
