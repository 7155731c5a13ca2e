//! H. Avron, M. Kapralov, C. Musco, C. Musco, A. Velingker, A. Zandieh, *Random Fourier features for
//! kernel ridge regression: approximation bounds and statistical guarantees*, ICML 2017.
//!
//! **Statement.** K̃ + nλI is within a factor 1 ± Δ of K + nλI with probability 1 − ρ, once there are
//! (8/3)Δ⁻²·n_λκ²·log(16s_λ/ρ) draws from the kernel (Theorem 7) or (8/3)Δ⁻²·s_λ·log(16s_λ/ρ) draws by
//! leverage (Lemma 6). The risk of ridge regression then grows only slightly (Lemma 2).
//!
//! **Assumptions.** Δ ≤ ½, and ‖K‖₂ ≥ nλ, which makes s_λ at least ½ and the logarithm positive.
//!
//! **Notation.** The paper's λ is ours times n, so its n_λ = n/λ is our 1/λ; its κ² is our b, its ρ our
//! δ. s counts independent draws.
//!
//! **Departures.** The paper has κ = 1. Inside the logarithm, min(n, b/λ) ≥ s_λ is used if the dimension of the
//! kernel was not measured, because that of few features is too small. ‖K‖₂ ≥ nλ is checked by a lower bound.

/// Theorem 8: how many features plain sampling cannot do without.
pub mod lower_bound;

/// Lemma 2: how much risk the approximation adds.
pub mod risk_inflation;

use crate::theory::statement::guarantee::{Finding, Source};
use crate::theory::statement::words::{Wording, percent, rounded_up};
use crate::theory::{Assumption, Evidence, Form, Guarantee, Lack};
use serde::Serialize;

const THEOREM7: Source = Source {
    id: "avron.theorem7",
    paper: "Avron et al. 2017, Theorem 7",
    bounds: "Delta with (1-Delta)(K+n lambda I) <= K_s+n lambda I <= (1+Delta)(K+n lambda I)",
    form: Form::Bound,
};
const LEMMA6: Source =
    Source { id: "avron.lemma6", paper: "Avron et al. 2017, Lemma 6, for draws by leverage", ..THEOREM7 };

/// The largest Δ that the theorems cover.
pub const LARGEST_DELTA: f64 = 0.5;

/// A lower bound on s_λ if μ₁ ≥ λ, because μ₁/(μ₁+λ) is one of its terms.
pub const SMALLEST_DIMENSION: f64 = 0.5;

/// Δ = √((8/3)·sum·log(16s_λ/ρ)/m). The sum of leverages is b/λ for draws from the kernel and s_λ for draws by
/// leverage. [A, Thm 7 and Lemma 6]
pub fn delta_for_draws(leverage_sum: f64, dimension: f64, draw_count: usize, failure_probability: f64) -> f64 {
    (draws_for_delta(leverage_sum, dimension, 1.0, failure_probability) / draw_count as f64).sqrt()
}

/// The draws that a Δ requires, before rounding up: (8/3)Δ⁻²·sum·log(16s_λ/ρ), with s_λ at least ½, as the theorems
/// assume. [A, Thm 7 and Lemma 6]
pub fn draws_for_delta(leverage_sum: f64, dimension: f64, delta: f64, failure_probability: f64) -> f64 {
    let log = (16.0 * dimension.max(SMALLEST_DIMENSION)).ln() - failure_probability.ln();
    8.0 / 3.0 * leverage_sum * log / (delta * delta)
}

/// `avron.theorem7`: draws from the kernel.
pub fn theorem7(evidence: &Evidence, failure_probability: f64) -> Guarantee {
    let Some(b) = evidence.feature_bound else {
        return THEOREM7.unavailable(evidence.features_bounded());
    };
    let sum = b / evidence.ridge;
    spectral(THEOREM7, evidence, failure_probability, sum, b, evidence.draws_from_the_kernel())
}

/// `avron.lemma6`: draws by leverage.
pub fn lemma6(evidence: &Evidence, failure_probability: f64) -> Guarantee {
    let Some(b) = evidence.feature_bound else {
        return LEMMA6.unavailable(evidence.features_bounded());
    };
    let Some((dimension, _)) = evidence.leverage_sum() else {
        return LEMMA6.unmeasured(Lack::Dimension, conditions(evidence, evidence.draws_by_leverage()));
    };
    spectral(LEMMA6, evidence, failure_probability, dimension, b, evidence.draws_by_leverage())
}

/// The Δ that Theorem 7 or Lemma 6 proves for this model, if one of them applies.
pub(crate) fn proved_delta(evidence: &Evidence, failure_probability: f64) -> Option<f64> {
    let proved = [theorem7(evidence, failure_probability), lemma6(evidence, failure_probability)]
        .into_iter()
        .filter(|guarantee| guarantee.status != crate::theory::Status::NotApplicable)
        .filter_map(|guarantee| guarantee.value);
    proved.reduce(f64::min)
}

/// The speed of conjugate gradients on K + nλI with the preconditioner K̃ + nλI.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Preconditioning {
    /// An upper bound on κ, the condition number.
    pub condition: f64,
    /// ε, the wanted relative error.
    pub accuracy: f64,
    /// An upper bound on the iterations until the error in the norm of K + nλI has shrunk to ε of its start.
    pub iterations: usize,
}

impl Preconditioning {
    /// The eigenvalues of (K̃+nλI)⁻¹(K+nλI) lie between 1/(1+Δ) and 1/(1−Δ), so κ ≤ (1+Δ)/(1−Δ) [A, §3.2], and t
    /// iterations leave at most 2((√κ−1)/(√κ+1))^t of the error. None for Δ ≥ 1.
    pub fn of(delta: f64, accuracy: f64) -> Option<Self> {
        let condition = (1.0 + delta) / (1.0 - delta);
        let root = condition.sqrt();
        let shrink = (root - 1.0) / (root + 1.0);
        let iterations = if shrink > 0.0 { (accuracy / 2.0).ln() / shrink.ln() } else { 1.0 };
        let known = (0.0..1.0).contains(&delta) && iterations.is_finite();
        known.then(|| Self { condition, accuracy, iterations: iterations.ceil().max(1.0) as usize })
    }
}

/// ‖K‖₂ ≥ nλ.
fn norm_at_least_n_lambda(evidence: &Evidence) -> Assumption {
    evidence.ridge_below_the_spectrum(evidence.kernel.as_ref().and_then(|kernel| kernel.largest))
}

/// The conditions besides the number of features.
fn conditions(evidence: &Evidence, draws: Assumption) -> Vec<Assumption> {
    let common = [norm_at_least_n_lambda(evidence), evidence.features_bounded(), evidence.features_unbiased(), draws];
    common.into_iter().chain(evidence.choices()).collect()
}

fn spectral(source: Source, evidence: &Evidence, rho: f64, sum: f64, b: f64, draws: Assumption) -> Guarantee {
    let (dimension, uncertain) = evidence.dimension_at_most(b);
    // For draws by leverage the sum is the dimension, estimated from the features if that of the kernel is unknown.
    let by_leverage = source.id == LEMMA6.id && evidence.leverage_sum().is_some_and(|(_, exact)| !exact);
    let delta = delta_for_draws(sum, dimension, evidence.draw_count, rho);
    let needed = evidence.columns_of(draws_for_delta(sum, dimension, LARGEST_DELTA, rho));
    let mut inputs = evidence.inputs(rho);
    inputs.extend([("effective_dimension", dimension), ("leverage_sum", sum), ("features_for_delta_half", needed)]);
    let enough = Assumption::at_least("enough features for Delta <= 1/2", evidence.feature_count as f64, needed)
        .with_remedy(format!("Use at least {needed} features at this lambda; a larger lambda requires fewer."));
    let mut assumptions = vec![enough];
    assumptions.extend(conditions(evidence, draws));
    let mut estimated = Vec::new();
    if uncertain {
        estimated.push("effective_dimension");
    }
    if by_leverage {
        estimated.push("leverage_sum");
    }
    if !estimated.is_empty() {
        assumptions.push(Assumption::assumed("an effective dimension equal to its estimate"));
    }
    source.guarantee(Finding {
        value: Some(delta),
        informative: true,
        failure_probability: Some(rho),
        assumptions,
        inputs,
        estimated,
        wording: Wording {
            claim: format!(
                "the regularised kernel matrix of this model is within a factor 1 ± {} of the exact one, with probability at \
                 least {} over the feature draws",
                rounded_up(delta),
                percent(rho)
            ),
            ..Wording::default()
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::theory::evidence::tests::ridge_fit;
    use crate::theory::{AssumptionState, Estimate, KernelEvidence, Status};

    fn known(features: usize) -> Evidence {
        let dimension = Estimate { value: 4.0, standard_error: 0.0 };
        let kernel = Some(KernelEvidence { dimension, largest: Some(0.8), spectral_delta: None });
        Evidence { kernel, feature_count: features, draw_count: features, ..ridge_fit() }
    }

    /// sum = 3, s_λ = 1, ρ = 16/e: 8 draws for Δ = 1, 32 for ½.
    #[test]
    fn values_by_hand() {
        let rho = 16.0 / std::f64::consts::E;
        assert!((draws_for_delta(3.0, 1.0, 0.5, rho) - 32.0).abs() < 1e-12);
        assert!((delta_for_draws(3.0, 1.0, 32, rho) - 0.5).abs() < 1e-15);
    }

    #[test]
    fn features_and_delta_are_inverse() {
        let draws = draws_for_delta(20.0, 7.0, 0.3, 0.05);
        assert!((delta_for_draws(20.0, 7.0, draws.ceil() as usize, 0.05) - 0.3).abs() < 1e-3);
        assert!(draws_for_delta(20.0, 7.0, 0.3, 0.01) > draws);
    }

    /// Δ = 0.6: κ = 4, a factor 1/3 a step; 2·3^(−t) ≤ 2·10⁻⁴ from t = 9 on.
    #[test]
    fn iterations_by_hand() {
        let found = Preconditioning::of(0.6, 2e-4).unwrap();
        assert!((found.condition - 4.0).abs() < 1e-12);
        assert_eq!(found.iterations, 9);
        assert_eq!(Preconditioning::of(0.0, 1e-8).unwrap().iterations, 1);
        assert!(Preconditioning::of(1.0, 1e-8).is_none() && Preconditioning::of(7.0, 1e-8).is_none());
    }

    #[test]
    fn too_few_features_are_refused_and_enough_hold() {
        let few = theorem7(&known(20), 0.05);
        assert_eq!(few.status, Status::NotApplicable);
        assert!(few.statement.contains("features at this lambda"));
        let enough = theorem7(&known(2_000), 0.05);
        assert_eq!(enough.status, Status::Holds);
        assert!(enough.value.unwrap() <= 0.5);
        assert_eq!(lemma6(&known(2_000), 0.05).status, Status::NotApplicable); // not drawn by leverage
        assert_eq!(proved_delta(&known(2_000), 0.05), enough.value);
        assert_eq!(proved_delta(&known(20), 0.05), None);
    }

    /// ‖Kα‖²/(nQ) = 0.8 shows μ₁ ≥ 0.7; 0.1 shows nothing.
    #[test]
    fn a_rayleigh_quotient_checks_the_top_eigenvalue_or_leaves_it_assumed() {
        let state = |fitted: f64| {
            let dimension = Estimate { value: 4.0, standard_error: 0.0 };
            let kernel = Some(KernelEvidence { dimension, largest: None, spectral_delta: None });
            let exact = Some(crate::theory::evidence::tests::exact(1.0, fitted));
            norm_at_least_n_lambda(&Evidence { kernel, exact, ..known(2_000) })
        };
        assert_eq!((state(240.0).state, state(240.0).have), (AssumptionState::Checked, Some(0.8)));
        assert_eq!((state(30.0).state, state(30.0).have), (AssumptionState::Assumed, None));
        assert!(state(30.0).text.ends_with("known to be at least 0.1000"), "{}", state(30.0).text);
    }

    #[test]
    fn a_ridge_above_the_spectrum_is_a_violation() {
        let evidence = Evidence { ridge: 0.9, ..known(2_000) };
        assert_eq!(theorem7(&evidence, 0.05).status, Status::NotApplicable);
    }

    /// μ₁ of K/n is at most its trace, 1, whether or not anything was measured; far above it the logarithm would be
    /// negative.
    #[test]
    fn a_ridge_above_the_trace_is_a_violation_with_a_remedy() {
        for ridge in [2.0, 1e4] {
            let found = theorem7(&Evidence { ridge, ..ridge_fit() }, 0.05);
            assert_eq!(found.status, Status::NotApplicable);
            assert!(found.statement.ends_with("Use a smaller lambda."), "{}", found.statement);
            assert!(found.value.unwrap() > 0.0 && found.inputs["features_for_delta_half"] > 0.0);
            assert!(!found.statement.contains("features at this lambda"), "{}", found.statement);
        }
        assert_eq!(norm_at_least_n_lambda(&Evidence { ridge: 1.0, ..ridge_fit() }).state, AssumptionState::Assumed);
    }

    /// No job is recommended that cannot help, and no features are asked for where there are enough.
    #[test]
    fn features_that_are_not_drawn_by_leverage_are_refused_before_anything_is_measured() {
        let found = lemma6(&ridge_fit(), 0.05);
        assert_eq!(found.lacks, None);
        assert!(found.statement.ends_with("Use sampling leverage."), "{}", found.statement);
        let weighted = theorem7(&Evidence { rows_weighted: true, ..known(2_000) }, 0.05);
        assert!(weighted.statement.ends_with("Train without weights."), "{}", weighted.statement);
        assert!(!weighted.statement.contains("features at this lambda"), "{}", weighted.statement);
    }
}
