//! The risk that random features add to ridge regression. [A, Lemma 2]
//!
//! At fixed inputs, with y = f + noise of variance σ², the exact method has the risk
//! R̂ = λ·fᵀ(K+nλI)⁻¹f + σ²s_λ/n, and a Δ-spectral approximation at most
//! R̂/(1−Δ) + (Δ/(1+Δ))·(rank K̃/n)·σ². f and σ² are unknown and replaced by f = Kα and σ² = RSS/(n − s_λ) of
//! the exact fit, so the result is an estimate.

use super::proved_delta;
use crate::theory::statement::guarantee::{Finding, Source};
use crate::theory::statement::words::{Wording, rounded_up};
use crate::theory::{Assumption, AssumptionState, Evidence, ExactEvidence, Form, Guarantee, Lack};

const LEMMA2: Source = Source {
    id: "avron.lemma2",
    paper: "Avron et al. 2017, Lemma 2, with plug-in estimates of f and of the noise",
    bounds: "risk of this model at the training inputs",
    form: Form::Estimate,
};

/// The parts of the risk of the exact method.
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

/// `avron.lemma2`: with the measured Δ if it is below 1, otherwise with the proved one.
pub fn lemma2(evidence: &Evidence, failure_probability: f64) -> Guarantee {
    let Some(variance) = evidence.target_mean_square else { return LEMMA2.unavailable(evidence.is_not_ridge()) };
    let Some((exact, fitted)) = evidence.exact.as_ref().and_then(|exact| Some((exact, exact.fitted_square?))) else {
        return LEMMA2.unmeasured(Lack::ExactSolution, known(evidence));
    };
    let Some(kernel) = &evidence.kernel else {
        return LEMMA2.unmeasured(Lack::Dimension, known(evidence));
    };
    let dimension = kernel.dimension.value;
    let measured = kernel.spectral_delta.filter(|delta| *delta < 1.0);
    let Some(delta) = measured.or_else(|| proved_delta(evidence, failure_probability)) else {
        return LEMMA2.unmeasured(Lack::SpectralDelta, known(evidence));
    };
    let n = evidence.sample_count;
    let noise = noise_variance(n, evidence.ridge, variance, exact.quadratic_form, fitted, dimension);
    let risk = ExactRisk { bias: evidence.ridge * form_of_the_fit(exact), noise, dimension };
    let value = risk.inflated(delta, evidence.feature_count.min(n), n);
    let mut estimated = vec!["bias", "noise_variance"];
    let approximation = approximation(evidence, delta, measured.is_some());
    if approximation.state == AssumptionState::Assumed {
        estimated.push("spectral_delta");
    }
    if kernel.dimension.standard_error > 0.0 {
        estimated.push("effective_dimension");
    }
    let mut inputs = evidence.inputs(failure_probability);
    inputs.extend([
        ("spectral_delta", delta),
        ("effective_dimension", dimension),
        ("noise_variance", noise),
        ("bias", risk.bias),
        ("exact_risk", risk.of_the_exact_method(n)),
    ]);
    let mut assumptions = vec![
        approximation,
        norm_at_least_one(evidence),
        Assumption::assumed("a true function equal to the exact fit, and noise equal to its residuals"),
        Assumption::assumed("independent noise of constant variance"),
    ];
    assumptions.extend(evidence.choices_ignore_the_targets());
    LEMMA2.guarantee(Finding {
        value: Some(value),
        informative: true,
        assumptions,
        inputs,
        estimated,
        wording: Wording {
            claim: format!("the risk of this model at the training inputs is about {} or less", rounded_up(value)),
            comparison: format!(
                "; that of the exact kernel method is about {}",
                rounded_up(risk.of_the_exact_method(n))
            ),
            ..Wording::default()
        },
        ..Finding::default()
    })
}

/// What can be decided without a measurement.
fn known(evidence: &Evidence) -> Vec<Assumption> {
    [norm_at_least_one(evidence)].into_iter().chain(evidence.choices_ignore_the_targets()).collect()
}

/// Δ is checked if it was measured on all rows. On some of the rows it is an estimate, and a proved Δ is only as good as
/// the assumptions of its theorem.
fn approximation(evidence: &Evidence, delta: f64, measured: bool) -> Assumption {
    let (rows, all, delta) = (evidence.spectral_rows(), evidence.sample_count, rounded_up(delta));
    match measured {
        true if rows == all => Assumption::checked(format!("Delta = {delta}, measured on all {all} training rows")),
        true => Assumption::assumed(format!(
            "Delta = {delta} on all training rows, although it was measured on {rows} of {all}"
        )),
        false => Assumption::assumed(format!(
            "Delta = {delta}, proved by Theorem 7 or Lemma 6 under the assumptions of that theorem"
        )),
    }
}

/// ‖K‖₂ ≥ 1. If the features are bounded, k(x,x) ≥ 1 and so ‖K‖₂ ≥ tr K/n ≥ 1.
fn norm_at_least_one(evidence: &Evidence) -> Assumption {
    let text = "a spectral norm of K large enough for the lemma";
    let n = evidence.sample_count as f64;
    match (evidence.feature_bound, evidence.kernel.as_ref().and_then(|kernel| kernel.largest)) {
        (Some(_), _) => {
            Assumption::checked(format!("{text}: at least 1, because k(x,x) >= 1 makes the trace of K at least n"))
        }
        (None, Some(largest)) => Assumption::at_least(text, n * largest, 1.0),
        (None, None) => match evidence.largest_at_least() {
            Some(known) => Assumption::at_least_by_bound(text, n * known, 1.0),
            None => Assumption::assumed(text),
        },
    }
}

/// fᵀ(K+nλI)⁻¹f at f = Kα, or its upper bound Q.
fn form_of_the_fit(exact: &ExactEvidence) -> f64 {
    exact.fitted_form.unwrap_or(exact.quadratic_form)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::theory::evidence::tests::{exact, ridge_fit};
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

    #[test]
    fn a_delta_is_checked_where_all_rows_measured_it_and_no_trace_estimate_is_passed_off_as_exact() {
        let of = |sample_count: usize, standard_error: f64, spectral_delta| {
            let dimension = Estimate { value: 4.0, standard_error };
            let kernel = Some(KernelEvidence { dimension, largest: None, spectral_delta });
            let exact = Some(exact(0.037, 3.0));
            lemma2(&Evidence { sample_count, kernel, exact, ..ridge_fit() }, 0.05)
        };
        let (all, part) = (of(1_000, 0.0, Some(0.2)), of(1_001, 0.3, Some(0.2)));
        assert_eq!(
            (all.assumptions[0].state, part.assumptions[0].state),
            (AssumptionState::Checked, AssumptionState::Assumed)
        );
        assert!(part.assumptions[0].text.contains("1000 of 1001"), "{}", part.assumptions[0].text);
        assert_eq!(all.estimated, ["bias", "noise_variance"]);
        assert_eq!(part.estimated, ["bias", "noise_variance", "spectral_delta", "effective_dimension"]);
        assert_eq!(all.assumptions[1].state, AssumptionState::Checked);
        let many = Evidence { feature_count: 2_000, draw_count: 2_000, ..ridge_fit() };
        let kernel = KernelEvidence {
            dimension: Estimate { value: 4.0, standard_error: 0.0 },
            largest: Some(0.8),
            spectral_delta: None,
        };
        let proved = lemma2(&Evidence { kernel: Some(kernel), exact: Some(exact(0.037, 3.0)), ..many }, 0.05);
        assert_eq!(proved.assumptions[0].state, AssumptionState::Assumed);
        assert!(proved.assumptions[0].text.contains("Theorem 7"), "{}", proved.assumptions[0].text);
    }
}
