//! How the features of a model were chosen by rows.

use super::FittedModel;
use crate::theory::ours::certificate::COVERED_SHARE;
use crate::theory::{Evidence, Guarantee, LossKind, RowAccess, SamplingKind, guarantees};
use serde::Serialize;
use serde_json::{Value, json};

/// The shares of the candidates at which the distribution of their scores is kept.
pub const SCORE_SHARES: [f64; 7] = [0.0, 0.05, 0.25, 0.5, 0.75, 0.95, 1.0];

/// The choice of features from a pool of candidates, or by the range of the inputs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Selection {
    /// M₀, the candidates; 0 where the range of the inputs chose the density of the draws.
    pub candidates: usize,
    /// The rows that scored them.
    pub rows: usize,
    /// λ of the scores, if they have one.
    pub lambda: Option<f64>,
    /// Parts of the pool that were scored one by one; with more than one, the scores are approximations.
    pub groups: usize,
    /// Scores at [`SCORE_SHARES`] of the candidates, in units of their mean; empty without scores.
    pub score_quantiles: Vec<f64>,
    /// (Σw)²/Σw² of the weights w of the draws, the squares of their factors: as many draws of equal weight would do.
    pub effective_sample_size: f64,
    /// Different candidates among the draws.
    pub distinct_draws: usize,
    /// The largest weight that any candidate has.
    pub largest_weight: f64,
    /// (λ, Σ of the leverages of the pool at that λ).
    pub degrees: Vec<(f64, f64)>,
}

/// The theorems that say how many features drawn by leverage are enough, each with the name of that number among its
/// inputs; none where it is the value itself.
const REQUIREMENTS: [(&str, Option<&str>); 3] = [
    ("shahrampour_kolouri.theorem1", None),
    ("li.corollary2", None),
    ("avron.lemma6", Some("features_for_delta_half")),
];

impl FittedModel {
    /// How rows chose the features; for draws by leverage, with the number of features that each theorem requires and
    /// whether the model has as many. The status says whether the theorem's other conditions are met as well, the loss
    /// among them: the count does not depend on it.
    pub(super) fn selection_report(&self) -> Option<Value> {
        let mut report = self.selection.as_ref()?.to_json();
        let by_leverage = |found: &&Evidence| found.sampling == SamplingKind::LeverageWeighted;
        let Some(evidence) = self.evidence.as_ref().filter(by_leverage) else { return Some(report) };
        let around = self.circumstances(RowAccess::Gone);
        let found = guarantees(evidence, self.failure_probability, COVERED_SHARE, &around).guarantees;
        let lipschitz = Evidence { loss: LossKind::Logistic, ..evidence.clone() };
        let counted = guarantees(&lipschitz, self.failure_probability, COVERED_SHARE, &around).guarantees;
        let requirement = |(id, input): &(&str, Option<&str>)| {
            let of = |all: &[Guarantee]| all.iter().find(|guarantee| guarantee.id == *id).cloned();
            let (own, counted) = (of(&found)?, of(&counted)?);
            let needed = match input {
                Some(name) => counted.inputs.get(name).copied(),
                None => counted.value,
            };
            let met = needed.is_some_and(|needed| self.map.feature_count() as f64 >= needed);
            Some(json!({"id": id, "features_needed": needed, "met": met, "status": own.status}))
        };
        report["requirements"] = REQUIREMENTS.iter().filter_map(requirement).collect();
        Some(report)
    }
}

impl Selection {
    /// As reports show it.
    pub fn to_json(&self) -> Value {
        let quantiles: Vec<Value> = SCORE_SHARES
            .iter()
            .zip(&self.score_quantiles)
            .map(|(share, score)| json!({"share": share, "score": score}))
            .collect();
        let degrees: Vec<Value> =
            self.degrees.iter().map(|(lambda, value)| json!({"lambda": lambda, "value": value})).collect();
        let mut selection = json!(self);
        selection["score_quantiles"] = json!(quantiles);
        selection["degrees"] = json!(degrees);
        selection
    }
}

/// Counts and samplings that were tried on a sample of rows, and what was settled by them. A choice by targets.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FeatureTrials {
    /// Rows that every trial was fitted on.
    pub fitted_rows: usize,
    /// Other rows that it was measured on.
    pub tested_rows: usize,
    /// One for each count, ascending, if the count was open.
    pub counts: Vec<FeatureTrial>,
    /// One for each sampling at the count of the model, if the sampling was open.
    pub samplings: Vec<FeatureTrial>,
    /// The smallest count whose error was within 5% of that of the largest.
    pub enough: Option<usize>,
    /// The count of the model: as many times `enough` as the rows of the whole fit call for, within the limits.
    pub feature_count: usize,
    /// The sampling of the model.
    pub sampling: String,
}

/// One trial.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FeatureTrial {
    /// Of the features.
    pub sampling: String,
    /// Their count.
    pub features: usize,
    /// Squared error of a ridge fit over that of the mean of its targets; of labels, coded as ±1.
    pub error: f64,
}

impl FeatureTrials {
    /// As reports show it, with the factor of the theorem that the trials of counts stand for.
    pub fn to_json(&self, c0: Option<f64>) -> Value {
        let mut trials = json!(self);
        trials["c0"] = json!(c0);
        trials["gain"] = json!(self.gain());
        trials
    }

    /// By what share the error of the sampling that was kept is below that of the first one tried, `plain`. None if the
    /// sampling was not open.
    fn gain(&self) -> Option<f64> {
        let first = self.samplings.first().filter(|trial| trial.error > 0.0)?;
        let kept = self.samplings.iter().find(|trial| trial.sampling == self.sampling)?;
        Some(1.0 - kept.error / first.error)
    }

    /// The draws that were enough, and for how many rows.
    pub fn enough_draws(&self, columns_per_draw: usize) -> Option<(f64, usize)> {
        self.enough.map(|columns| (columns as f64 / columns_per_draw as f64, self.fitted_rows))
    }

    /// Whether the parts fit each other.
    pub fn is_consistent(&self) -> bool {
        let sound = |trial: &FeatureTrial| trial.error >= 0.0 && trial.error.is_finite() && trial.features > 0;
        self.counts.iter().chain(&self.samplings).all(sound) && self.enough != Some(0) && self.fitted_rows > 0
    }
}

/// The scores at [`SCORE_SHARES`] of the candidates, in units of their mean; empty if all are zero.
pub fn score_quantiles(scores: &[f64]) -> Vec<f64> {
    let mean = scores.iter().sum::<f64>() / scores.len() as f64;
    if mean <= 0.0 || mean.is_nan() {
        return Vec::new();
    }
    let mut sorted = scores.to_vec();
    sorted.sort_by(f64::total_cmp);
    let last = sorted.len() - 1;
    SCORE_SHARES.iter().map(|share| sorted[(share * last as f64).round() as usize] / mean).collect()
}

/// (Σw)²/Σw².
pub fn effective_sample_size(weights: &[f64]) -> f64 {
    let (sum, squares) = weights.iter().fold((0.0, 0.0), |(sum, squares), w| (sum + w, squares + w * w));
    if squares > 0.0 { sum * sum / squares } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_gain_is_the_share_of_the_error_of_plain_draws_that_is_saved() {
        let trial = |sampling: &str, error| FeatureTrial { sampling: sampling.into(), features: 16, error };
        let mut trials = FeatureTrials {
            fitted_rows: 300,
            tested_rows: 100,
            counts: Vec::new(),
            samplings: vec![trial("plain", 0.4), trial("leverage", 0.5), trial("pooled_ridge", 0.1)],
            enough: None,
            feature_count: 16,
            sampling: "pooled_ridge".into(),
        };
        assert_eq!(trials.to_json(None)["gain"], 0.75);
        trials.sampling = "plain".into();
        assert_eq!(trials.to_json(Some(0.5))["gain"], 0.0);
        trials.samplings.clear();
        let shown = trials.to_json(Some(0.5));
        assert_eq!((&shown["gain"], &shown["c0"]), (&Value::Null, &json!(0.5)));
    }

    #[test]
    fn values_by_hand() {
        assert_eq!(effective_sample_size(&[2.0, 2.0, 2.0]), 3.0);
        assert_eq!(effective_sample_size(&[3.0, 1.0]), 1.6);
        assert_eq!(effective_sample_size(&[0.0]), 0.0);
        assert_eq!(score_quantiles(&[2.0, 0.0, 1.0, 0.5, 1.5]), [0.0, 0.0, 0.5, 1.0, 1.5, 2.0, 2.0]);
        assert_eq!(score_quantiles(&[0.0]), Vec::<f64>::new());
    }
}
