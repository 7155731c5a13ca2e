//! Artifacts of every format, written once and committed: every later release must read them and predict the same.

use crate::tables::{RowsInMemory, Unwatched, fit, resources, schema, spec, waves};
use bochner::dataset::{ColumnKind, Schema, Task};
use bochner::features::{Frequencies, MapKind, Precision};
use bochner::model::{FittedModel, Head, Predictor, SolverReport, encode, read_artifact, read_header};
use bochner::theory::ScoreUnit;
use bochner::training::train;
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};

fn folder(format: u32) -> PathBuf {
    let artifacts = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/artifacts");
    if format == 1 { artifacts } else { artifacts.join(format!("format-{format}")) }
}

/// The committed artifacts of a format: where they are, their bytes and the model they hold.
fn golden(format: u32) -> Vec<(PathBuf, Vec<u8>, FittedModel)> {
    let paths = fs::read_dir(folder(format)).unwrap().map(|entry| entry.unwrap().path());
    let artifacts = paths.filter(|path| path.extension().is_some_and(|extension| extension == "bochner"));
    let read = |path: PathBuf| {
        let bytes = fs::read(&path).unwrap();
        assert_eq!(read_header(&bytes).unwrap().format_version, format, "{}", path.display());
        let model =
            read_artifact(bytes.as_slice(), 1 << 30).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        (path, bytes, model)
    };
    artifacts.map(read).collect()
}

/// Each artifact lies beside a JSON file with rows of codes and what they were predicted to be when it was written.
#[test]
fn what_an_earlier_release_wrote_is_read_and_predicts_the_same() {
    for (format, fewest) in [(1, 5), (2, 15)] {
        let artifacts = golden(format);
        assert!(artifacts.len() >= fewest, "{} artifacts of format {format}", artifacts.len());
        for (path, _, model) in artifacts {
            let expected = fs::read_to_string(path.with_extension("json")).unwrap();
            let expected: Value = serde_json::from_str(&expected).unwrap();
            let predictor = Predictor::new(model);
            for case in expected.as_array().unwrap() {
                let numbers = |name: &str| -> Vec<f64> {
                    case[name].as_array().unwrap().iter().map(|number| number.as_f64().unwrap_or(f64::NAN)).collect()
                };
                let (row, values) = (numbers("codes"), numbers("values"));
                let found = predictor.predict(&[&row]);
                for (found, expected) in found.iter().zip(&values) {
                    // Cosines of another vector width may differ in the last bits of f32.
                    assert!((found - expected).abs() <= 1e-5 * expected.abs().max(1.0), "{path:?}: {found} {expected}");
                }
                assert_eq!(found.len(), values.len());
            }
        }
    }
}

/// Nothing of a file is lost: format 2 is written again byte for byte, and a file of format 1 gives the committed file
/// of format 2 with the same name.
#[test]
fn what_is_read_is_written_again() {
    for format in [1, 2] {
        for (path, _, model) in golden(format) {
            let same = fs::read(folder(2).join(path.file_name().unwrap())).unwrap();
            assert!(encode(&model).unwrap() == same, "{path:?}");
        }
    }
}

/// A kind of model without a golden file could be broken by a later release unnoticed.
#[test]
fn every_kind_of_model_has_a_golden_file() {
    let models: Vec<FittedModel> = golden(2).into_iter().map(|(_, _, model)| model).collect();
    let has = |name: &str, is_one: &dyn Fn(&FittedModel) -> bool| {
        assert!(models.iter().any(is_one), "no golden artifact with {name}");
    };
    for kind in [MapKind::Pair, MapKind::Phase, MapKind::Sign, MapKind::Spline, MapKind::Linear, MapKind::Points] {
        has(&format!("the map {kind:?}"), &|model| model.map.kind == kind);
    }
    for kernel in ["gaussian", "laplace", "matern", "cauchy", "angular", "spline", "linear"] {
        has(kernel, &|model| model.map.kernel.shape().name() == kernel);
    }
    for precision in [Precision::Mixed, Precision::Double] {
        has(&format!("{precision:?}"), &|model| model.precision == precision);
    }
    for unit in [ScoreUnit::Own, ScoreUnit::TrainingError, ScoreUnit::Spread] {
        let is_scored = |model: &FittedModel| {
            model.calibration_scores().is_some() && model.evidence.as_ref().unwrap().score_unit == unit
        };
        has(&format!("scores in {unit:?}"), &is_scored);
    }
    has("structured frequencies", &|model| matches!(model.map.frequencies, Frequencies::Structured(_)));
    has("a ridge solver", &|model| matches!(model.report.solver, SolverReport::Ridge(_)));
    has("a classifier", &|model| matches!(model.report.solver, SolverReport::Classifier(_)));
    has("an exact solver", &|model| matches!(model.report.solver, SolverReport::Exact(_)));
    has("two targets", &|model| matches!(&model.head, Head::Numbers { targets } if targets.len() == 2));
    has("two labels", &|model| model.head.labels().is_some_and(|labels| labels.labels.len() == 2));
    has("three labels", &|model| model.head.labels().is_some_and(|labels| labels.labels.len() == 3));
    has("class weights", &|model| {
        model.head.labels().is_some_and(|labels| labels.log_weights.iter().any(|weight| *weight != 0.0))
    });
    has("weighted rows", &|model| model.evidence.as_ref().is_some_and(|evidence| evidence.rows_weighted));
    has("column weights", &|model| model.map.scales.is_some());
    has("features that rows chose", &|model| model.selection.is_some());
    has("signs of levels", &|model| model.inputs.encoding.has_signs());
    has("a learning curve", &|model| model.learning_curve.is_some());
    has("a spread", &|model| model.spread.is_some());
    has("error bars", &|model| model.error_bars.is_some());
    has("statistics", &|model| model.statistics.is_some());
    has("no evidence", &|model| model.evidence.is_none());
    has("a certificate", &|model| model.evidence.as_ref().is_some_and(|evidence| evidence.certificate.is_some()));
    has("an exact comparison", &|model| model.measured.exact_krr.is_some());
}

fn numbers(raw: &Value) -> FittedModel {
    let table = waves(60);
    let inputs = if raw["kernel"]["name"] == "spline" { 1 } else { 2 };
    let cells = table.cells.chunks(3).flat_map(|row| row[2 - inputs..].to_vec()).collect();
    fit(&RowsInMemory { cells, columns: inputs + 1 }, raw, 1).unwrap().model
}

/// Models of the waves with a schema that differs from that of [`numbers`].
fn of_schema(raw: &Value, change: impl Fn(&mut RowsInMemory, &mut Schema)) -> FittedModel {
    let mut table = waves(90);
    let mut changed = schema(&table);
    change(&mut table, &mut changed);
    train(&table, &changed, "ds-test", &spec(raw), resources(1), &Unwatched).unwrap().model
}

fn labels(raw: &Value, count: usize) -> FittedModel {
    of_schema(raw, |table, schema| {
        for (row, cells) in table.cells.chunks_mut(3).enumerate() {
            cells[2] = ((row + usize::from(cells[0] > 0.0)) % count) as f64;
        }
        schema.task = Task::Classification;
        schema.columns[2].levels = (0..count).map(|class| format!("class {class}")).collect();
        schema.columns[2].kind = ColumnKind::Categorical;
    })
}

fn kinds() -> Vec<(&'static str, FittedModel)> {
    let four = json!({"count": 4});
    let plain = |kernel: &str| json!({"features": four, "lambda": 0.01, "kernel": {"name": kernel}});
    let classifier = |learner: &str| json!({"learner": learner, "features": four, "lambda": 0.01});
    let mut weighted = json!({"features": four, "sample_weight": "c1", "lambda": 0.01});
    weighted["spread"] = json!(true);
    let mut balanced = classifier("squared_hinge");
    balanced["class_weight"] = json!("balanced");
    balanced["calibration_fraction"] = json!(0.3);
    let without_evidence = FittedModel { evidence: None, ..numbers(&plain("gaussian")) };
    vec![
        ("without-evidence", without_evidence),
        ("certified", numbers(&json!({"features": four, "calibration_fraction": 0.3, "lambda": "certified"}))),
        ("cauchy", numbers(&plain("cauchy"))),
        ("angular", numbers(&plain("angular"))),
        ("linear", numbers(&plain("linear"))),
        ("spline", numbers(&json!({"features": four, "kernel": {"name": "spline", "order": 4}}))),
        (
            "structured",
            numbers(&json!({"features": {"count": 4, "sampling": "structured"}, "kernel": {"name": "matern"}})),
        ),
        ("updatable-phase", numbers(&json!({"features": {"count": 4, "map": "phase"}, "updatable": true}))),
        (
            "scaled-intervals",
            numbers(&json!({"features": four, "spread": true, "error_bars": true, "intervals": "scaled"})),
        ),
        ("double", numbers(&json!({"features": four, "lambda": 1e-9, "guarantees": {"exact_rows": 0}}))),
        (
            "exact-matern",
            numbers(&json!({"learner": "exact_krr", "lambda": 0.1, "kernel": {"name": "matern", "nu": 1.2}})),
        ),
        (
            "weighted",
            of_schema(&weighted, |table, _| table.cells.chunks_mut(3).for_each(|row| row[1] = row[1].abs() + 0.5)),
        ),
        (
            "two-targets",
            of_schema(&json!({"features": four, "calibration_fraction": 0.3}), |_, schema| {
                schema.targets = vec![1, 2];
            }),
        ),
        ("chosen", numbers(&json!({"features": {"count": 4, "sampling": "elss1"}, "lambda": 0.01}))),
        (
            "chosen-phase",
            numbers(&json!({"features": {"count": 4, "map": "phase", "sampling": "capped"}, "lambda": 0.01})),
        ),
        ("ranges", numbers(&plain("gaussian"))),
        (
            "many-levels",
            of_schema(&json!({"features": four, "lambda": 0.01, "learning_curve": true}), |table, schema| {
                table.cells.chunks_mut(3).enumerate().for_each(|(row, cells)| cells[0] = (row * 7 % 25) as f64);
                schema.columns[0].levels = (0..250).map(|level| format!("level {level:03}")).collect();
                schema.columns[0].kind = ColumnKind::Categorical;
            }),
        ),
        ("ridge-labels", labels(&classifier("ridge"), 2)),
        ("squared-hinge", labels(&balanced, 3)),
    ]
}

/// With `BOCHNER_WRITE=1` the missing golden files of format 2 are written; one that exists is never changed.
#[test]
fn every_kind_of_model_has_a_golden_file_of_format_2() {
    let write = std::env::var_os("BOCHNER_WRITE").is_some();
    let converted = golden(1).into_iter().map(|(path, _, model)| {
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        (name, model)
    });
    let trained = kinds().into_iter().map(|(name, model)| (name.to_owned(), model));
    for (name, model) in converted.chain(trained) {
        let path = folder(2).join(&name).with_extension("bochner");
        if path.exists() {
            continue;
        }
        assert!(write, "{} is missing", path.display());
        fs::write(&path, encode(&model).unwrap()).unwrap();
        let width = model.inputs.encoding.columns.len();
        let predictor = Predictor::new(model);
        let cases = [0.0, 0.25, -1.0].map(|first| {
            let codes: Vec<f64> = (0..width).map(|column| if column == 0 { first } else { 1.0 }).collect();
            let values = predictor.predict(&[&codes]).iter().copied().collect::<Vec<f64>>();
            json!({"codes": codes, "values": values})
        });
        fs::write(path.with_extension("json"), format!("{:#}\n", json!(cases))).unwrap();
    }
}
