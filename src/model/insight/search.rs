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
    /// Features of each fit before the final; 0 where the kernel itself was fitted.
    pub features: usize,
    /// The place of the candidate that was kept; the first is what effort fast takes.
    pub chosen: usize,
    /// By how much its mean squared leave-one-out residual is smaller than that of the first.
    pub gain: f64,
    /// The standard error of the gain, over rows.
    pub gain_standard_error: f64,
    /// In the order in which they were tried.
    pub candidates: Vec<SearchCandidate>,
    /// The comparison that decided, where it was made on more features than the first one.
    pub finals: Option<SearchFinals>,
}

/// The last candidates of a search: the first one and the best others again, on more features.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SearchFinals {
    /// The place of the first of them among all candidates.
    pub first: usize,
    /// Of each of their fits; 0 where the kernel itself was fitted, on more rows than before.
    pub features: usize,
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
        let candidates = self.candidates.iter().enumerate();
        let candidates = candidates.map(|(place, candidate)| {
            let is_final = self.finals.is_some_and(|finals| place >= finals.first);
            candidate.to_json(self.features_at(place), is_final)
        });
        json!({
            "effort": self.effort,
            "criterion": criterion,
            "rows": self.rows,
            "loo_rows": self.loo_rows,
            "features": counted(self.features),
            "chosen": self.chosen,
            "gain": self.gain,
            "gain_standard_error": self.gain_standard_error,
            "candidates": candidates.collect::<Vec<_>>(),
            "resolved": resolved,
        })
    }

    /// λ of the candidate that was kept, on the sample.
    pub fn lambda(&self) -> f64 {
        self.candidates[self.chosen].lambda
    }

    /// Features of the fit of the candidate at a place. Errors are comparable among those with the same number.
    pub fn features_at(&self, place: usize) -> usize {
        self.finals.filter(|finals| place >= finals.first).map_or(self.features, |finals| finals.features)
    }

    /// Whether the parts fit each other.
    pub fn is_consistent(&self) -> bool {
        let sound = |candidate: &SearchCandidate| candidate.loo_mse >= 0.0 && candidate.bandwidth > 0.0;
        let decided = self.finals.is_none_or(|finals| finals.first <= self.chosen);
        decided && self.chosen < self.candidates.len() && self.candidates.iter().all(sound)
    }
}

/// A number of features, none for the kernel itself.
fn counted(features: usize) -> Option<usize> {
    (features > 0).then_some(features)
}

impl SearchCandidate {
    fn to_json(&self, features: usize, is_final: bool) -> Value {
        let mut candidate = json!({
            "kernel": self.kernel,
            "scaling": self.scaling,
            "metric": self.metric.name(),
            "round": self.round,
            "features": counted(features),
            "final": is_final,
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
