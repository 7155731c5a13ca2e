//! How the fit went.

use super::converted;
use super::errors::StoredErrors;
use super::features::StoredPrecision;
use super::solves::{StoredClassifierSolve, StoredExactSolve, StoredMethod, StoredPathPoint};
use super::{borrowed, owned};
use crate::model::{ClassifierReport, ExactReport, FeatureSearch, FitReport, LossPoint, RidgeReport, SolverReport};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
pub(in crate::model::artifact) struct StoredReport<'a> {
    training_rows: usize,
    base_version: Option<u32>,
    added_rows: Option<usize>,
    validation_rows: usize,
    calibration_rows: usize,
    unlabelled_rows: usize,
    input_dim: usize,
    constant_inputs: usize,
    filled_cells: u64,
    largest_input: f64,
    feature_count: usize,
    lambda: f64,
    bandwidth: Option<f64>,
    precision: StoredPrecision,
    solver: StoredSolver<'a>,
    #[serde(borrow)]
    errors: StoredErrors<'a>,
    #[serde(borrow)]
    warnings: Vec<&'a str>,
}

#[derive(Serialize, Deserialize)]
enum StoredSolver<'a> {
    Ridge {
        method: StoredMethod,
        relative_residual: f64,
        condition: f64,
        loo_mse: Option<f64>,
        loo_rows: usize,
        effective_dimension: Option<f64>,
        lambda_path: Vec<StoredPathPoint>,
    },
    Classifier {
        solve: StoredClassifierSolve<'a>,
        lambda_path: Vec<StoredLossPoint>,
    },
    Exact {
        solve: StoredExactSolve,
        solver_slack: Option<f64>,
        search: Option<StoredFeatureSearch>,
        lambda_path: Vec<StoredPathPoint>,
    },
}

#[derive(Serialize, Deserialize)]
struct StoredFeatureSearch {
    features: usize,
    loo_mse: Option<f64>,
    loo_rows: usize,
}

#[derive(Serialize, Deserialize)]
struct StoredLossPoint {
    lambda: f64,
    validation_loss: f64,
    validation_accuracy: f64,
}

impl<'a> From<&'a FitReport> for StoredReport<'a> {
    fn from(report: &'a FitReport) -> Self {
        Self {
            training_rows: report.training_rows,
            base_version: report.base_version,
            added_rows: report.added_rows,
            validation_rows: report.validation_rows,
            calibration_rows: report.calibration_rows,
            unlabelled_rows: report.unlabelled_rows,
            input_dim: report.input_dim,
            constant_inputs: report.constant_inputs,
            filled_cells: report.filled_cells,
            largest_input: report.largest_input,
            feature_count: report.feature_count,
            lambda: report.lambda,
            bandwidth: report.bandwidth,
            precision: report.precision.into(),
            solver: (&report.solver).into(),
            errors: (&report.errors).into(),
            warnings: borrowed(&report.warnings),
        }
    }
}

impl StoredReport<'_> {
    /// The report of a model that this many rows were kept apart for.
    pub(in crate::model::artifact) fn of(self, design_rows: usize) -> FitReport {
        let stored = self;
        FitReport {
            training_rows: stored.training_rows,
            base_version: stored.base_version,
            added_rows: stored.added_rows,
            validation_rows: stored.validation_rows,
            calibration_rows: stored.calibration_rows,
            unlabelled_rows: stored.unlabelled_rows,
            design_rows,
            input_dim: stored.input_dim,
            constant_inputs: stored.constant_inputs,
            filled_cells: stored.filled_cells,
            largest_input: stored.largest_input,
            feature_count: stored.feature_count,
            lambda: stored.lambda,
            bandwidth: stored.bandwidth,
            precision: stored.precision.into(),
            solver: stored.solver.into(),
            errors: stored.errors.into(),
            warnings: owned(stored.warnings),
        }
    }
}

impl<'a> From<&'a SolverReport> for StoredSolver<'a> {
    fn from(solver: &'a SolverReport) -> Self {
        match solver {
            SolverReport::Ridge(ridge) => Self::Ridge {
                method: ridge.method.into(),
                relative_residual: ridge.relative_residual,
                condition: ridge.condition,
                loo_mse: ridge.loo_mse,
                loo_rows: ridge.loo_rows,
                effective_dimension: ridge.effective_dimension,
                lambda_path: converted(&ridge.lambda_path),
            },
            SolverReport::Classifier(ClassifierReport { evidence, lambda_path }) => {
                Self::Classifier { solve: evidence.into(), lambda_path: converted(lambda_path) }
            }
            SolverReport::Exact(ExactReport { evidence, solver_slack, search, lambda_path }) => Self::Exact {
                solve: evidence.into(),
                solver_slack: *solver_slack,
                search: search.as_ref().map(Into::into),
                lambda_path: converted(lambda_path),
            },
        }
    }
}

impl From<StoredSolver<'_>> for SolverReport {
    fn from(stored: StoredSolver) -> Self {
        match stored {
            StoredSolver::Ridge {
                method,
                relative_residual,
                condition,
                loo_mse,
                loo_rows,
                effective_dimension,
                lambda_path,
            } => Self::Ridge(RidgeReport {
                method: method.into(),
                relative_residual,
                condition,
                loo_mse,
                loo_rows,
                effective_dimension,
                lambda_path: converted(lambda_path),
            }),
            StoredSolver::Classifier { solve, lambda_path } => {
                Self::Classifier(ClassifierReport { evidence: solve.into(), lambda_path: converted(lambda_path) })
            }
            StoredSolver::Exact { solve, solver_slack, search, lambda_path } => Self::Exact(ExactReport {
                evidence: solve.into(),
                solver_slack,
                search: search.map(Into::into),
                lambda_path: converted(lambda_path),
            }),
        }
    }
}

impl From<&FeatureSearch> for StoredFeatureSearch {
    fn from(&FeatureSearch { features, loo_mse, loo_rows }: &FeatureSearch) -> Self {
        Self { features: features.unwrap_or(0), loo_mse, loo_rows }
    }
}

impl From<StoredFeatureSearch> for FeatureSearch {
    fn from(StoredFeatureSearch { features, loo_mse, loo_rows }: StoredFeatureSearch) -> Self {
        Self { features: (features > 0).then_some(features), loo_mse, loo_rows }
    }
}

impl From<&LossPoint> for StoredLossPoint {
    fn from(&LossPoint { lambda, validation_loss, validation_accuracy }: &LossPoint) -> Self {
        Self { lambda, validation_loss, validation_accuracy }
    }
}

impl From<StoredLossPoint> for LossPoint {
    fn from(StoredLossPoint { lambda, validation_loss, validation_accuracy }: StoredLossPoint) -> Self {
        Self { lambda, validation_loss, validation_accuracy }
    }
}
