//! A. Rudi, L. Rosasco, *Generalization properties of learning with random features*, NeurIPS 2017
//! (extended version, Theorems 1–3).
//!
//! **Statement.** With λ = n^(−1/(2r+γ)) and c₀·n^((α+(1+γ−α)(2r−1))/(2r+γ))·log(108κ²n/δ) features,
//! the excess risk of random-feature ridge regression is of the order
//! n^(−2r/(2r+γ))·log²(18/δ), that of the exact method.
//!
//! **Assumptions.** r: the target function lies in the range of L^r (cannot be checked; ½ means that it
//! lies in the kernel's space). γ: the effective dimension grows as λ^(−γ) (estimated from
//! eigenvalues). α: the largest leverage grows as λ^(−α) (1 always; estimated over a pool). ψ continuous, y bounded, and
//! n ≥ n₀, which the paper does not state.
//!
//! **Notation.** The paper's M is our number of draws, its κ² our b.
//!
//! **Departures.** c₀ and the constant of the risk are not stated in the body of the paper. Everything
//! here is a rate with c₀ = 1, or with c₀ estimated by trials on the rows (R, §4), never a bound.

use crate::theory::spectrum::{ExponentFit, capacity_exponent, ridges_around};
use crate::theory::statement::guarantee::{Finding, Source};
use crate::theory::statement::words::{Wording, rounded_up};
use crate::theory::{Assumption, Evidence, Form, Guarantee, Lack, SamplingKind};

const THEOREM1: Source = Source {
    id: "rudi_rosasco.theorem1",
    paper: "Rudi & Rosasco 2017, Theorem 1",
    bounds: "features, up to an unknown factor, for the learning rate of the exact method",
    form: Form::Rate,
};
const THEOREM2: Source = Source { id: "rudi_rosasco.theorem2", paper: "Rudi & Rosasco 2017, Theorem 2", ..THEOREM1 };
const THEOREM3: Source = Source { id: "rudi_rosasco.theorem3", paper: "Rudi & Rosasco 2017, Theorem 3", ..THEOREM1 };

/// The exponents that describe how hard a problem is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Regularity {
    /// r, from ½ to 1.
    pub source: f64,
    /// γ, from 0 to 1.
    pub capacity: f64,
    /// α, from γ to 1.
    pub leverage: f64,
}

/// Assumes only that the target function lies in the kernel's space.
pub const WORST_CASE: Regularity = Regularity { source: 0.5, capacity: 1.0, leverage: 1.0 };

/// What a theorem gives for n rows: λ, features and excess risk.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rate {
    /// The number of features grows like n to this power.
    pub feature_exponent: f64,
    /// n^(−1/(2r+γ)).
    pub ridge: f64,
    /// n^(−2r/(2r+γ)), without constant and logarithm.
    pub risk: f64,
    /// log²(18/δ), the logarithmic factor of the risk.
    pub risk_log_factor: f64,
    /// Draws at c₀ = 1, before rounding up.
    pub draws: f64,
}

/// Theorem 3; Theorem 2 at α = 1. [R, Thm 2–3]
pub fn rate(regularity: Regularity, feature_bound: f64, sample_count: usize, failure_probability: f64) -> Rate {
    let n = sample_count as f64;
    rate_with_log(regularity, (108.0 * feature_bound * n).ln() - failure_probability.ln(), n, failure_probability)
}

/// Theorem 1: the worst case, with √n inside the logarithm. [R, Thm 1]
pub fn worst_case_rate(feature_bound: f64, sample_count: usize, failure_probability: f64) -> Rate {
    let n = sample_count as f64;
    let log = (108.0 * feature_bound * n.sqrt()).ln() - failure_probability.ln();
    rate_with_log(WORST_CASE, log, n, failure_probability)
}

fn rate_with_log(regularity: Regularity, log: f64, n: f64, delta: f64) -> Rate {
    let Regularity { source: r, capacity: gamma, leverage: alpha } = regularity;
    let scale = 2.0 * r + gamma;
    let feature_exponent = (alpha + (1.0 + gamma - alpha) * (2.0 * r - 1.0)) / scale;
    Rate {
        feature_exponent,
        ridge: n.powf(-1.0 / scale),
        risk: n.powf(-2.0 * r / scale),
        risk_log_factor: (18.0_f64.ln() - delta.ln()).powi(2),
        draws: n.powf(feature_exponent) * log,
    }
}

/// `rudi_rosasco.theorem1`: the worst case.
pub fn theorem1(evidence: &Evidence, failure_probability: f64) -> Guarantee {
    let Some(b) = evidence.feature_bound else { return THEOREM1.unavailable(evidence.features_bounded()) };
    let rate = worst_case_rate(b, evidence.sample_count, failure_probability);
    guarantee(THEOREM1, evidence, failure_probability, WORST_CASE, rate, &[])
}

/// `rudi_rosasco.theorem2`: with γ̂ from the eigenvalues of G.
pub fn theorem2(evidence: &Evidence, failure_probability: f64) -> Guarantee {
    let Some(b) = evidence.feature_bound else { return THEOREM2.unavailable(evidence.features_bounded()) };
    let gamma = match capacity(THEOREM2, evidence) {
        Ok(gamma) => gamma,
        Err(unavailable) => return *unavailable,
    };
    let regularity = Regularity { capacity: within_unit(gamma.exponent), ..WORST_CASE };
    let rate = rate(regularity, b, evidence.sample_count, failure_probability);
    guarantee(THEOREM2, evidence, failure_probability, regularity, rate, &[("gamma_fit_quality", gamma.quality)])
}

/// `rudi_rosasco.theorem3`: also with α̂ from the largest leverage of a pool or of the model's own features.
pub fn theorem3(evidence: &Evidence, failure_probability: f64) -> Guarantee {
    let Some(b) = evidence.feature_bound else { return THEOREM3.unavailable(evidence.features_bounded()) };
    let gamma = match capacity(THEOREM3, evidence) {
        Ok(gamma) => gamma,
        Err(unavailable) => return *unavailable,
    };
    if evidence.sampling == SamplingKind::LeverageWeighted {
        return by_leverage(evidence, b, gamma, failure_probability);
    }
    if evidence.pool.is_none() {
        return THEOREM3.unmeasured(Lack::Leverage, conditions(THEOREM3, evidence));
    }
    let Some(alpha) = evidence.leverage_exponent() else {
        return THEOREM3.unavailable(
            Assumption::violated(
                "enough features for leverages below their ceiling at several values of lambda",
                "the leverages are near their ceiling",
            )
            .with_remedy("Use more features, or see rudi_rosasco.theorem2."),
        );
    };
    let capacity = within_unit(gamma.exponent);
    let leverage = within_unit(alpha.exponent).max(capacity);
    let regularity = Regularity { source: 0.5, capacity, leverage };
    let rate = rate(regularity, b, evidence.sample_count, failure_probability);
    let qualities = [("gamma_fit_quality", gamma.quality), ("alpha_fit_quality", alpha.quality)];
    let mut found = guarantee(THEOREM3, evidence, failure_probability, regularity, rate, &qualities);
    if found.value.is_some() {
        found
            .assumptions
            .push(Assumption::assumed("a largest leverage over all features equal to the largest one measured"));
    }
    found
}

/// Theorem 3 for features drawn by leverage and reweighted, whose largest leverage is the effective dimension: α = γ.
/// [R, Example 2]. That the leverages are estimated is not proved. [R, Remark 4]
fn by_leverage(evidence: &Evidence, b: f64, gamma: ExponentFit, failure_probability: f64) -> Guarantee {
    let capacity = within_unit(gamma.exponent);
    let regularity = Regularity { source: 0.5, capacity, leverage: capacity };
    let rate = rate(regularity, b, evidence.sample_count, failure_probability);
    let qualities = [("gamma_fit_quality", gamma.quality)];
    guarantee(THEOREM3, evidence, failure_probability, regularity, rate, &qualities)
}

/// γ̂, or the guarantee that says why there is none.
fn capacity(source: Source, evidence: &Evidence) -> Result<ExponentFit, Box<Guarantee>> {
    if evidence.target_mean_square.is_none() {
        return Err(Box::new(source.unavailable(evidence.is_not_ridge())));
    }
    let Some(spectrum) = &evidence.spectrum else {
        return Err(Box::new(source.unmeasured(Lack::Spectrum, conditions(source, evidence))));
    };
    capacity_exponent(spectrum, &ridges_around(evidence.ridge)).ok_or_else(|| {
        let constant = Assumption::violated("an effective dimension that changes with lambda", "it is constant");
        Box::new(source.unavailable(constant))
    })
}

fn within_unit(exponent: f64) -> f64 {
    exponent.clamp(0.0, 1.0)
}

/// The conditions that the three theorems share.
fn conditions(source: Source, evidence: &Evidence) -> Vec<Assumption> {
    let by_leverage = source.id == THEOREM3.id && evidence.sampling == SamplingKind::LeverageWeighted;
    let draws = if by_leverage { evidence.draws_by_leverage() } else { evidence.draws_from_the_kernel() };
    let common = [
        evidence.features_bounded(),
        evidence.features_unbiased(),
        draws,
        evidence.features_continuous(),
        Assumption::assumed("a best function in the kernel's space (r = 1/2)"),
        if evidence.predicts_labels {
            Assumption::checked("bounded targets: labels are coded by fixed numbers")
        } else {
            Assumption::assumed("bounded targets")
        },
        Assumption::assumed("at least n0 rows, a number that the paper does not state"),
    ];
    common.into_iter().chain(evidence.rows_and_choices()).collect()
}

/// λ further than this factor from n^(−1/(2r+γ)) is not of that order.
const SAME_ORDER: f64 = 100.0;

/// The theorems are about λ = n^(−1/(2r+γ)), up to a factor.
fn ridge_of_the_rate(ridge: f64, wanted: f64) -> Assumption {
    let text = format!("a lambda of the order n^(-1/(2r+gamma)), {}", rounded_up(wanted));
    if (ridge / wanted).max(wanted / ridge) <= SAME_ORDER {
        return Assumption { have: Some(ridge), ..Assumption::assumed(text) };
    }
    Assumption::violated(text, format!("it is {}, more than a factor of {SAME_ORDER} away", rounded_up(ridge)))
        .with_remedy(format!("Use a lambda near {}.", rounded_up(wanted)))
}

fn guarantee(
    source: Source,
    evidence: &Evidence,
    failure_probability: f64,
    regularity: Regularity,
    rate: Rate,
    qualities: &[(&'static str, f64)],
) -> Guarantee {
    if evidence.target_mean_square.is_none() {
        return source.unavailable(evidence.is_not_ridge());
    }
    let found = found_constant(evidence, regularity, failure_probability, source.id == THEOREM1.id);
    let draws_needed = found.unwrap_or(1.0) * rate.draws;
    let columns = evidence.columns_of(draws_needed);
    let mut assumptions = conditions(source, evidence);
    assumptions.push(ridge_of_the_rate(evidence.ridge, rate.ridge));
    assumptions.push(match found {
        Some(c0) => Assumption::assumed(format!(
            "a factor c0 = {}, estimated by trials on the rows: the paper does not state it",
            rounded_up(c0)
        )),
        None => Assumption::assumed("a factor c0 = 1, which the paper does not state"),
    });
    let mut inputs = evidence.inputs(failure_probability);
    inputs.extend(qualities.iter().copied());
    inputs.extend([
        ("r", regularity.source),
        ("gamma", regularity.capacity),
        ("alpha", regularity.leverage),
        ("feature_exponent", rate.feature_exponent),
        ("rate_lambda", rate.ridge),
        ("risk_rate", rate.risk),
        ("draws_needed", draws_needed),
    ]);
    inputs.extend(found.map(|c0| ("c0", c0)));
    let exponents = ["gamma", "alpha"].into_iter().take(qualities.len());
    let estimated = exponents.chain(found.map(|_| "c0")).collect();
    let factor = match found {
        Some(_) => ", with the constant that the paper does not state estimated from the rows",
        None => " times a constant that the paper does not state",
    };
    source.guarantee(Finding {
        value: Some(columns),
        informative: true,
        assumptions,
        inputs,
        estimated,
        wording: Wording {
            claim: format!(
                "the excess risk is of the order of {} for {} rows, the learning rate of the exact method, with about \
                 {columns} features{factor}",
                rounded_up(rate.risk),
                evidence.sample_count
            ),
            comparison: format!("; this model has {} features", evidence.feature_count),
            ..Wording::default()
        },
        ..Finding::default()
    })
}

/// c₀ of Theorem 1 as trials on the rows calibrate it; none without trials of feature counts. [R, §4]
pub fn calibrated_factor(evidence: &Evidence, failure_probability: f64) -> Option<f64> {
    found_constant(evidence, WORST_CASE, failure_probability, true)
}

/// c₀ by R's own criterion: the draws whose held-out error was within 5% of that of the most draws tried, over those of the
/// theorem at c₀ = 1 for the rows of the trials. [R, §4]
fn found_constant(evidence: &Evidence, regularity: Regularity, delta: f64, worst_case: bool) -> Option<f64> {
    let ((draws, rows), b) = evidence.enough_features.zip(evidence.feature_bound)?;
    let at_one = if worst_case { worst_case_rate(b, rows, delta) } else { rate(regularity, b, rows, delta) };
    let c0 = draws / at_one.draws;
    (c0 > 0.0 && c0.is_finite()).then_some(c0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::theory::evidence::tests::ridge_fit;
    use crate::theory::{PoolEvidence, Status};

    /// √10,000 · log(108·100/0.05) = 100·12.283...
    #[test]
    fn the_worst_case_by_hand() {
        let rate = worst_case_rate(1.0, 10_000, 0.05);
        assert_eq!((rate.feature_exponent, rate.ridge, rate.risk), (0.5, 0.01, 0.01));
        assert!((rate.draws - 100.0 * 216_000_f64.ln()).abs() < 1e-9);
    }

    #[test]
    fn faster_decay_requires_fewer_features_than_the_worst_case() {
        let draws = |regularity| rate(regularity, 1.0, 10_000, 0.05).draws;
        let benign = Regularity { source: 0.5, capacity: 0.5, leverage: 0.5 };
        assert!(draws(benign) < draws(Regularity { leverage: 1.0, ..benign }));
        assert!(rate(benign, 1.0, 10_000, 0.05).risk < rate(WORST_CASE, 1.0, 10_000, 0.05).risk);
    }

    /// n = 300: the rate is about λ = 0.058.
    #[test]
    fn a_lambda_of_another_order_is_a_violation() {
        assert_eq!(theorem1(&Evidence { ridge: 0.058 / 99.0, ..ridge_fit() }, 0.05).status, Status::Conditional);
        for ridge in [1e-6, 58.0] {
            let found = theorem1(&Evidence { ridge, ..ridge_fit() }, 0.05);
            assert_eq!(found.status, Status::NotApplicable);
            assert!(found.statement.ends_with("Use a lambda near 0.05774."), "{}", found.statement);
        }
    }

    /// 40 draws were enough for 10,000 rows: c₀ = 40/(100·log(108·2·100/0.05)), and for 40,000 rows twice as many draws but
    /// for the logarithm.
    #[test]
    fn a_constant_found_by_trials_is_an_estimate_and_follows_the_rate() {
        let trials =
            Evidence { enough_features: Some((40.0, 10_000)), sample_count: 40_000, ridge: 0.005, ..ridge_fit() };
        let found = theorem1(&trials, 0.05);
        let c0 = 40.0 / (100.0 * (108.0 * 2.0 * 100.0 / 0.05_f64).ln());
        assert!((found.inputs["c0"] / c0 - 1.0).abs() < 1e-12);
        let draws = 40.0 * 2.0 * (108.0 * 2.0 * 200.0 / 0.05_f64).ln() / (108.0 * 2.0 * 100.0 / 0.05_f64).ln();
        assert_eq!(found.value, Some(draws.ceil()));
        assert_eq!((found.form, found.estimated), (Form::Rate, vec!["c0"]));
        let told = found.assumptions.iter().find(|assumption| assumption.text.contains("c0")).unwrap();
        assert_eq!(told.state, crate::theory::AssumptionState::Assumed);
        assert!(told.text.contains("estimated by trials"), "{}", told.text);
    }

    #[test]
    fn a_rate_never_looks_like_a_bound() {
        let found = theorem1(&ridge_fit(), 0.05);
        assert_eq!((found.form, found.status, found.probability), (Form::Rate, Status::Conditional, None));
        assert!(found.statement.starts_with("A rate, not a bound"), "{}", found.statement);
        assert_eq!(theorem2(&ridge_fit(), 0.05).value, None);
        let spectrum: Vec<f64> = (1..200).map(|i| f64::from(i).powi(-2)).collect();
        let known = Evidence { spectrum: Some(spectrum), ridge: 0.01, ..ridge_fit() };
        assert_eq!(theorem2(&known, 0.05).estimated, ["gamma"]);
        assert_eq!(theorem3(&known, 0.05).value, None);
        // F̂∞ of the order λ^(−0.7) requires fewer features than the worst α = 1, and α is marked as estimated.
        let pool = PoolEvidence {
            candidate_count: 200,
            row_count: 300,
            spectrum: Vec::new(),
            kernel_deviation: None,
            largest_leverages: ridges_around(0.01).iter().map(|ridge| (*ridge, ridge.powf(-0.7))).collect(),
        };
        let found = theorem3(&Evidence { pool: Some(pool), ..known.clone() }, 0.05);
        assert_eq!((found.form, found.status, found.probability), (Form::Rate, Status::Conditional, None));
        assert!((found.inputs["alpha"] - 0.7).abs() < 1e-9);
        assert_eq!(found.estimated, ["gamma", "alpha"]);
        assert!(found.value < theorem2(&known, 0.05).value);
    }
}
