//! Choosing what the spec leaves open, and fitting the weights.

/// Features kept in memory or made anew.
pub(crate) mod feature_cache;

/// The bandwidth that a rule gives.
pub(crate) mod bandwidth;

/// λ and bandwidth by leave-one-out error.
pub(crate) mod search;

/// λ as the spec says, or by search.
pub(crate) mod lambda_choice;

/// The rows that choose scaling, kernel and λ.
pub(crate) mod choosing_rows;

/// Scaling and kernel as the spec says, or by search.
pub(crate) mod kernel_choice;

/// Kernel, metric, bandwidth and scaling by a search within a budget.
mod automatic;

/// A metric learned from the rows.
pub(crate) mod metric;

/// What is predicted, and its coding.
pub(crate) mod predicted_targets;

/// From row blocks to weights.
pub(crate) mod ridge;

/// The system of the rows, where features outnumber them.
mod row_system;

/// The exact kernel system of the training rows.
pub(crate) mod exact_system;

/// The exact kernel method as a model.
pub(crate) mod exact;

/// Whether it is kept instead of random features.
pub(crate) mod exact_choice;

/// Classifiers with a convex loss.
pub(crate) mod classifier;

use crate::features::{FeatureMap, Precision};
use crate::model::{
    ClassifierReport, ErrorBars, ExactReport, Function, InputPipeline, RidgeReport, SolverReport, Spread, Statistics,
};
use crate::theory::{Estimate, ExactEvidence};
use ndarray::Array2;

/// Weights in the units of the targets, and how they came about.
pub(crate) struct Fit {
    /// What the weights multiply.
    pub(crate) map: FeatureMap,
    pub(crate) weights: Array2<f64>,
    pub(crate) intercepts: Vec<f64>,
    pub(crate) lambda: f64,
    pub(crate) precision: Precision,
    /// Whether λ was searched for and the best is the smallest that was tried.
    pub(crate) best_is_smallest: bool,
    pub(crate) learned: Learned,
}

/// What each kind of fit tells beside its weights.
pub(crate) enum Learned {
    Ridge(RidgeFit),
    Exact(ExactFit),
    Classifier(ClassifierReport),
}

/// Squared error on random features.
pub(crate) struct RidgeFit {
    pub(crate) report: RidgeReport,
    /// Of each target.
    pub(crate) training_mse: Vec<f64>,
    /// Of the centred targets, summed.
    pub(crate) target_mean_square: f64,
    /// Where asked for and λ is large enough for a factor.
    pub(crate) spread: Option<Spread>,
    /// Where asked for, there are groups of draws to leave out, and λ is large enough for a factor.
    pub(crate) error_bars: Option<ErrorBars>,
    /// The leverage of the features, as leaving them out tells it; where there are error bars.
    pub(crate) feature_leverage: Option<f64>,
    /// μ of G, descending, where features are few enough.
    pub(crate) spectrum: Option<Vec<f64>>,
    /// (λ, F̂∞) around λ, where features are fewer still.
    pub(crate) leverages: Option<Vec<(f64, f64)>>,
    /// Where adding rows later was asked for.
    pub(crate) statistics: Option<Statistics>,
}

/// Squared error in the kernel's own space.
pub(crate) struct ExactFit {
    pub(crate) report: ExactReport,
    /// Of each target.
    pub(crate) training_mse: Vec<f64>,
    /// Of the centred targets, summed.
    pub(crate) target_mean_square: f64,
    pub(crate) evidence: ExactEvidence,
    /// s_λ, where the rows are few enough for it.
    pub(crate) dimension: Option<Estimate>,
    /// Why there is none though they are.
    pub(crate) unmeasured: Option<String>,
}

impl Fit {
    /// The function that was fitted.
    pub(crate) fn function<'a>(&'a self, inputs: &'a InputPipeline) -> Function<'a> {
        Function {
            inputs,
            map: &self.map,
            precision: self.precision,
            weights: &self.weights,
            intercepts: &self.intercepts,
            spread: self.ridge().and_then(|ridge| ridge.spread.as_ref()),
            error_bars: self.ridge().and_then(|ridge| ridge.error_bars.as_ref()),
        }
    }

    pub(crate) fn ridge(&self) -> Option<&RidgeFit> {
        match &self.learned {
            Learned::Ridge(ridge) => Some(ridge),
            Learned::Exact(_) | Learned::Classifier(_) => None,
        }
    }

    /// Of each target of a squared-error fit; empty for other losses.
    pub(crate) fn training_mse(&self) -> &[f64] {
        match &self.learned {
            Learned::Ridge(ridge) => &ridge.training_mse,
            Learned::Exact(exact) => &exact.training_mse,
            Learned::Classifier(_) => &[],
        }
    }

    /// Of the centred targets of a squared-error fit, summed.
    pub(crate) fn target_mean_square(&self) -> Option<f64> {
        match &self.learned {
            Learned::Ridge(ridge) => Some(ridge.target_mean_square),
            Learned::Exact(exact) => Some(exact.target_mean_square),
            Learned::Classifier(_) => None,
        }
    }

    pub(crate) fn solver_report(&self) -> SolverReport {
        match &self.learned {
            Learned::Ridge(ridge) => SolverReport::Ridge(ridge.report.clone()),
            Learned::Exact(exact) => SolverReport::Exact(exact.report.clone()),
            Learned::Classifier(report) => SolverReport::Classifier(report.clone()),
        }
    }
}
