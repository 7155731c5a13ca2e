//! The squared distance to the exact method, (f_s − f)²: how its bounds and estimates are worded.
//!
//! What is proved: over feature draws and new inputs, the mean of (f_s − f)²·1[event] is at most the bound, for every
//! training set, and the event has probability at least 1 − δ over rows and features together. A trained model is one
//! draw of the features. By Markov's inequality its mean over new inputs exceeds bound/δ' with probability at most δ'
//! inside the event.

use crate::theory::statement::guarantee::Finding;
use crate::theory::statement::words::{Wording, percent, rounded_up};
use crate::theory::{Assumption, Evidence};
use std::collections::BTreeMap;

/// The quantity that estimates of the distance are about.
pub(crate) const ERROR: &str = "mean of (f_s(x) - f(x))^2 over new inputs x and feature draws";
/// The quantity that Theorem 1 and its variants bound.
pub(crate) const ERROR_ON_EVENT: &str = "mean of (f_s(x) - f(x))^2 over new inputs x and feature draws, counting only \
     rows and features inside an event of the stated probability";

/// How squares and errors of several targets are combined, as part of a sentence.
pub(crate) fn summed(evidence: &Evidence) -> String {
    match evidence.target_count {
        1 => String::new(),
        count => format!(", summed over the {count} targets,"),
    }
}

/// A bound on the distance to the exact method.
pub(crate) struct Distance {
    pub(crate) bound: Option<f64>,
    /// δ.
    pub(crate) failure_probability: f64,
    /// The smallest number of columns with a bound below the target variance, if there is one at this λ.
    pub(crate) columns: Option<f64>,
}

impl Distance {
    /// bound/δ' at δ' = δ, and its probability 1 − δ − δ', if that is positive.
    fn for_this_draw(&self) -> Vec<(&'static str, f64)> {
        let probability = 1.0 - 2.0 * self.failure_probability;
        let of_bound = |bound: f64| {
            vec![("bound_for_this_draw", bound / self.failure_probability), ("probability_for_this_draw", probability)]
        };
        self.bound.filter(|bound| bound.is_finite() && probability > 0.0).map_or(Vec::new(), of_bound)
    }

    /// Whether the bound for the features of this model is below the target variance. Without one, at δ ≥ ½, whether the
    /// bound on the mean over draws is.
    fn is_informative(&self, variance: f64) -> bool {
        self.bound.is_some_and(|bound| bound / self.draw_share() < variance)
    }

    /// δ', the share of draws that may exceed the bound for this draw; 1 where only the mean over draws is bounded.
    pub(crate) fn draw_share(&self) -> f64 {
        if self.failure_probability < 0.5 { self.failure_probability } else { 1.0 }
    }

    /// What is found by a bound with these assumptions and inputs.
    pub(crate) fn finding(
        self,
        evidence: &Evidence,
        assumptions: Vec<Assumption>,
        mut inputs: BTreeMap<&'static str, f64>,
    ) -> Finding {
        inputs.extend(self.for_this_draw());
        Finding {
            value: self.bound,
            informative: self.is_informative(evidence.target_mean_square.unwrap_or(0.0)),
            failure_probability: Some(self.failure_probability),
            assumptions,
            inputs,
            estimated: Vec::new(),
            wording: self.wording(evidence),
        }
    }

    fn wording(self, evidence: &Evidence) -> Wording {
        let delta = self.failure_probability;
        let variance = rounded_up(evidence.target_mean_square.unwrap_or(0.0));
        let detail = match self.for_this_draw()[..] {
            [(_, bound), _] => format!(
                "For the features of this model, the average over new inputs is at most {} with probability at least {}.",
                rounded_up(bound),
                percent(2.0 * delta)
            ),
            _ => String::new(),
        };
        let remedy = match self.columns {
            Some(columns) => format!("Use at least {columns} features at this lambda, or a larger lambda."),
            None => "Use more rows or a larger lambda.".into(),
        };
        Wording {
            claim: format!(
                "averaged over new inputs and feature draws, the squared difference between a model like this one and the \
                 exact kernel method{} is at most {}, counting only rows and features inside an event of probability at \
                 least {}",
                summed(evidence),
                rounded_up(self.bound.unwrap_or(f64::INFINITY)),
                percent(delta),
            ),
            comparison: format!("; the target variance is {variance}"),
            detail,
            uninformative: match self.for_this_draw()[..] {
                [(_, bound), _] => format!(
                    "For the features of this model it becomes {} with probability at least {}, which is not below the \
                     target variance, {variance}. {remedy}",
                    rounded_up(bound),
                    percent(2.0 * delta)
                ),
                _ => format!("The bound is not below the target variance, {variance}. {remedy}"),
            },
        }
    }
}
