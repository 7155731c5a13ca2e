//! The fitted model: an immutable value, everything a prediction or a guarantee needs.

use super::{Head, InputPipeline, Spread, TargetCoding};
use crate::features::{FeatureMap, Precision};
use crate::solver::{Method, PackedGram, PathPoint};
use crate::theory::wang;
use ndarray::Array2;
use serde::{Deserialize, Serialize};

/// What is done about missing input cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MissingRule {
    /// Filled with the training mean.
    Mean,
    /// Refused.
    Refuse,
}

/// f(x) = Wᵀψ(x) + c, and what that means.
#[derive(Debug, Clone, PartialEq)]
pub struct FittedModel {
    /// What the k outputs mean.
    pub head: Head,
    /// Raw rows to inputs.
    pub inputs: InputPipeline,
    /// About missing cells at prediction.
    pub missing: MissingRule,
    /// ψ, and the kernel it approximates.
    pub map: FeatureMap,
    /// In which ψ is evaluated.
    pub precision: Precision,
    /// W, s×k.
    pub weights: Array2<f64>,
    /// c; for regression the means of the training targets.
    pub intercepts: Vec<f64>,
    /// Predictive spread, where it was asked for.
    pub spread: Option<Spread>,
    /// What adding rows later needs, where it was asked for.
    pub statistics: Option<Statistics>,
    /// The training spec as resolved, as JSON.
    pub spec: String,
    /// Id of the data set it was trained on.
    pub dataset: String,
    /// How the fit went.
    pub report: FitReport,
    /// δ the guarantees were asked for at.
    pub failure_probability: f64,
    /// What the bounds need.
    pub evidence: wang::Evidence,
    /// What was measured next to the bounds.
    pub measured: Measured,
}

/// The sums over all rows of a fit, and how their targets were coded.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Statistics {
    /// Sums over coded targets.
    pub gram: PackedGram,
    /// Of the targets.
    pub coding: TargetCoding,
}

impl Statistics {
    /// Whether the parts fit a model of these sizes.
    pub fn is_consistent(&self, feature_count: usize, output_count: usize) -> bool {
        self.gram.is_consistent(feature_count, output_count) && self.coding.is_consistent(output_count)
    }
}

/// How a fit went; the same for the same data, spec and seed.
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
    /// How the system was solved.
    pub method: Method,
    /// Of the normal equations.
    pub relative_residual: f64,
    /// Upper estimate for G + λI.
    pub condition: f64,
    /// Mean squared error on the training rows; of several targets the mean, as the next three.
    pub training_mse: f64,
    /// Mean squared error on the validation rows.
    pub validation_mse: Option<f64>,
    /// 1 − MSE/variance on the validation rows.
    pub validation_r2: Option<f64>,
    /// Mean absolute error on the validation rows.
    pub validation_mae: Option<f64>,
    /// The same for each target.
    pub targets: Vec<TargetErrors>,
    /// Mean squared leave-one-out residual at the λ found, where λ was searched for. With several
    /// targets, as everywhere on the path, the mean of their errors in units of their variances.
    pub loo_mse: Option<f64>,
    /// Rows that mean was taken over.
    pub loo_rows: usize,
    /// Σ μ/(μ+λ), where λ was searched for.
    pub effective_dimension: Option<f64>,
    /// Every λ that was tried.
    pub lambda_path: Vec<PathPoint>,
    /// What the user should know.
    pub warnings: Vec<String>,
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

/// Errors measured against the exact kernel method.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    /// Mean of (f_s − f)² over the validation rows, f the exact kernel ridge regression; summed over
    /// the targets.
    pub exact_krr_error: Option<f64>,
    /// Of the exact system.
    pub exact_krr_relative_residual: Option<f64>,
}
