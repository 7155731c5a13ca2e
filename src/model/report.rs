//! The report of a fit. The same data, spec and seed give the same report.

use crate::features::Precision;
use crate::solver::{ClassifierEvidence, ExactSolve, Method, PathPoint};
use serde::Serialize;
use serde_json::{Map, Value, json};

/// Rows, settings, solver and errors of a fit.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FitReport {
    /// Rows the weights were fitted on, including those of earlier versions.
    pub training_rows: usize,
    /// The version that rows were added to, if this is an update.
    pub base_version: Option<u32>,
    /// Rows that this update added to the fit.
    pub added_rows: Option<usize>,
    /// Rows held out to measure the error.
    pub validation_rows: usize,
    /// Rows held out to calibrate probabilities.
    pub calibration_rows: usize,
    /// Rows without a target.
    pub unlabelled_rows: usize,
    /// Rows kept apart to choose scaling, bandwidth and λ.
    pub design_rows: usize,
    /// d, the number of inputs after encoding.
    pub input_dim: usize,
    /// Inputs that never vary and therefore have no effect.
    pub constant_inputs: usize,
    /// Missing input cells among the training rows, filled with the mean.
    pub filled_cells: u64,
    /// Largest |scaled input| of the training rows; above 10 an outlier dominates its column.
    pub largest_input: f64,
    /// s, the number of features.
    pub feature_count: usize,
    /// The λ that was used, given or searched for.
    pub lambda: f64,
    /// The σ that was used; none for kernels without one.
    pub bandwidth: Option<f64>,
    /// The precision of the features.
    pub precision: Precision,
    /// The method that found the weights, with its evidence.
    pub solver: SolverReport,
    /// Errors on the training and validation rows.
    pub errors: ErrorReport,
    /// Problems that the user should act on.
    pub warnings: Vec<String>,
}

/// The method that found the weights, with its evidence.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub enum SolverReport {
    /// One linear system.
    Ridge(RidgeReport),
    /// An iteration.
    Classifier(ClassifierReport),
    /// The exact kernel system.
    Exact(ExactReport),
}

/// The linear system of a ridge fit.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RidgeReport {
    /// The factorisation that solved it.
    pub method: Method,
    /// The relative residual of the normal equations.
    pub relative_residual: f64,
    /// An upper estimate of the condition number of G + λI.
    pub condition: f64,
    /// Mean squared leave-one-out residual at the λ found, if λ was searched for. With several outputs, here and on the
    /// path, the mean of their errors in units of their variances.
    pub loo_mse: Option<f64>,
    /// The number of rows in that mean.
    pub loo_rows: usize,
    /// Σ μ/(μ+λ), if λ was searched for.
    pub effective_dimension: Option<f64>,
    /// Every λ that was tried.
    pub lambda_path: Vec<PathPoint>,
}

/// The exact kernel system of a model without features.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ExactReport {
    /// Iterations and residual of the solver.
    pub evidence: ExactSolve,
    /// An upper bound on the distance of any prediction to the exact solution, over all targets together, from the
    /// residual. None if k(x, x) is unbounded.
    pub solver_slack: Option<f64>,
    /// What λ was searched on, if it was searched for.
    pub search: Option<FeatureSearch>,
    /// Every λ that was tried in that search.
    pub lambda_path: Vec<PathPoint>,
}

/// A search for λ by leave-one-out error: of the exact method, or of random features that approximate its kernel.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FeatureSearch {
    /// s, the number of features; none where the exact method itself was searched.
    pub features: Option<usize>,
    /// The smallest leave-one-out error: of the features, if there are any, and not of this model.
    pub loo_mse: Option<f64>,
    /// The number of rows in that mean.
    pub loo_rows: usize,
}

/// The iteration of a classifier.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ClassifierReport {
    /// Objective, certificate and effort.
    pub evidence: ClassifierEvidence,
    /// Every λ that was tried; empty if it was given.
    pub lambda_path: Vec<LossPoint>,
}

/// One λ of a search by validation loss.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct LossPoint {
    /// λ.
    pub lambda: f64,
    /// Mean loss on the validation rows.
    pub validation_loss: f64,
    /// Share of the validation rows with the right label.
    pub validation_accuracy: f64,
}

/// Errors of the predictions.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub enum ErrorReport {
    /// Errors of predicted numbers.
    Numbers(NumberErrors),
    /// Errors of predicted labels.
    Labels(LabelErrors),
}

/// Errors of predicted numbers; with several targets, the means over them.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct NumberErrors {
    /// Mean squared error on the training rows.
    pub training_mse: f64,
    /// Mean squared error on the validation rows.
    pub validation_mse: Option<f64>,
    /// 1 − MSE/variance on the validation rows.
    pub validation_r2: Option<f64>,
    /// Mean absolute error on the validation rows.
    pub validation_mae: Option<f64>,
    /// The same for each target.
    pub targets: Vec<TargetErrors>,
}

/// The errors of one target.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TargetErrors {
    /// The name of the target column.
    pub name: String,
    /// Mean squared error on the training rows.
    pub training_mse: f64,
    /// Mean squared error on the validation rows.
    pub validation_mse: Option<f64>,
    /// 1 − MSE/variance on the validation rows.
    pub validation_r2: Option<f64>,
    /// Mean absolute error on the validation rows.
    pub validation_mae: Option<f64>,
}

/// Errors of predicted labels on the validation rows; rows are counted by their weight.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LabelErrors {
    /// Every label with its training and validation rows.
    pub classes: Vec<ClassRowCounts>,
    /// Share of correct labels.
    pub validation_accuracy: Option<f64>,
    /// Mean recall over the labels that occur.
    pub validation_balanced_accuracy: Option<f64>,
    /// Mean of −log of the probability of the true label.
    pub validation_log_loss: Option<f64>,
    /// Area under the ROC curve; for two labels only.
    pub validation_roc_auc: Option<f64>,
    /// Rows are true labels, columns predicted ones; only for up to a hundred labels.
    pub confusion: Option<Vec<Vec<f64>>>,
    /// Mean over the rows of |accuracy − confidence| of their bin.
    pub expected_calibration_error: Option<f64>,
    /// Confidence against accuracy in ten bins; empty bins are left out.
    pub reliability: Vec<ReliabilityBin>,
}

impl LabelErrors {
    /// No errors yet: only the labels are known.
    pub fn unknown(classes: Vec<ClassRowCounts>) -> Self {
        Self {
            classes,
            validation_accuracy: None,
            validation_balanced_accuracy: None,
            validation_log_loss: None,
            validation_roc_auc: None,
            confusion: None,
            expected_calibration_error: None,
            reliability: Vec::new(),
        }
    }
}

/// A label and how often it occurs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ClassRowCounts {
    /// As written in the dataset.
    pub label: String,
    /// Rows with this label in the fit.
    pub training_rows: usize,
    /// Rows with this label among the validation rows.
    pub validation_rows: usize,
}

/// The rows whose most probable label has a probability within one tenth.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct ReliabilityBin {
    /// Lower end of the bin.
    pub low: f64,
    /// Upper end of the bin.
    pub high: f64,
    /// Total weight of its rows: their number if there are no sample weights.
    pub rows: f64,
    /// Mean probability of the most probable label.
    pub confidence: f64,
    /// Share of rows where that label is correct.
    pub accuracy: f64,
}

impl FitReport {
    /// Errors of numbers, for models that predict them.
    pub fn numbers(&self) -> Option<&NumberErrors> {
        match &self.errors {
            ErrorReport::Numbers(errors) => Some(errors),
            ErrorReport::Labels(_) => None,
        }
    }

    /// Errors of labels, for models that predict them.
    pub fn labels(&self) -> Option<&LabelErrors> {
        match &self.errors {
            ErrorReport::Labels(errors) => Some(errors),
            ErrorReport::Numbers(_) => None,
        }
    }

    /// The linear system; none for other solvers.
    pub fn ridge(&self) -> Option<&RidgeReport> {
        match &self.solver {
            SolverReport::Ridge(report) => Some(report),
            SolverReport::Classifier(_) | SolverReport::Exact(_) => None,
        }
    }

    /// One flat object with the fields of the report, its solver and its errors.
    pub fn to_json(&self) -> Value {
        let mut report = json!(self);
        let parts = match &self.solver {
            SolverReport::Ridge(ridge) => vec![json!(ridge)],
            SolverReport::Classifier(ClassifierReport { evidence, lambda_path }) => {
                vec![json!(evidence), json!({"lambda_path": lambda_path})]
            }
            SolverReport::Exact(ExactReport { evidence, solver_slack, search, lambda_path }) => vec![
                json!(evidence),
                json!({"solver_slack": solver_slack, "lambda_search": search, "lambda_path": lambda_path}),
            ],
        };
        let errors = match &self.errors {
            ErrorReport::Numbers(errors) => json!(errors),
            ErrorReport::Labels(errors) => json!(errors),
        };
        if let Value::Object(report) = &mut report {
            for name in ["solver", "errors"] {
                report.shift_remove(name);
            }
            let warnings = report.shift_remove("warnings");
            for part in parts.into_iter().chain([errors]) {
                report.extend(part.as_object().cloned().unwrap_or_default());
            }
            report.extend(Map::from_iter([("warnings".to_owned(), warnings.unwrap_or_default())]));
        }
        report
    }
}
