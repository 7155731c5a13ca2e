//! The candidates that a search for kernel, metric, bandwidth and scaling tried, and the one that it kept.

use super::metric::MetricKind;
use crate::dataset::ScalingRule;
use serde_json::{Value, json};

/// A search on a sample of rows.
#[derive(Debug, Clone, PartialEq)]
pub struct SearchReport {
    /// As in the spec.
    pub effort: String,
    /// Rows of each fit.
    pub rows: usize,
    /// Rows in the leave-one-out errors.
    pub loo_rows: usize,
    /// Features of each fit.
    pub features: usize,
    /// The place of the candidate that was kept; the first is what effort fast takes.
    pub chosen: usize,
    /// By how much its mean squared leave-one-out residual is smaller than that of the first.
    pub gain: f64,
    /// The standard error of the gain, over rows.
    pub gain_standard_error: f64,
    /// In the order in which they were tried.
    pub candidates: Vec<SearchCandidate>,
}

/// One candidate, at the best λ of its fit.
#[derive(Debug, Clone, PartialEq)]
pub struct SearchCandidate {
    /// Name of the kernel.
    pub kernel: String,
    /// ν of a matern kernel.
    pub nu: Option<f64>,
    /// Of the inputs.
    pub scaling: ScalingRule,
    /// The form of its metric.
    pub metric: MetricKind,
    /// Of learning the metric; 0 without one.
    pub round: usize,
    /// σ.
    pub bandwidth: f64,
    /// λ.
    pub lambda: f64,
    /// Mean squared leave-one-out residual, in squared units of the target; of several targets, in units of their variances;
    /// of labels, coded as ±1.
    pub loo_mse: f64,
}

impl SearchReport {
    /// As reports show it; `resolved` is the spec with what was chosen in the place of rules.
    pub fn to_json(&self, of_labels: bool, resolved: Value) -> Value {
        let criterion = if of_labels { "leave_one_out_of_ridge_on_labels" } else { "leave_one_out" };
        json!({
            "effort": self.effort,
            "criterion": criterion,
            "rows": self.rows,
            "loo_rows": self.loo_rows,
            "features": self.features,
            "chosen": self.chosen,
            "gain": self.gain,
            "gain_standard_error": self.gain_standard_error,
            "candidates": self.candidates.iter().map(SearchCandidate::to_json).collect::<Vec<_>>(),
            "resolved": resolved,
        })
    }

    /// λ of the candidate that was kept, on the sample.
    pub fn lambda(&self) -> f64 {
        self.candidates[self.chosen].lambda
    }

    /// Whether the parts fit each other.
    pub fn is_consistent(&self) -> bool {
        let sound = |candidate: &SearchCandidate| candidate.loo_mse >= 0.0 && candidate.bandwidth > 0.0;
        self.chosen < self.candidates.len() && self.candidates.iter().all(sound)
    }
}

impl SearchCandidate {
    fn to_json(&self) -> Value {
        let mut candidate = json!({
            "kernel": self.kernel,
            "scaling": self.scaling,
            "metric": self.metric.name(),
            "round": self.round,
            "bandwidth": self.bandwidth,
            "lambda": self.lambda,
            "loo_mse": self.loo_mse,
        });
        if let Some(nu) = self.nu {
            candidate["nu"] = json!(nu);
        }
        candidate
    }
}
