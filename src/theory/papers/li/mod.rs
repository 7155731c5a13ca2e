//! Z. Li, *Sharp analysis of random Fourier features in classification*, AAAI 2022.
//!
//! **Statement.** With a loss that is Lipschitz with constant M and enough features, the excess risk is
//! at most 2MRλ^r + O(1/√n) with probability 1 − δ (Theorem 1). Enough is 12·d̃·log(d(λ)/δ) by the
//! theorem, 5·d̃·log(16d(λ)/δ) by its corollaries, with d̃ = κ²/λ for features drawn from the kernel
//! (Corollary 1) and d̃ = d(λ) for features drawn by leverage (Corollary 2).
//!
//! **Assumptions.** Logistic and hinge loss have M = 1. The squared hinge is not Lipschitz on the whole
//! line and neither is the squared error: they have no guarantee.
//!
//! **Notation.** The paper's λ is ours, its κ² our b, its s our draws.
//!
//! **Departures.** Neither printed constant follows from the printed proof: its concentration step
//! gives (32/3)·d̃·log(16d(λ)/δ). We require that and show the printed ones beside it. The step uses d(λ) as an
//! intrinsic dimension, which is right up to the factor in the logarithm if λ is at most the largest eigenvalue of the
//! operator; the paper does not say so. Inside logarithms d(λ), that of the population, is bounded by κ²/λ; n does not bound
//! it. R is unknown and estimated by ‖w‖/√2.

/// The number of draws that the theorems require.
mod draws;

/// Faster rates under low noise.
mod theorem2;

pub use draws::{EnoughDraws, enough_draws};
pub use theorem2::{RStar, r_star, theorem2};
pub(crate) use theorem2::{describe_decay, describe_minimax_rate, describe_rate};

use crate::theory::spectrum::decay;
use crate::theory::statement::guarantee::{Finding, Source};
use crate::theory::statement::words::{Wording, percent, rounded_up};
use crate::theory::{Assumption, AssumptionState, Evidence, Form, Guarantee, Lack, LossKind, SamplingKind};

const THEOREM1: Source = Source {
    id: "li.theorem1",
    paper: "Li 2022, Theorem 1, constant repaired",
    bounds: "features that keep the learning rate of the exact kernel classifier",
    form: Form::Requirement,
};
const COROLLARY1: Source = Source { id: "li.corollary1", paper: "Li 2022, Corollary 1, constant repaired", ..THEOREM1 };
const COROLLARY2: Source = Source { id: "li.corollary2", paper: "Li 2022, Corollary 2, constant repaired", ..THEOREM1 };

/// Whether a loss has the Lipschitz constant 1.
pub(crate) fn lipschitz(loss: LossKind) -> Assumption {
    match loss {
        LossKind::Logistic | LossKind::Hinge => {
            Assumption::checked(format!("a Lipschitz loss: the {} loss has the constant 1", loss.name()))
        }
        LossKind::SquaredHinge => {
            Assumption::violated("a Lipschitz loss", "the squared hinge loss is not Lipschitz on the whole line")
                .with_remedy("Use the learner logistic or hinge.")
        }
        LossKind::Squared => {
            Assumption::violated("a Lipschitz loss", "the squared loss of ridge regression is not Lipschitz")
                .with_remedy("The theorem covers only the learners logistic and hinge.")
        }
    }
}

/// Whether the theorems cover the loss and the labels of a model.
pub(crate) fn covers(evidence: &Evidence) -> bool {
    [lipschitz(evidence.loss), two_labels(evidence)].iter().all(|of| of.state != AssumptionState::Violated)
}

/// `li.theorem1`: for the sampling the model has.
pub fn theorem1(evidence: &Evidence, failure_probability: f64) -> Guarantee {
    requirement(THEOREM1, evidence, failure_probability, evidence.sampling == SamplingKind::LeverageWeighted)
}

/// `li.corollary1`: features drawn from the kernel.
pub fn corollary1(evidence: &Evidence, failure_probability: f64) -> Guarantee {
    requirement(COROLLARY1, evidence, failure_probability, false)
}

/// `li.corollary2`: features drawn by leverage.
pub fn corollary2(evidence: &Evidence, failure_probability: f64) -> Guarantee {
    requirement(COROLLARY2, evidence, failure_probability, true)
}

/// The theorems cover two labels. One against the rest is a problem with two labels for each label.
fn two_labels(evidence: &Evidence) -> Assumption {
    match (evidence.target_count, evidence.loss) {
        (0 | 1, _) => Assumption::checked("two labels"),
        (_, LossKind::Hinge) => {
            Assumption::assumed("two labels, because each label is set against the rest separately")
        }
        _ => Assumption::violated("two labels", "there are more than two, learned by softmax")
            .with_remedy("Use the learner hinge, which sets each label against the rest."),
    }
}

/// The conditions that all the theorems share.
struct Condition {
    /// (32/3)·d̃·log(16d/δ) draws, as columns.
    columns: f64,
    inputs: Vec<(&'static str, f64)>,
    /// The names of the inputs that were estimated.
    estimated: Vec<&'static str>,
    assumptions: Vec<Assumption>,
}

impl Condition {
    /// The conditions for one kind of sampling, or the guarantee that says why the theorems do not cover the model.
    fn of(source: Source, evidence: &Evidence, delta: f64, by_leverage: bool) -> Result<Self, Box<Guarantee>> {
        let lipschitz = lipschitz(evidence.loss);
        if lipschitz.state == AssumptionState::Violated {
            return Err(Box::new(source.unavailable(lipschitz)));
        }
        let Some(b) = evidence.feature_bound else {
            return Err(Box::new(source.unavailable(evidence.features_bounded())));
        };
        let mut assumptions = vec![
            evidence.ridge_below_the_spectrum(None),
            evidence.features_bounded(),
            evidence.features_unbiased(),
            if by_leverage { evidence.draws_by_leverage() } else { evidence.draws_from_the_kernel() },
            lipschitz,
            two_labels(evidence),
            Assumption::assumed("a best function in the kernel's space (r = 1/2)"),
            evidence.features_continuous(),
            Assumption::assumed(
                "an unpenalised intercept, which this model has and the class of the theorem lacks, that does not change \
                 the result",
            ),
        ];
        assumptions.extend(evidence.rows_and_choices());
        let dimension = b / evidence.ridge;
        let mut estimated = Vec::new();
        let leverage_sum = match (by_leverage, evidence.leverage_sum()) {
            (false, _) => b / evidence.ridge,
            (true, Some((dimension, exact))) => {
                estimated.extend((!exact).then_some("leverage_sum"));
                dimension
            }
            (true, None) => return Err(Box::new(source.unmeasured(Lack::Dimension, assumptions))),
        };
        let enough = enough_draws(leverage_sum, dimension, delta);
        let columns = evidence.columns_of(enough.repaired);
        let remedy = format!("Use at least {columns} features at this lambda; a larger lambda requires fewer.");
        let have = evidence.feature_count as f64;
        assumptions.insert(0, Assumption::at_least("enough features", have, columns).with_remedy(remedy));
        if !estimated.is_empty() {
            assumptions.push(Assumption::assumed("an effective dimension equal to its estimate"));
        }
        let inputs = vec![
            ("largest_effective_dimension", dimension),
            ("leverage_sum", leverage_sum),
            ("draws_needed", enough.repaired),
            ("printed_by_the_corollary", enough.corollary),
            ("printed_by_the_theorem", enough.theorem1),
        ];
        Ok(Self { columns, inputs, estimated, assumptions })
    }
}

fn requirement(source: Source, evidence: &Evidence, delta: f64, by_leverage: bool) -> Guarantee {
    let condition = match Condition::of(source, evidence, delta, by_leverage) {
        Ok(condition) => condition,
        Err(unavailable) => return *unavailable,
    };
    let columns = condition.columns;
    let mut inputs = evidence.inputs(delta);
    inputs.extend(condition.inputs);
    let mut estimated = condition.estimated;
    if let Some(norm) = evidence.weight_norm_square {
        // 2MRλ^r with M = 1, r = ½ and R ≈ ‖w‖/√2.
        let radius = (norm / 2.0).sqrt();
        inputs.extend([("r_hat", radius), ("excess_risk_term", 2.0 * radius * evidence.ridge.sqrt())]);
        estimated.push("r_hat");
    }
    source.guarantee(Finding {
        value: Some(columns).filter(|columns| *columns > 0.0),
        informative: true,
        failure_probability: Some(delta),
        assumptions: condition.assumptions,
        inputs,
        estimated,
        wording: Wording {
            claim: format!(
                "the risk of this model exceeds that of the best function by at most a term proportional to sqrt(lambda) plus \
                 a term of the order of {}, with probability at least {}: the theorem requires {columns} features and this \
                 model has {}",
                rounded_up(1.0 / (evidence.sample_count as f64).sqrt()),
                percent(delta),
                evidence.feature_count
            ),
            comparison: table1_row(evidence, by_leverage),
            ..Wording::default()
        },
    })
}

/// The row of the paper's Table 1 for the spectrum of the features or of their pool, if it is known.
fn table1_row(evidence: &Evidence, by_leverage: bool) -> String {
    let pool = evidence.pool.as_ref().map(|pool| &pool.spectrum).filter(|spectrum| !spectrum.is_empty());
    let Some(spectrum) = evidence.spectrum.as_ref().or(pool) else { return String::new() };
    let decay = decay(spectrum, evidence.spectrum_floor, evidence.sample_count);
    decay.map_or(String::new(), |decay| format!("; {}", describe_minimax_rate(decay, by_leverage)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::theory::evidence::tests::ridge_fit;
    use crate::theory::{Estimate, KernelEvidence, Status};

    fn classifier() -> Evidence {
        Evidence { loss: LossKind::Logistic, target_mean_square: None, ridge: 0.1, ..ridge_fit() }
    }

    #[test]
    fn a_loss_that_is_not_lipschitz_is_refused() {
        for (loss, word) in [(LossKind::Squared, "ridge"), (LossKind::SquaredHinge, "squared hinge")] {
            let evidence = Evidence { loss, ..classifier() };
            for guarantee in [theorem1(&evidence, 0.05), corollary1(&evidence, 0.05), corollary2(&evidence, 0.05)] {
                assert_eq!((guarantee.status, guarantee.value), (Status::NotApplicable, None));
                assert!(guarantee.statement.contains(word), "{}", guarantee.statement);
            }
        }
    }

    #[test]
    fn too_few_features_are_refused_with_a_number_that_is_enough() {
        let few = corollary1(&classifier(), 0.05);
        assert_eq!(few.status, Status::NotApplicable);
        let needed = few.value.unwrap() as usize;
        assert!(few.statement.contains(&format!("Use at least {needed} features")), "{}", few.statement);
        let enough = Evidence { feature_count: needed, draw_count: needed, ..classifier() };
        assert_eq!(corollary1(&enough, 0.05).status, Status::Conditional);
        assert_eq!(theorem1(&enough, 0.05).value, corollary1(&enough, 0.05).value);
    }

    /// λ = 10⁴ exceeds every eigenvalue that K/n can have, and 16d/δ is below 1: the count must not be negative.
    #[test]
    fn a_ridge_above_the_spectrum_requires_no_count() {
        let huge = Evidence { ridge: 1e4, ..classifier() };
        for found in [theorem1(&huge, 0.05), corollary1(&huge, 0.05), theorem2(&huge, 0.05)] {
            assert_eq!((found.status, found.value), (Status::NotApplicable, None));
            assert!(found.statement.contains("Use a smaller lambda."), "{}", found.statement);
            assert!(
                !found.statement.contains("-0") && !found.statement.contains("features at this lambda"),
                "{}",
                found.statement
            );
            assert!(found.inputs.values().all(|input| *input >= 0.0), "{:?}", found.inputs);
        }
    }

    #[test]
    fn a_met_requirement_asks_for_no_more_features() {
        let enough = Evidence { feature_count: 10_000, draw_count: 10_000, ..classifier() };
        assert!(corollary1(&enough, 0.05).statement.contains("that of the best function by at most a term"));
        let weighted = corollary1(&Evidence { rows_weighted: true, ..enough.clone() }, 0.05);
        assert!(!weighted.statement.contains("features at this lambda"), "{}", weighted.statement);
        let plain = corollary2(&enough, 0.05);
        assert_eq!(plain.lacks, None);
        assert!(plain.statement.ends_with("Use sampling leverage."), "{}", plain.statement);
    }

    /// d(λ) ≤ κ²/λ = 2e5 inside the logarithm, although there are only 300 rows; by hand (32/3)·2e5·log(16·2e5/0.05).
    #[test]
    fn the_rows_do_not_bound_the_dimension_of_the_population() {
        let small = corollary1(&Evidence { ridge: 1e-5, ..classifier() }, 0.05);
        let by_hand = (32.0 / 3.0 * 2e5 * (16.0_f64 * 2e5 / 0.05).ln()).ceil();
        assert_eq!(small.value, Some(by_hand));
    }

    #[test]
    fn sign_features_are_not_continuous() {
        let sign = Evidence { sign_features: true, feature_count: 10_000, draw_count: 10_000, ..classifier() };
        let found = corollary1(&sign, 0.05);
        assert_eq!(found.status, Status::NotApplicable);
        assert!(found.statement.contains("requires continuous features"), "{}", found.statement);
    }

    #[test]
    fn corollary_2_requires_the_effective_dimension_and_the_sampling() {
        assert_eq!(corollary2(&classifier(), 0.05).value, None);
        let dimension = Estimate { value: 3.0, standard_error: 0.1 };
        let kernel = Some(KernelEvidence { dimension, largest: None, spectral_delta: None });
        let known = Evidence { kernel, feature_count: 10_000, draw_count: 10_000, ..classifier() };
        let plain = corollary2(&known, 0.05);
        assert!(plain.value.unwrap() < corollary1(&known, 0.05).value.unwrap());
        assert_eq!(plain.status, Status::NotApplicable);
        let weighted = corollary2(&Evidence { sampling: SamplingKind::LeverageWeighted, ..known }, 0.05);
        let estimated = vec!["leverage_sum"];
        assert_eq!((weighted.status, weighted.estimated), (Status::Conditional, estimated));
    }
}
