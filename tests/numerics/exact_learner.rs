//! The exact kernel method as a model: golden coefficients, a dense twin, the system it claims to solve.

use crate::golden::{assert_close, data, kernel, load, number, vector};
use crate::tables::{RowsInMemory, Unwatched, fit, resources, schema, spec, waves};
use bochner::dataset::Task;
use bochner::features::{Kernel, MapKind};
use bochner::model::{FittedModel, Predictor, SolverReport, decode, encode};
use bochner::theory::{RowAccess, Status, guarantees};
use bochner::training::{Observer, SpecLimits, Stage, TrainError, TrainSpec, estimate_memory, train};
use ndarray::{Array2, ArrayView1};
use serde_json::{Value, json};
use std::sync::atomic::{AtomicBool, Ordering};

/// A golden data set as a table.
fn table(set: &str) -> RowsInMemory {
    let (inputs, targets) = data(set);
    let rows = inputs.rows().into_iter().zip(&targets);
    let cells = rows.flat_map(|(row, target)| row.iter().copied().chain([*target]).collect::<Vec<_>>());
    RowsInMemory { cells: cells.collect(), columns: inputs.ncols() + 1 }
}

/// On the inputs as they are and all rows.
fn as_given(kernel: &Value, lambda: &Value) -> Value {
    json!({"learner": "exact_krr", "kernel": kernel, "lambda": lambda, "scaling": "none", "validation_fraction": 0.0})
}

fn report(model: &FittedModel) -> &bochner::model::ExactReport {
    let SolverReport::Exact(report) = &model.report.solver else { panic!("{:?}", model.report.solver) };
    report
}

/// Solves A·x = b by elimination with pivots.
fn eliminate(mut a: Array2<f64>, mut b: Vec<f64>) -> Vec<f64> {
    let n = b.len();
    for column in 0..n {
        let pivot = (column..n).max_by(|&i, &j| a[[i, column]].abs().total_cmp(&a[[j, column]].abs())).unwrap();
        for k in 0..n {
            a.swap([column, k], [pivot, k]);
        }
        b.swap(column, pivot);
        for row in column + 1..n {
            let factor = a[[row, column]] / a[[column, column]];
            for k in column..n {
                a[[row, k]] -= factor * a[[column, k]];
            }
            b[row] -= factor * b[column];
        }
    }
    for row in (0..n).rev() {
        let known: f64 = (row + 1..n).map(|k| a[[row, k]] * b[k]).sum();
        b[row] = (b[row] - known) / a[[row, row]];
    }
    b
}

#[test]
fn its_weights_are_the_golden_coefficients() {
    for set in ["diabetes", "syn3d"] {
        let table = table(set);
        for golden in load(&format!("guarantees_{set}.json"))["kernels"].as_array().unwrap() {
            let mut named = json!({"name": golden["kernel"]});
            if let Some(bandwidth) = kernel(golden).bandwidth() {
                named["bandwidth"] = json!(bandwidth);
            }
            for case in golden["lambdas"].as_array().unwrap() {
                let model = fit(&table, &as_given(&named, &case["lam"]), 2).unwrap().model;
                assert_eq!((model.map.kernel, model.map.kind), (kernel(golden), MapKind::Points));
                let golden_alpha = vector(&case["alpha_first5"]);
                for (found, expected) in model.weights.iter().zip(&golden_alpha) {
                    // The golden targets are centred to six digits, and α is of the order y/(nλ).
                    assert_close(*found, *expected, 1e-5 * expected.abs().max(1e-2), "alpha");
                }
                let evidence = model.evidence.as_ref().unwrap();
                let dimension = evidence.kernel.as_ref().unwrap().dimension.value;
                assert_close(dimension / number(&case["effective_dim"]), 1.0, 1e-7, "s_lambda");
                assert_close(evidence.exact.as_ref().unwrap().quadratic_form / number(&case["Q"]), 1.0, 1e-5, "Q");
            }
        }
    }
}

/// Predictions against elimination on a matrix of kernel values made one by one.
#[test]
fn it_predicts_as_a_dense_twin() {
    let table = table("syn3d");
    let (inputs, targets) = data("syn3d");
    let model = fit(&table, &as_given(&json!({"name": "laplace", "bandwidth": 1.3}), &json!(1e-4)), 2).unwrap().model;
    let exact = Kernel::Laplace { bandwidth: 1.3 };
    let n = targets.len();
    let mean = targets.sum() / n as f64;
    let system = Array2::from_shape_fn((n, n), |(i, j)| {
        exact.evaluate(inputs.row(i), inputs.row(j)) + if i == j { n as f64 * 1e-4 } else { 0.0 }
    });
    let alpha = eliminate(system, targets.iter().map(|y| y - mean).collect());
    let twin = |x: &[f64]| {
        let values = inputs.rows().into_iter().map(|row| exact.evaluate(ArrayView1::from(x), row));
        mean + values.zip(&alpha).map(|(k, alpha)| k * alpha).sum::<f64>()
    };
    let errors: Vec<f64> = (0..n).map(|i| (targets[i] - twin(&inputs.row(i).to_vec())).powi(2)).collect();
    let training_mse = model.report.numbers().unwrap().training_mse;
    assert_close(training_mse / (errors.iter().sum::<f64>() / n as f64), 1.0, 1e-7, "training error");
    let predictor = Predictor::new(model);
    for x in [[0.1, -0.3, 0.7], [2.0, 2.0, -2.0], [0.0, 0.0, 0.0]] {
        assert_close(predictor.predict(&[&x])[[0, 0]], twin(&x), 1e-9, "prediction");
    }
}

/// More rows than are solved densely: λ comes from random features, and the coefficients solve the system, as kernel
/// values made one by one say.
#[test]
fn many_rows_are_solved_by_iteration() {
    let model = fit(&waves(4_200), &json!({"learner": "exact_krr", "features": {"seed": 3}}), 2).unwrap().model;
    let found = report(&model);
    assert!(found.evidence.converged && found.evidence.iterations > 0, "{:?}", found.evidence);
    assert!(found.evidence.relative_residual <= 1e-8);
    let search = found.search.as_ref().unwrap();
    assert!(found.lambda_path.iter().any(|point| point.lambda == model.report.lambda));
    assert_eq!((search.features, model.report.feature_count), (Some(1_024), 3_360));
    assert!(model.report.numbers().unwrap().validation_r2.unwrap() > 0.999, "{:?}", model.report.errors);
    let bochner::features::Frequencies::Dense(points) = &model.map.frequencies else { panic!("points are dense") };
    let shift = points.nrows() as f64 * model.report.lambda;
    let slack = found.solver_slack.unwrap();
    let mut residual = 0.0;
    for i in (0..points.nrows()).step_by(40) {
        let kernel_row = points.rows().into_iter().map(|row| model.map.kernel.evaluate(points.row(i), row));
        let fitted: f64 = kernel_row.zip(&model.weights).map(|(k, alpha)| k * alpha).sum();
        // The targets are known from the inputs, which were only scaled.
        let scaling = &model.inputs.scaling;
        let cell = |k: usize| points[[i, k]] / scaling.factor[k] + scaling.offset[k];
        let target = (3.0 * cell(0)).sin() + cell(1).powi(2) - model.intercepts[0];
        residual += (target - fitted - shift * model.weights[[i, 0]]).powi(2);
    }
    let residual = residual.sqrt();
    assert!(residual <= found.evidence.residual_norm * 1.01 + 1e-8, "{residual:e} {:?}", found.evidence);
    assert_close(slack, found.evidence.residual_norm / (2.0 * shift.sqrt()), 1e-12 * slack, "slack"); // k(x,x) = 1
    assert!(found.evidence.residual_norm > 0.0);
    assert!(model.report.warnings.iter().any(|warning| warning.contains("edge of the grid")));
}

/// The bits of a model depend on the rows, the spec and the seed; those of a prediction on its row.
#[test]
fn threads_batches_and_files_change_nothing() {
    let raw = json!({"learner": "exact_krr", "lambda": 1e-5, "calibration_fraction": 0.1});
    let model = fit(&waves(4_500), &raw, 2).unwrap().model;
    let bytes = encode(&model).unwrap();
    assert!(bytes == encode(&fit(&waves(4_500), &raw, 3).unwrap().model).unwrap());
    assert_eq!(decode(&bytes).unwrap(), model);
    let rows: Vec<[f64; 2]> = (0..300).map(|i| [(f64::from(i) * 0.37).sin(), (f64::from(i) * 0.73).cos()]).collect();
    let predictor = Predictor::new(model);
    let together = predictor.predict(&rows.iter().map(|row| &row[..]).collect::<Vec<_>>());
    for (row, expected) in rows.iter().zip(together.rows()) {
        assert_eq!(predictor.predict(&[row]).row(0), expected);
    }
    // Weights that do not go with the points are refused.
    let mut torn = predictor.into_model();
    torn.weights = torn.weights.slice(ndarray::s![1.., ..]).to_owned();
    assert!(decode(&encode(&torn).unwrap()).unwrap_err().to_string().contains("weights and frequencies"));
    torn.map.kind = MapKind::Sign;
    assert!(decode(&encode(&torn).unwrap()).is_err());
}

#[test]
fn several_targets_are_each_alone_and_only_intervals_speak() {
    let cells = (0..700).flat_map(|i| {
        let a = (f64::from(i) * 0.618_034).fract();
        [a, (6.0 * a).sin(), 1e3 * (3.0 * a).cos() + (f64::from(i) * 0.7).sin()]
    });
    let both = RowsInMemory { cells: cells.collect(), columns: 3 };
    let raw = json!({"learner": "exact_krr", "lambda": 1e-4, "kernel": {"bandwidth": 0.7}});
    let two = bochner::dataset::Schema { targets: vec![1, 2], ..schema(&both) };
    let model = train(&both, &two, "ds-test", &spec(&raw), resources(2), &Unwatched).unwrap().model;
    for target in [1, 2] {
        let alone =
            RowsInMemory { cells: both.cells.chunks(3).flat_map(|row| [row[0], row[target]]).collect(), columns: 2 };
        let alone = fit(&alone, &raw, 2).unwrap().model;
        let scale = alone.weights.iter().fold(0.0_f64, |largest, weight| largest.max(weight.abs()));
        for (left, right) in model.weights.column(target - 1).iter().zip(&alone.weights) {
            assert_close(*left, *right, 1e-9 * scale, "alpha");
        }
    }
    assert!(model.error_bars.is_none() && model.spread.is_none() && model.statistics.is_none());
    assert_eq!(model.interval_scales.len(), 2);
    assert_eq!((model.measured.exact_krr_error, &model.measured.exact_krr), (None, &None));
    let around = model.circumstances(RowAccess::Kept);
    for guarantee in guarantees(model.evidence.as_ref().unwrap(), 0.1, 0.95, &around).guarantees {
        assert_eq!(guarantee.status == Status::NotApplicable, guarantee.id != "conformal", "{}", guarantee.id);
    }
}

/// Stops once the system is being solved.
#[derive(Default)]
struct StopsAtSolve(AtomicBool);

impl Observer for StopsAtSolve {
    fn progress(&self, stage: Stage, _: f64) {
        self.0.fetch_or(stage == Stage::Solve, Ordering::Relaxed);
    }

    fn should_stop(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

#[test]
fn it_stops_when_told_to() {
    let table = waves(4_500);
    let raw = spec(&json!({"learner": "exact_krr", "lambda": 1e-4}));
    let stopped = train(&table, &schema(&table), "ds-test", &raw, resources(2), &StopsAtSolve::default());
    assert!(matches!(stopped.err(), Some(TrainError::Stopped)));
}

/// A λ below what iteration reaches fails the fit: a yardstick that is not exact is none.
#[test]
fn a_system_that_is_not_solved_is_no_model() {
    let raw = json!({"learner": "exact_krr", "lambda": 1e-13, "guarantees": {"exact_rows": 0}});
    let refused = fit(&waves(3_900), &raw, 2).err().map(|error| error.to_string()).unwrap();
    assert!(refused.contains("too small"), "{refused}");
}

#[test]
fn what_makes_no_sense_for_it_is_refused_by_name() {
    let limits = SpecLimits { feature_count: 4_096 };
    for (member, pointer) in [
        (json!({"features": {"count": 64}}), "/features/count"),
        (json!({"features": {"map": "phase"}}), "/features/map"),
        (json!({"features": {"sampling": "plain"}}), "/features/sampling"),
        (json!({"spread": true}), "/spread"),
        (json!({"error_bars": true}), "/error_bars"),
        (json!({"updatable": true}), "/updatable"),
        (json!({"sample_weight": "c0"}), "/sample_weight"),
        (json!({"lambda": "certified"}), "/lambda"),
    ] {
        let mut raw = member.clone();
        raw["learner"] = json!("exact_krr");
        let problems = TrainSpec::check("", Some(&raw), limits).unwrap_err();
        assert_eq!(problems[0].pointer, pointer, "{member}");
        assert_eq!(problems.len(), 1, "{problems:?}");
    }
    let exact = spec(&json!({"learner": "exact_krr", "features": {"seed": 9}}));
    assert_eq!(exact.to_json()["features"], json!({"seed": 9}));
    assert_eq!(TrainSpec::check("", Some(&exact.to_json()), limits).unwrap(), exact);
    let small = schema(&waves(100));
    exact.check_against(&small, "/dataset").unwrap();
    let labels = bochner::dataset::Schema { task: Task::Classification, ..small.clone() };
    let refused = exact.check_against(&labels, "/dataset").unwrap_err();
    assert!(refused[0].detail.contains("predicts numbers"), "{refused:?}");
    let many = bochner::dataset::Schema { row_count: 1_000_000, ..small.clone() };
    let refused = exact.check_against(&many, "/dataset").unwrap_err();
    assert!(refused[0].detail.contains("200000"), "{refused:?}");
    assert!(estimate_memory(&exact, &many, 2) > 1_000 * estimate_memory(&exact, &small, 2) / 100);
}

/// Keeps what it is told of one stage.
struct Listener {
    stage: Stage,
    told: std::sync::Mutex<Vec<f64>>,
}

impl Observer for Listener {
    fn progress(&self, stage: Stage, fraction: f64) {
        if stage == self.stage {
            self.told.lock().unwrap().push(fraction);
        }
    }

    fn should_stop(&self) -> bool {
        false
    }
}

/// The exact solve tells how far it is: as the solve of the exact method, and where a ridge model is certified.
#[test]
fn progress_is_told_inside_the_exact_solve() {
    let table = waves(4_600);
    for (stage, raw) in [
        (Stage::Solve, json!({"learner": "exact_krr", "lambda": 1e-5})),
        (Stage::Certify, json!({"features": {"count": 32}, "lambda": 1e-5})),
    ] {
        let listener = Listener { stage, told: std::sync::Mutex::default() };
        train(&table, &schema(&table), "ds-test", &spec(&raw), resources(2), &listener).unwrap();
        let told = listener.told.into_inner().unwrap();
        assert!(told.windows(2).all(|pair| pair[0] <= pair[1]), "{told:?}");
        let inside = told.iter().filter(|fraction| (0.01..0.49).contains(*fraction)).count();
        assert!(inside >= 3 && *told.last().unwrap() <= 1.0, "{inside} of {told:?}");
    }
}
