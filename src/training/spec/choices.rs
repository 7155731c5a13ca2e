//! λ as a spec resolves it, and how kernel and λ were chosen, for the theorems.

use super::grids::{BANDWIDTH_COUNT, LAMBDA_COUNT, lambda_grid};
use super::learner::Learner;
use super::rules::{BandwidthRule, LambdaRule, MetricRule};
use super::train_spec::TrainSpec;
use crate::dataset::ScalingRule;
use crate::features::{ChosenBy, FeatureMap, Precision};
use crate::theory::Choices;
use crate::theory::ours::relative::smallest_certified_ridge;

impl TrainSpec {
    /// The features that λ is searched on for a model with the features of `map`: draws that the model does not use. Where
    /// rows chose the features, other draws would want another λ, so the search uses the features themselves.
    pub(crate) fn search_map(&self, map: &FeatureMap) -> FeatureMap {
        match self.sampling.chosen_by() {
            ChosenBy::Nothing => self.sample_search_map(map.kernel, self.feature_count, map.input_dim()),
            ChosenBy::Inputs | ChosenBy::Targets | ChosenBy::Range => map.clone(),
        }
    }

    /// λ for this many training rows, unless it is to be searched for.
    pub fn resolve_lambda(&self, training_rows: usize) -> Option<f64> {
        match self.lambda {
            LambdaRule::Search => None,
            LambdaRule::InverseSqrtN => Some(1.0 / (training_rows as f64).sqrt()),
            LambdaRule::Certified => self
                .map
                .bound(self.kernel)
                .map(|b| smallest_certified_ridge(b, training_rows, self.feature_count, self.event_delta())),
            LambdaRule::Fixed(value) => Some(value),
        }
    }

    /// Every λ at which ridge regression compares kernels, each kernel at its best one: the λ that the spec gives, or every
    /// `step`-th of the grid. A classifier's own λ is that of another loss: near 0 the logistic loss is (f − 2y)²/8 up to a
    /// constant, so that λ is to it what 8λ is to squares.
    pub(crate) fn compared_lambdas(&self, training_rows: usize, step: usize) -> Vec<f64> {
        let as_ridge = match self.learner {
            Some(Learner::Logistic) => 8.0,
            Some(Learner::Ridge | Learner::ExactKrr | Learner::Hinge | Learner::SquaredHinge) | None => 1.0,
        };
        match self.resolve_lambda(training_rows) {
            Some(lambda) => vec![as_ridge * lambda],
            None => lambda_grid(Precision::Double, None).into_iter().step_by(step).collect(),
        }
    }

    /// What scaling, kernel and λ of a training were chosen from; `filled_cells` are those of the training rows, and
    /// `levels` says whether text columns are among the inputs. Their levels are those of the whole dataset; scaling
    /// leaves out levels that no design row has.
    pub(crate) fn choices(&self, filled_cells: u64, levels: bool) -> Choices {
        let searched = self.lambda == LambdaRule::Search;
        if searched && self.sampling.chosen_by() != ChosenBy::Nothing {
            return Choices::FromDraws;
        }
        let unscaled = self.scaling == Some(ScalingRule::None);
        let levels_known = !levels || (self.design_fraction > 0.0 && !unscaled);
        if self.design_fraction > 0.0 {
            return if levels_known { Choices::FromDesignRows } else { Choices::FromInputs };
        }
        let inputs_fixed = unscaled && filled_cells == 0 && levels_known;
        match self.listed_kernels().filter(|_| inputs_fixed) {
            _ if self.open.any() => Choices::FromTargets,
            Some(1) if !searched => Choices::FixedInAdvance,
            Some(kernels) => Choices::FromList { kernels, lambdas: if searched { LAMBDA_COUNT } else { 1 } },
            None if searched || self.bandwidth.is_searched() || self.metric != MetricRule::None => Choices::FromTargets,
            None => Choices::FromInputs,
        }
    }

    /// The number of kernels in the list that the kernel is chosen from, if the list is fixed in advance.
    fn listed_kernels(&self) -> Option<usize> {
        match self.bandwidth {
            _ if self.metric != MetricRule::None => None,
            _ if !self.kernel.has_bandwidth() => Some(1),
            BandwidthRule::Fixed(_) => Some(1),
            BandwidthRule::Grid => Some(BANDWIDTH_COUNT),
            BandwidthRule::MeanDistance | BandwidthRule::Median | BandwidthRule::Search => None,
        }
    }

    /// N for the λ that is certified: where a list is fixed in advance its length, and 1 where nothing is paid for or
    /// no theorem on random rows applies.
    fn paid_kernels(&self) -> usize {
        let listed = self.listed_kernels().filter(|_| self.scaling == Some(ScalingRule::None));
        listed.filter(|_| self.design_fraction == 0.0).unwrap_or(1)
    }

    /// δ of the event at each of N kernels, so that it is δ for all of them together.
    fn event_delta(&self) -> f64 {
        self.guarantees.delta / self.paid_kernels() as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::theory::ours::relative::slack;
    use crate::theory::papers::wang;
    use crate::training::SpecLimits;
    use serde_json::{Value, json};

    fn spec(raw: Value) -> TrainSpec {
        TrainSpec::check("", Some(&raw), SpecLimits { feature_count: 4096 }).unwrap()
    }

    #[test]
    fn the_certified_lambda_is_the_smallest_of_any_bound() {
        let lambda = spec(json!({"lambda": "certified"})).resolve_lambda(10_000).unwrap();
        assert!(slack(1.0, lambda, 10_000, 1_024, 0.05).is_some());
        assert!(lambda < wang::threshold(1.0, 10_000, 1_024, 0.05));
    }

    /// log(N s/δ) instead of log(s/δ), where the list is fixed in advance.
    #[test]
    fn a_certified_lambda_pays_for_the_kernels_of_a_list() {
        let grid = |scaling: &str, design: f64| {
            let raw = json!({"effort": "fast", "lambda": "certified", "kernel": {"bandwidth": "grid"}, "scaling": scaling,
                "design_fraction": design});
            spec(raw).resolve_lambda(10_000).unwrap()
        };
        let free = spec(json!({"lambda": "certified"})).resolve_lambda(10_000).unwrap();
        let logs = ((BANDWIDTH_COUNT as f64 * 1_024.0 / 0.05).ln(), (1_024.0_f64 / 0.05).ln());
        assert!((grid("none", 0.0) / free - logs.0 / logs.1).abs() < 1e-12);
        assert_eq!((grid("none", 0.2), grid("standard", 0.0)), (free, free));
    }

    #[test]
    fn what_was_looked_at_decides_the_choices() {
        let lambdas = LAMBDA_COUNT;
        for (raw, filled, expected) in [
            (json!({}), 0, Choices::FromTargets),
            (json!({"effort": "fast"}), 0, Choices::FromTargets),
            (json!({"lambda": 0.1, "scaling": "none"}), 0, Choices::FromTargets), // the kernel is searched for
            (json!({"lambda": 0.1, "scaling": "none", "design_fraction": 0.1}), 0, Choices::FromDesignRows),
            (json!({"effort": "fast", "lambda": 0.1}), 0, Choices::FromInputs),
            (json!({"lambda": 0.1, "kernel": {"bandwidth": "search"}}), 0, Choices::FromTargets),
            (json!({"lambda": 0.1, "kernel": {"bandwidth": "grid"}}), 0, Choices::FromTargets),
            (json!({"lambda": 0.1, "scaling": "none", "kernel": {"bandwidth": 2}}), 0, Choices::FixedInAdvance),
            (json!({"lambda": 0.1, "scaling": "none", "kernel": {"bandwidth": 2}}), 3, Choices::FromInputs),
            (json!({"scaling": "none", "kernel": {"bandwidth": 2}}), 0, Choices::FromList { kernels: 1, lambdas }),
            (json!({"scaling": "none", "kernel": {"name": "angular"}}), 0, Choices::FromList { kernels: 1, lambdas }),
            (
                json!({"lambda": "certified", "scaling": "none", "kernel": {"bandwidth": "grid"}}),
                0,
                Choices::FromList { kernels: BANDWIDTH_COUNT, lambdas: 1 },
            ),
            (json!({"scaling": "none", "kernel": {"bandwidth": "grid"}}), 1, Choices::FromTargets),
            (
                json!({"lambda": 0.1, "kernel": {"bandwidth": 2, "metric": "diagonal"}, "scaling": "none"}),
                0,
                Choices::FromTargets,
            ),
            (json!({"design_fraction": 0.1, "kernel": {"metric": "full"}}), 0, Choices::FromDesignRows),
            (json!({"design_fraction": 0.1}), 5, Choices::FromDesignRows),
            (json!({"features": {"sampling": "leverage"}}), 0, Choices::FromDraws),
            (json!({"effort": "fast", "features": {"sampling": "leverage"}, "lambda": 0.1}), 0, Choices::FromInputs),
        ] {
            assert_eq!(spec(raw.clone()).choices(filled, false), expected, "{raw}");
        }
        // Levels of text columns come from the rows; those that no design row has are scaled to nothing.
        let fixed = json!({"lambda": 0.1, "scaling": "none", "kernel": {"bandwidth": 2}});
        assert_eq!(spec(fixed).choices(0, true), Choices::FromInputs);
        assert_eq!(spec(json!({"design_fraction": 0.1})).choices(0, true), Choices::FromDesignRows);
        assert_eq!(spec(json!({"design_fraction": 0.1, "scaling": "none"})).choices(0, true), Choices::FromInputs);
    }
}
