//! What many theorems assume alike, settled from the evidence.

use crate::theory::{Assumption, Evidence, LossKind, SamplingKind};
use std::collections::BTreeMap;

/// What every theorem on random features asks first.
pub(crate) const NO_FEATURES: &str =
    "the model approximates the kernel by random features, which the exact method does not";

/// What mends draws that depend on each other or on the rows.
const PLAIN_SAMPLING: &str = "A training with the sampling plain would have it.";

/// What would mend draws from the kernel where a theorem speaks of others, and does not yet.
pub(crate) const NO_LEVERAGE_SAMPLING: &str = "A sampling by leverage would have it, which is not offered yet.";

impl Evidence {
    /// |ψ|² ≤ b.
    pub(crate) fn features_bounded(&self) -> Assumption {
        if let Some(b) = self.feature_bound {
            return Assumption::checked(format!("|psi|^2 <= b = {b}, by construction"));
        }
        let text = "the features are bounded, which those of this kernel are not";
        Assumption::mendable(text, "Another kernel would have it.")
    }

    /// E ψ(x)ᵀψ(x') = k(x, x').
    pub(crate) fn features_unbiased(&self) -> Assumption {
        if self.unbiased {
            Assumption::checked("the features are unbiased for the kernel, by construction")
        } else {
            Assumption::assumed("the features count as unbiased, which structured ones are only nearly")
        }
    }

    /// Draws independent of each other and of the rows.
    pub(crate) fn draws_from_the_kernel(&self) -> Assumption {
        match self.sampling {
            SamplingKind::DataIndependent if self.draws_independent => {
                Assumption::checked("the draws are independent of each other and of the rows, by construction")
            }
            SamplingKind::DataIndependent => {
                let text = "the draws are independent of each other, which those of this sampling are not";
                Assumption::mendable(text, PLAIN_SAMPLING)
            }
            SamplingKind::LeverageWeighted | SamplingKind::ChosenByInputs | SamplingKind::ChosenByTargets => {
                let text = "the draws are independent of the rows, which features chosen by the data are not";
                Assumption::mendable(text, PLAIN_SAMPLING)
            }
            SamplingKind::NoFeatures => Assumption::violated(NO_FEATURES),
        }
    }

    /// Features fixed before the rows were seen, whether or not they depend on each other.
    pub(crate) fn features_ignore_the_rows(&self) -> Assumption {
        if self.sampling == SamplingKind::DataIndependent {
            Assumption::checked("the features were drawn without looking at the rows, by construction")
        } else {
            self.draws_from_the_kernel()
        }
    }

    /// Draws by leverage, independent of each other.
    pub(crate) fn draws_by_leverage(&self) -> Assumption {
        if self.sampling == SamplingKind::LeverageWeighted {
            Assumption::assumed("the features count as drawn by their true leverage, which the pool's only estimates")
        } else {
            let text = "the features are drawn by their leverage and reweighted, which these are not";
            Assumption::mendable(text, NO_LEVERAGE_SAMPLING)
        }
    }

    /// The model is kernel ridge regression.
    pub(crate) fn is_ridge(&self) -> Assumption {
        if self.loss == LossKind::Squared {
            Assumption::checked("the model minimises the squared error")
        } else {
            Assumption::violated(format!("the model minimises the squared error, not the {} loss", self.loss.name()))
        }
    }

    /// μ₁ ≥ λ, of K/n, which is what keeps s_λ from falling below ½: it is never above tr K/n = k(x, x).
    pub(crate) fn ridge_below_the_spectrum(&self, largest: Option<f64>) -> Assumption {
        let text = "the largest eigenvalue of K/n is at least lambda";
        let found = match (largest, self.kernel_diagonal, self.largest_at_least()) {
            (Some(largest), _, _) => Assumption::at_least(text, largest, self.ridge),
            (None, Some(most), _) if most < self.ridge => {
                let text = format!("{text}, which is above k(x,x), the most it can be");
                Assumption::at_least(text, most, self.ridge)
            }
            (None, _, Some(known)) => Assumption::at_least_by_bound(text, known, self.ridge),
            (None, _, None) => Assumption::assumed(text),
        };
        found.mended_by("A smaller lambda would have it.")
    }

    /// What can be said of the rows and of how kernel and λ were chosen.
    pub(crate) fn rows_and_choices(&self) -> Vec<Assumption> {
        let rows = Assumption::assumed("the rows, and the new inputs, are independent draws from one distribution");
        [rows].into_iter().chain(self.choices()).collect()
    }

    /// What a theorem about the rows as they are has to ask: that they count the same, and that
    /// nothing was chosen by looking at the features it speaks of.
    pub(crate) fn choices(&self) -> Vec<Assumption> {
        let mut assumptions = Vec::new();
        if self.rows_weighted {
            let text = "all rows count the same, which sample weights or class weights undo";
            assumptions.push(Assumption::mendable(text, "A training without weights would have it."));
        }
        assumptions.push(if self.kernel_fixed_in_advance {
            Assumption::checked("the kernel and lambda were fixed before the rows were seen")
        } else {
            Assumption::assumed(
                "the kernel and lambda count as fixed, although scaling, bandwidth or lambda came from the training rows",
            )
        });
        assumptions
    }

    /// The numbers that go into every theorem.
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
    use crate::theory::AssumptionState;
    use crate::theory::evidence::tests::ridge_fit;

    #[test]
    fn features_chosen_by_the_data_are_no_independent_draws() {
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

    #[test]
    fn a_classifier_is_no_ridge_regression() {
        let classifier = Evidence { loss: LossKind::Hinge, ..ridge_fit() };
        assert!(classifier.is_ridge().text.contains("hinge"));
        assert_eq!(classifier.is_ridge().state, AssumptionState::Violated);
    }
}
