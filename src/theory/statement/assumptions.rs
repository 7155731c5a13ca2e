//! Assumptions that several theorems share, each decided from the evidence.

use crate::theory::{Assumption, Choices, Evidence, SamplingKind};
use std::collections::BTreeMap;

const PLAIN_SAMPLING: &str = "Use plain sampling.";
const FIX_IN_ADVANCE: &str = "Fix the bandwidth, the scaling and lambda in the spec before looking at the rows.";

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
        if self.unbiased {
            Assumption::checked("unbiased features, by construction: the expectation of psi(x)'psi(x') is k(x,x')")
        } else {
            Assumption::assumed("unbiased features; structured features have a small bias")
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

    /// Draws by leverage, independent of each other.
    pub(crate) fn draws_by_leverage(&self) -> Assumption {
        if self.sampling == SamplingKind::LeverageWeighted {
            Assumption::assumed("features drawn by their true leverage, which the pool only estimates")
        } else {
            Assumption::violated("features drawn by leverage and reweighted", "they were drawn in a different way")
                .with_remedy("Sampling by leverage is not offered yet.")
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
        let refused = |why: &str| Assumption::violated(text, why).with_remedy(FIX_IN_ADVANCE);
        let choices = match self.choices {
            Choices::FixedInAdvance => Assumption::checked(text),
            Choices::FromInputs => {
                refused("scaling, imputation or bandwidth came from the inputs of the training rows")
            }
            Choices::FromTargets => refused("lambda or the kernel was searched for on the training rows"),
        };
        let rows = Assumption::assumed("training rows and new inputs drawn independently from one distribution");
        [rows].into_iter().chain(self.unequal_weights()).chain([choices]).collect()
    }

    /// The conditions of a theorem that takes the rows as given: equal weights, and a kernel and λ that may depend on the
    /// inputs but not on the targets or the feature draws.
    pub(crate) fn choices(&self) -> Vec<Assumption> {
        let text = "a kernel and a lambda that depend neither on the targets nor on the feature draws";
        let choices = match self.choices {
            Choices::FixedInAdvance | Choices::FromInputs => Assumption::checked(text),
            Choices::FromTargets => {
                Assumption::violated(text, "lambda or the kernel was searched for with the targets and these draws")
                    .with_remedy("Fix lambda in the spec, and the bandwidth by a number or a rule.")
            }
        };
        self.unequal_weights().into_iter().chain([choices]).collect()
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
        assert_eq!(states(Choices::FromInputs), (Violated, Checked));
        assert_eq!(states(Choices::FromTargets), (Violated, Violated));
    }

    #[test]
    fn a_classifier_is_refused_by_the_name_of_its_loss() {
        let classifier = Evidence { loss: LossKind::Hinge, ..ridge_fit() };
        assert_eq!(classifier.is_not_ridge().shortfall, "the model minimises the hinge loss");
        assert_eq!(classifier.is_not_ridge().state, AssumptionState::Violated);
    }
}
