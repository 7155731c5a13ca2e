//! How a fit went; the same for the same data, spec and seed.

use crate::features::Precision;
use crate::solver::{ClassifierEvidence, ExactEvidence, Method, PathPoint};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

/// What a fit tells about itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FitReport {
    /// Rows the weights were fitted on, those of earlier versions among them.
    pub training_rows: usize,
    /// The version that rows were added to, where this is an update.
    pub base_version: Option<u32>,
    /// Rows that this update added to the fit.
    pub added_rows: Option<usize>,
    /// Rows held out to measure the error.
    pub validation_rows: usize,
    /// Rows held out to calibrate probabilities.
    pub calibration_rows: usize,
    /// Rows without a target.
    pub unlabelled_rows: usize,
    /// d, after encoding.
    pub input_dim: usize,
    /// Inputs that never vary and therefore have no effect.
    pub constant_inputs: usize,
    /// Missing input cells among the training rows, filled with the mean.
    pub filled_cells: u64,
    /// Largest |scaled input| of the training rows; above 10 an outlier dominates its column.
    pub largest_input: f64,
    /// s.
    pub feature_count: usize,
    /// λ as used.
    pub lambda: f64,
    /// σ as used; none for kernels without one.
    pub bandwidth: Option<f64>,
    /// In which features were made.
    pub precision: Precision,
    /// How the weights were found.
    pub solver: SolverReport,
    /// How good the predictions are.
    pub errors: ErrorReport,
    /// What the user should know.
    pub warnings: Vec<String>,
}

/// How the weights were found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum SolverReport {
    /// By one linear system.
    Ridge(RidgeReport),
    /// By iteration.
    Classifier(ClassifierReport),
    /// By the exact kernel system.
    Exact(ExactReport),
}

/// The linear system of a ridge fit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RidgeReport {
    /// How it was solved.
    pub method: Method,
    /// Of the normal equations.
    pub relative_residual: f64,
    /// Upper estimate for G + λI.
    pub condition: f64,
    /// Mean squared leave-one-out residual at the λ found, where λ was searched for. With several
    /// outputs, as everywhere on the path, the mean of their errors in units of their variances.
    pub loo_mse: Option<f64>,
    /// Rows that mean was taken over.
    pub loo_rows: usize,
    /// Σ μ/(μ+λ), where λ was searched for.
    pub effective_dimension: Option<f64>,
    /// Every λ that was tried.
    pub lambda_path: Vec<PathPoint>,
}

/// The exact kernel system of a model without features.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ExactReport {
    /// How it was solved.
    pub evidence: ExactEvidence,
    /// What no prediction is further from the exact solution than, for all targets together: the residual allows
    /// no more. None where k(x, x) has no largest value.
    pub solver_slack: Option<f64>,
    /// Where λ was searched for, what it was searched on.
    pub search: Option<FeatureSearch>,
    /// Every λ that was tried, on random features.
    pub lambda_path: Vec<PathPoint>,
}

/// λ by the leave-one-out error of random features that stand for the kernel.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FeatureSearch {
    /// s.
    pub features: usize,
    /// The smallest leave-one-out error: of the features, not of this model.
    pub loo_mse: Option<f64>,
    /// Rows that mean was taken over.
    pub loo_rows: usize,
}

/// The iteration of a classifier.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ClassifierReport {
    /// Objective, certificate and effort.
    pub evidence: ClassifierEvidence,
    /// Every λ that was tried, where it was searched for.
    pub lambda_path: Vec<LossPoint>,
}

/// One λ of a search by validation loss.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct LossPoint {
    /// λ.
    pub lambda: f64,
    /// Mean loss on the validation rows.
    pub validation_loss: f64,
    /// Share of the validation rows with the right label.
    pub validation_accuracy: f64,
}

/// How good the predictions are.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum ErrorReport {
    /// Of numbers.
    Numbers(NumberErrors),
    /// Of labels.
    Labels(LabelErrors),
}

/// Errors of predicted numbers; of several targets the means.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
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
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TargetErrors {
    /// Its name.
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

/// Errors of predicted labels on the validation rows; weighted rows count by their weight.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LabelErrors {
    /// Every label with its training and validation rows.
    pub classes: Vec<ClassRowCounts>,
    /// Share of right labels.
    pub validation_accuracy: Option<f64>,
    /// Mean over the labels that occur of the share that was found.
    pub validation_balanced_accuracy: Option<f64>,
    /// Mean of −log of the probability of the right label.
    pub validation_log_loss: Option<f64>,
    /// Area under the ROC curve; for two labels only.
    pub validation_roc_auc: Option<f64>,
    /// Rows are true labels, columns predicted ones; only up to a hundred labels.
    pub confusion: Option<Vec<Vec<f64>>>,
    /// Mean over the rows of |share of right labels − confidence| of their bin.
    pub expected_calibration_error: Option<f64>,
    /// Confidence against truth, in ten bins; empty ones are left out.
    pub reliability: Vec<ReliabilityBin>,
}

impl LabelErrors {
    /// Before any row was predicted.
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
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ClassRowCounts {
    /// As in the table.
    pub label: String,
    /// Rows fitted on.
    pub training_rows: usize,
    /// Rows held out.
    pub validation_rows: usize,
}

/// The rows whose most probable label has a probability within one tenth.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ReliabilityBin {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Weight of its rows; their number without sample weights.
    pub rows: f64,
    /// Mean probability of the most probable label.
    pub confidence: f64,
    /// Share of rows where that label is right.
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

    /// The linear system, where there was one.
    pub fn ridge(&self) -> Option<&RidgeReport> {
        match &self.solver {
            SolverReport::Ridge(report) => Some(report),
            SolverReport::Classifier(_) | SolverReport::Exact(_) => None,
        }
    }

    /// One flat object: what there is to tell about any fit, about its solver, about its errors.
    pub fn to_json(&self) -> Value {
        let mut report = json!(self);
        let parts = match &self.solver {
            SolverReport::Ridge(ridge) => vec![json!(ridge)],
            SolverReport::Classifier(ClassifierReport { evidence, lambda_path }) => {
                vec![json!(evidence), json!({"lambda_path": lambda_path})]
            }
            SolverReport::Exact(ExactReport { evidence, solver_slack, search, lambda_path }) => vec![
                json!(evidence),
                json!({"solver_slack": solver_slack, "search": search, "lambda_path": lambda_path}),
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
