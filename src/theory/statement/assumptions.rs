//! Assumptions that several theorems share, each decided from the evidence.

use super::words::{rounded_down, rounded_up};
use crate::theory::pool_dimension::SAME_RIDGE;
use crate::theory::{Assumption, Choices, Evidence, RowsSplit, SamplingKind};
use std::collections::BTreeMap;

const PLAIN_SAMPLING: &str = "Use plain sampling.";
const KEEP_ROWS_APART: &str = "Train with design_fraction > 0: rows that are kept apart then choose the scaling, the bandwidth \
     and lambda. Or fix all three in the spec before looking at the rows.";
pub(crate) const LEVERAGE_SAMPLING: &str = "Use sampling leverage.";

impl Evidence {
    /// |ψ|² ≤ b.
    pub(crate) fn features_bounded(&self) -> Assumption {
        if let Some(b) = self.feature_bound {
            return Assumption::checked(format!("bounded features: |psi|^2 <= b = {b}, by construction"));
        }
        Assumption::violated("bounded features", "the features of this kernel are unbounded")
            .with_remedy("Choose a different kernel.")
    }

    /// E ψ(x)ᵀψ(x') = k(x, x').
    pub(crate) fn features_unbiased(&self) -> Assumption {
        let text = "unbiased features, by construction: the expectation of psi(x)'psi(x') is k(x,x')";
        if self.unbiased {
            return Assumption::checked(text);
        }
        match self.sampling {
            SamplingKind::ChosenByInputs | SamplingKind::ChosenByTargets => {
                Assumption::violated("unbiased features", "keeping the best features of a pool changes the kernel")
                    .with_remedy(PLAIN_SAMPLING)
            }
            SamplingKind::DataIndependent | SamplingKind::LeverageWeighted | SamplingKind::NoFeatures => {
                Assumption::assumed("unbiased features; structured features have a small bias")
            }
        }
    }

    /// ψ(x; v) continuous in x.
    pub(crate) fn features_continuous(&self) -> Assumption {
        if self.sign_features {
            return Assumption::violated("continuous features", "sign features jump")
                .with_remedy("Choose a different kernel.");
        }
        Assumption::checked("continuous features, by construction")
    }

    /// The violation of a theorem on random features by the exact kernel method.
    pub(crate) fn has_no_features() -> Assumption {
        Assumption::violated(
            "random features",
            "the model is the exact kernel method itself, so there is no distance to bound",
        )
    }

    /// Draws independent of each other and of the rows.
    pub(crate) fn draws_from_the_kernel(&self) -> Assumption {
        match self.sampling {
            SamplingKind::DataIndependent if self.draws_independent => {
                Assumption::checked("feature draws independent of each other and of the rows, by construction")
            }
            SamplingKind::DataIndependent => {
                Assumption::violated("independent feature draws", "the sampling makes them depend on each other")
                    .with_remedy(PLAIN_SAMPLING)
            }
            SamplingKind::LeverageWeighted | SamplingKind::ChosenByInputs | SamplingKind::ChosenByTargets => {
                Assumption::violated("feature draws independent of the rows", "the features were chosen by the data")
                    .with_remedy(PLAIN_SAMPLING)
            }
            SamplingKind::NoFeatures => Self::has_no_features(),
        }
    }

    /// Features fixed before the rows were seen, whether or not they depend on each other.
    pub(crate) fn features_ignore_the_rows(&self) -> Assumption {
        if self.sampling == SamplingKind::DataIndependent {
            Assumption::checked("features drawn independently of the rows, by construction")
        } else {
            self.draws_from_the_kernel()
        }
    }

    /// Draws by leverage at a λ that is not above that of the model, independent of each other.
    pub(crate) fn draws_by_leverage(&self) -> Assumption {
        if self.sampling != SamplingKind::LeverageWeighted {
            let shortfall = "they were drawn in a different way";
            return Assumption::violated("features drawn by leverage and reweighted", shortfall)
                .with_remedy(LEVERAGE_SAMPLING);
        }
        match self.score_ridge() {
            Some(scored) if scored > self.ridge * (1.0 + SAME_RIDGE) => {
                let text = "features drawn by their leverage at a lambda no larger than that of the model";
                Assumption::violated(text, format!("they were scored at {}", rounded_up(scored)))
                    .with_remedy(format!("Set features.pool_lambda to at most {}.", rounded_down(self.ridge)))
            }
            _ => Assumption::assumed("features drawn by their true leverage, which the pool only estimates"),
        }
    }

    /// The violation of a theorem on ridge regression by any other model.
    pub(crate) fn is_not_ridge(&self) -> Assumption {
        let shortfall = format!("the model minimises the {} loss", self.loss.name());
        Assumption::violated("ridge regression", shortfall).with_remedy("Use the learner ridge.")
    }

    /// μ₁ of K/n is at least λ, which keeps s_λ from falling below ½. μ₁ is at most tr K/n = k(x, x).
    pub(crate) fn ridge_below_the_spectrum(&self, largest: Option<f64>) -> Assumption {
        let text = "a largest eigenvalue of K/n no smaller than lambda";
        let found = match (largest, self.kernel_diagonal, self.largest_at_least()) {
            (Some(largest), _, _) => Assumption::at_least(text, largest, self.ridge),
            (None, Some(most), _) if most < self.ridge => Assumption {
                shortfall: format!("it is at most k(x,x) = {most}"),
                ..Assumption::at_least(text, most, self.ridge)
            },
            (None, _, Some(known)) => Assumption::at_least_by_bound(text, known, self.ridge),
            (None, _, None) => Assumption::assumed(text),
        };
        found.with_remedy("Use a smaller lambda.")
    }

    /// The conditions of a theorem on random rows: independent rows of equal weight, and a kernel and λ fixed before
    /// the rows were seen.
    pub(crate) fn rows_and_choices(&self) -> Vec<Assumption> {
        let text = "a kernel and a lambda fixed before the rows were seen";
        let refused = |why: &str| Assumption::violated(text, why).with_remedy(KEEP_ROWS_APART);
        let choices = match self.choices {
            Choices::FixedInAdvance => Assumption::checked(text),
            Choices::FromDesignRows if self.rows_added => {
                Assumption::assumed(format!("{text}; design rows chose them, and no update added these to the fit"))
            }
            Choices::FromDesignRows => {
                Assumption::checked(format!("{text}; design rows, which took no part in the fit, chose them"))
            }
            Choices::FromInputs => refused(
                "scaling, imputation, levels of text columns or bandwidth came from the inputs of the training rows",
            ),
            Choices::FromList { .. } | Choices::FromTargets | Choices::FromDraws => {
                refused("lambda or the kernel was searched for on the training rows")
            }
        };
        let rows = "training rows and new inputs drawn independently from one distribution";
        let rows = self.assumed_of_rows(rows, "");
        [rows].into_iter().chain(self.unequal_weights()).chain([choices]).collect()
    }

    /// That rows are as a theorem on random rows needs them: assumed, unless they were split by something that they depend
    /// on. `rest` is said after what the split by label does.
    pub(crate) fn assumed_of_rows(&self, text: &str, rest: &str) -> Assumption {
        let why = match self.rows_split {
            RowsSplit::AtRandom => return Assumption::assumed(format!("{text}{}{rest}", self.stratification())),
            RowsSplit::ByTime => {
                "the rows were split by time, so held-out rows are later than fitted ones and new rows later than both"
            }
            RowsSplit::ByGroup => "the rows were split by group, and rows of one group may depend on each other",
        };
        Assumption::violated(text, why).with_remedy("Split at random, if rows do not depend on time or on a group.")
    }

    /// The same for a theorem whose event is asked for at each of the kernels and λ of a list, `count` of them, that was
    /// fixed in advance.
    pub(crate) fn rows_and_listed_choices(&self, count: f64) -> Vec<Assumption> {
        let mut assumptions = self.rows_and_choices();
        if let (Choices::FromList { .. }, Some(choices)) = (self.choices, assumptions.last_mut()) {
            *choices = Assumption::checked(format!(
                "a kernel and a lambda from a list fixed before the rows were seen, chosen with feature draws that the model \
                 does not use; delta is divided by {count}, the number of candidates"
            ));
        }
        assumptions
    }

    /// The conditions of a theorem that takes the rows as given: equal weights, and a kernel and λ that may depend on
    /// the rows but not on the feature draws.
    pub(crate) fn choices(&self) -> Vec<Assumption> {
        let text = "a kernel and a lambda that do not depend on the feature draws";
        let choices = match self.choices {
            Choices::FixedInAdvance
            | Choices::FromDesignRows
            | Choices::FromInputs
            | Choices::FromList { .. }
            | Choices::FromTargets => Assumption::checked(text),
            Choices::FromDraws => Assumption::violated(text, "lambda or the kernel was searched for with these draws")
                .with_remedy("Train again on all rows: a new training searches with draws of its own. Or fix lambda in the spec."),
        };
        self.unequal_weights().into_iter().chain([choices]).collect()
    }

    /// What the split by label does to rows that were drawn independently: each part has the shares of the labels in the
    /// whole dataset, so their counts vary less than those of independent rows. Empty for numbers.
    pub(crate) fn stratification(&self) -> &'static str {
        if self.predicts_labels {
            "; only nearly so, because every part of the split has the same share of each label"
        } else {
            ""
        }
    }

    /// The violation by a kernel or λ that was chosen by the targets, if it was.
    pub(crate) fn choices_ignore_the_targets(&self) -> Option<Assumption> {
        match self.choices {
            Choices::FixedInAdvance | Choices::FromDesignRows | Choices::FromInputs => None,
            Choices::FromList { .. } | Choices::FromTargets | Choices::FromDraws => Some(
                Assumption::violated(
                    "a kernel and a lambda that do not depend on the noise of the targets",
                    "lambda or the kernel was searched for on the training rows",
                )
                .with_remedy(KEEP_ROWS_APART),
            ),
        }
    }

    /// The violation by sample weights or class weights, if there are any.
    fn unequal_weights(&self) -> Option<Assumption> {
        self.rows_weighted.then(|| {
            Assumption::violated("equally weighted rows", "sample weights or class weights were used")
                .with_remedy("Train without weights.")
        })
    }

    /// The inputs that all theorems share.
    pub(crate) fn inputs(&self, failure_probability: f64) -> BTreeMap<&'static str, f64> {
        let mut inputs = BTreeMap::from([
            ("s", self.feature_count as f64),
            ("draws", self.draw_count as f64),
            ("n", self.sample_count as f64),
            ("lambda", self.ridge),
            ("delta", failure_probability),
        ]);
        inputs.extend(self.feature_bound.map(|b| ("b", b)));
        inputs.extend(self.target_mean_square.map(|square| ("mean_square_target", square)));
        inputs
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::theory::evidence::tests::ridge_fit;
    use crate::theory::{AssumptionState, LossKind};

    #[test]
    fn features_chosen_by_the_data_violate_independence() {
        let plain = ridge_fit();
        assert_eq!(plain.draws_from_the_kernel().state, AssumptionState::Checked);
        assert_eq!(plain.draws_by_leverage().state, AssumptionState::Violated);
        for sampling in [SamplingKind::LeverageWeighted, SamplingKind::ChosenByInputs, SamplingKind::ChosenByTargets] {
            let chosen = Evidence { sampling, ..ridge_fit() };
            assert_eq!(chosen.draws_from_the_kernel().state, AssumptionState::Violated);
        }
        let weighted = Evidence { sampling: SamplingKind::LeverageWeighted, ..ridge_fit() };
        assert_eq!(weighted.draws_by_leverage().state, AssumptionState::Assumed);
        let scored = |lambda| Evidence { pool_degrees: vec![(lambda, 9.0)], ..weighted.clone() }.draws_by_leverage();
        assert_eq!((scored(0.7).state, scored(0.1).state), (AssumptionState::Assumed, AssumptionState::Assumed));
        assert_eq!(scored(0.8).state, AssumptionState::Violated);
    }

    #[test]
    fn keeping_the_best_features_changes_the_kernel() {
        for sampling in [SamplingKind::ChosenByInputs, SamplingKind::ChosenByTargets] {
            let kept = Evidence { sampling, unbiased: false, ..ridge_fit() };
            assert_eq!(kept.features_unbiased().state, AssumptionState::Violated);
        }
        let structured = Evidence { unbiased: false, ..ridge_fit() };
        assert_eq!(structured.features_unbiased().state, AssumptionState::Assumed);
    }

    /// A bandwidth from the inputs is no obstacle to a theorem that takes the rows as given.
    #[test]
    fn choices_from_the_rows_are_violations_where_the_theorem_minds() {
        use AssumptionState::{Checked, Violated};
        let states = |choices| {
            let evidence = Evidence { choices, ..ridge_fit() };
            let last = |assumptions: Vec<Assumption>| assumptions.last().unwrap().state;
            (last(evidence.rows_and_choices()), last(evidence.choices()))
        };
        assert_eq!(states(Choices::FixedInAdvance), (Checked, Checked));
        assert_eq!(states(Choices::FromDesignRows), (Checked, Checked));
        assert_eq!(states(Choices::FromList { kernels: 3, lambdas: 1 }), (Violated, Checked));
        assert_eq!(states(Choices::FromInputs), (Violated, Checked));
        assert_eq!(states(Choices::FromTargets), (Violated, Checked));
        assert_eq!(states(Choices::FromDraws), (Violated, Violated));
    }

    /// An update may bring back the rows that were kept apart, and nobody can tell.
    #[test]
    fn design_rows_are_assumed_to_stay_out_of_updates() {
        let updated = Evidence { choices: Choices::FromDesignRows, rows_added: true, ..ridge_fit() };
        assert_eq!(updated.rows_and_choices().last().unwrap().state, AssumptionState::Assumed);
    }

    /// Only a theorem that pays for the list accepts it.
    #[test]
    fn a_list_is_accepted_where_it_is_paid_for() {
        let listed = Evidence { choices: Choices::FromList { kernels: 81, lambdas: 35 }, ..ridge_fit() };
        let found = listed.rows_and_listed_choices(listed.choices.kernels());
        let found = found.last().unwrap();
        assert_eq!(found.state, AssumptionState::Checked);
        assert!(found.text.ends_with("delta is divided by 81, the number of candidates"), "{}", found.text);
        assert_eq!(listed.choices.pairs(), 2_835.0);
        let searched = Evidence { choices: Choices::FromTargets, ..ridge_fit() };
        assert_eq!(searched.rows_and_listed_choices(1.0).last().unwrap().state, AssumptionState::Violated);
    }

    #[test]
    fn a_classifier_is_refused_by_the_name_of_its_loss() {
        let classifier = Evidence { loss: LossKind::Hinge, ..ridge_fit() };
        assert_eq!(classifier.is_not_ridge().shortfall, "the model minimises the hinge loss");
        assert_eq!(classifier.is_not_ridge().state, AssumptionState::Violated);
    }
}
