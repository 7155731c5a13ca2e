//! How much risk the random features add to ridge regression. [A, Lemma 2]
//!
//! At fixed inputs, with y = f + noise of variance σ², the exact method has the risk
//! R̂ = λ·fᵀ(K+nλI)⁻¹f + σ²s_λ/n, and a Δ-spectral approximation at most
//! R̂/(1−Δ) + (Δ/(1+Δ))·(rank K̃/n)·σ². f and σ² are unknown: f = Kα and σ² = RSS/(n − s_λ) of the exact
//! fit stand for them, which makes the figure an estimate.

use super::avron::proved_delta;
use super::guarantee::{Finding, Source};
use super::wang::theorem1::{ASK_FOR_EXACT, NEEDS_EXACT, ridge_only};
use super::words::{Wording, rounded_up};
use super::{Assumption, Evidence, ExactEvidence, Form, Guarantee};

const LEMMA2: Source = Source {
    id: "avron.lemma2",
    paper: "Avron et al. 2017, Lemma 2, with f and the noise plugged in",
    bounds: "risk of this model at the training inputs",
    form: Form::Estimate,
};

/// What Lemma 2 is about.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ExactRisk {
    /// λ·fᵀ(K+nλI)⁻¹f.
    pub bias: f64,
    /// σ².
    pub noise: f64,
    /// s_λ.
    pub dimension: f64,
}

impl ExactRisk {
    /// R̂ = bias + σ²s_λ/n.
    pub fn of_the_exact_method(&self, sample_count: usize) -> f64 {
        self.bias + self.noise * self.dimension / sample_count as f64
    }

    /// R̂/(1−Δ) + (Δ/(1+Δ))·(rank/n)·σ². [A, Lemma 2]
    pub fn inflated(&self, delta: f64, rank: usize, sample_count: usize) -> f64 {
        let added = delta / (1.0 + delta) * rank as f64 / sample_count as f64 * self.noise;
        self.of_the_exact_method(sample_count) / (1.0 - delta) + added
    }
}

/// σ² = RSS/(n − s_λ) of the exact fit, with RSS = ‖y‖² − ‖Kα‖² − 2nλQ because y = Kα + nλα.
pub fn noise_variance(
    sample_count: usize,
    ridge: f64,
    target_mean_square: f64,
    quadratic_form: f64,
    fitted_square: f64,
    dimension: f64,
) -> f64 {
    let n = sample_count as f64;
    let residual_square = n * target_mean_square - fitted_square - 2.0 * n * ridge * quadratic_form;
    residual_square.max(0.0) / (n - dimension)
}

/// `avron.lemma2`.
pub fn lemma2(evidence: &Evidence, failure_probability: f64) -> Guarantee {
    let Some(variance) = evidence.target_mean_square else { return ridge_only(LEMMA2, evidence) };
    let Some((exact, fitted)) = evidence.exact.as_ref().and_then(|exact| Some((exact, exact.fitted_square?))) else {
        return LEMMA2.unavailable(NEEDS_EXACT, ASK_FOR_EXACT);
    };
    let (Some(kernel), Some((dimension, _))) = (&evidence.kernel, evidence.effective_dimension()) else {
        return LEMMA2.unavailable(
            "the effective dimension of the kernel is known, which it is not",
            "A certify job would make it available.",
        );
    };
    let measured = kernel.spectral_delta.filter(|delta| *delta < 1.0);
    let Some(delta) = measured.or_else(|| proved_delta(evidence, failure_probability)) else {
        return LEMMA2.unavailable(
            "the kernel matrix is approximated within a factor, which no theorem proves and nothing measured shows",
            "More features, a larger lambda, or a certify job that measures the factor would make it available.",
        );
    };
    let n = evidence.sample_count;
    let noise = noise_variance(n, evidence.ridge, variance, exact.quadratic_form, fitted, dimension);
    let risk = ExactRisk { bias: evidence.ridge * form_of_the_fit(exact), noise, dimension };
    let value = risk.inflated(delta, evidence.feature_count.min(n), n);
    let largest = kernel.largest.map_or_else(
        || Assumption::assumed("the largest eigenvalue of K is at least 1"),
        |largest| Assumption::at_least("the largest eigenvalue of K is at least 1", n as f64 * largest, 1.0),
    );
    let approximation = if measured.is_some() { "measured" } else { "proved by Theorem 7 or Lemma 6" };
    let mut inputs = evidence.inputs(failure_probability);
    inputs.extend([
        ("spectral_delta", delta),
        ("effective_dimension", dimension),
        ("noise_variance", noise),
        ("bias", risk.bias),
        ("exact_risk", risk.of_the_exact_method(n)),
    ]);
    LEMMA2.guarantee(Finding {
        value: Some(value),
        informative: true,
        assumptions: vec![
            Assumption::checked(format!("Delta = {} is {approximation}", rounded_up(delta))),
            largest,
            Assumption::assumed("the true function is the exact fit, and the noise what that fit leaves over"),
            Assumption::assumed("the noise is independent with one variance"),
        ],
        inputs,
        estimated: vec!["bias", "noise_variance"],
        wording: Wording {
            claim: format!("the risk of this model at the training inputs is about {} or less", rounded_up(value)),
            context: format!(", that of the exact kernel method {}", rounded_up(risk.of_the_exact_method(n))),
            ..Wording::default()
        },
        ..Finding::default()
    })
}

/// fᵀ(K+nλI)⁻¹f at f = Kα, or Q, which it never exceeds.
fn form_of_the_fit(exact: &ExactEvidence) -> f64 {
    exact.fitted_form.unwrap_or(exact.quadratic_form)
}

#[cfg(test)]
mod tests {
    use super::super::evidence::tests::{exact, ridge_fit};
    use super::*;
    use crate::theory::{Estimate, KernelEvidence, Status};

    /// R̂ = 0.1 + 2·5/100 = 0.2; Δ = ½, rank 30: 0.4 + (1/3)·0.3·2 = 0.6.
    #[test]
    fn values_by_hand() {
        let risk = ExactRisk { bias: 0.1, noise: 2.0, dimension: 5.0 };
        assert!((risk.of_the_exact_method(100) - 0.2).abs() < 1e-15);
        assert!((risk.inflated(0.5, 30, 100) - 0.6).abs() < 1e-15);
        assert!(risk.inflated(0.25, 30, 100) < risk.inflated(0.5, 30, 100));
        assert_eq!(risk.inflated(0.0, 30, 100), risk.of_the_exact_method(100));
    }

    /// K = diag(2, 0), y = (4, 3), nλ = 2: α = (1, 1.5), Q = 2, ‖Kα‖² = 4, RSS = 4 + 9, s_λ = ½.
    #[test]
    fn the_noise_follows_from_the_exact_solution() {
        assert!((noise_variance(2, 1.0, 12.5, 2.0, 4.0, 0.5) - 13.0 / 1.5).abs() < 1e-12);
    }

    #[test]
    fn it_is_an_estimate_and_needs_a_delta() {
        let dimension = Estimate { value: 4.0, standard_error: 0.0 };
        let kernel = |spectral_delta| Some(KernelEvidence { dimension, largest: Some(0.8), spectral_delta });
        let evidence = |delta| Evidence { kernel: kernel(delta), exact: Some(exact(0.037, 3.0)), ..ridge_fit() };
        assert_eq!(lemma2(&ridge_fit(), 0.05).value, None);
        assert_eq!(lemma2(&evidence(None), 0.05).value, None);
        let found = lemma2(&evidence(Some(0.2)), 0.05);
        assert_eq!((found.form, found.status, found.probability), (Form::Estimate, Status::Conditional, None));
        assert!(found.value.unwrap() > found.inputs["exact_risk"]);
    }
}
