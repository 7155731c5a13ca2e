//! Theorem 2: faster rates under low noise, through the term r̂* = min_h (h/n + √((1/n)Σ_{i>h} μᵢ)).
//!
//! Its constants c₁, c₂, c₃ are unknown, so r̂* is a term and not a bound. The decay of the eigenvalues selects
//! a row of the paper's Table 2: a rate, and the order of features that it requires.
//!
//! **Departures.** For a polynomial decay i^(−γ) and draws by leverage the table prints n^(1/(4γr)), the entry of
//! Table 1 for i^(−2γ). We use n^(1/(2γr)).

use super::Condition;
use crate::theory::spectrum::{Decay, decay};
use crate::theory::statement::guarantee::{Finding, Source};
use crate::theory::statement::words::{Wording, rounded_up};
use crate::theory::{Assumption, Evidence, Form, Guarantee, Lack, SamplingKind};

const THEOREM2: Source = Source {
    id: "li.theorem2",
    paper: "Li 2022, Theorem 2, the term r*, and Table 2",
    bounds: "r* = min over h of h/n + sqrt((1/n) sum of the eigenvalues after the h-th)",
    form: Form::Term,
};

/// r̂* and its minimiser.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RStar {
    /// The minimum.
    pub value: f64,
    /// The h that attains it.
    pub h: usize,
}

/// min over 0 ≤ h ≤ n of h/n + √((1/n)Σ_{i>h} μᵢ), eigenvalues descending. [L, Thm 2]
pub fn r_star(eigenvalues: &[f64], sample_count: usize) -> RStar {
    let n = sample_count as f64;
    let longest = eigenvalues.len().min(sample_count);
    // Summed from the smallest eigenvalue up, to keep the digits of small tails.
    let mut tail: f64 = eigenvalues[longest..].iter().rev().sum();
    let mut best = RStar { value: f64::INFINITY, h: longest };
    for h in (0..=longest).rev() {
        let value = h as f64 / n + (tail.max(0.0) / n).sqrt();
        if value <= best.value {
            best = RStar { value, h };
        }
        if h > 0 {
            tail += eigenvalues[h - 1];
        }
    }
    best
}

/// `li.theorem2`: for the sampling the model has.
pub fn theorem2(evidence: &Evidence, failure_probability: f64) -> Guarantee {
    let by_leverage = evidence.sampling == SamplingKind::LeverageWeighted;
    let condition = match Condition::of(THEOREM2, evidence, failure_probability, by_leverage) {
        Ok(condition) => condition,
        Err(unavailable) => return *unavailable,
    };
    let Some(spectrum) = &evidence.spectrum else {
        return THEOREM2.unmeasured(Lack::Spectrum, condition.assumptions);
    };
    let RStar { value, h } = r_star(spectrum, evidence.sample_count);
    let decay = decay(spectrum, evidence.spectrum_floor, evidence.sample_count);
    let row = decay.map_or(String::new(), |decay| format!("; {}", describe_rate(decay, by_leverage)));
    let mut inputs = std::collections::BTreeMap::from([("n", evidence.sample_count as f64), ("h", h as f64)]);
    inputs.extend(condition.inputs);
    inputs.extend(decay.map_or(Vec::new(), fitted));
    let mut assumptions = condition.assumptions;
    assumptions.extend([
        Assumption::assumed("labels with low noise (Massart's condition)"),
        Assumption::assumed("moderate constants c1, c2 and c3, which the paper does not state"),
    ]);
    THEOREM2.guarantee(Finding {
        value: Some(value),
        informative: true,
        assumptions,
        inputs,
        estimated: condition.estimated,
        wording: Wording {
            claim: format!(
                "the excess risk contains an unknown multiple of {}, the minimum over h, which is attained at h = {h}",
                rounded_up(value)
            ),
            comparison: row,
            ..Wording::default()
        },
        ..Finding::default()
    })
}

/// The row of the paper's Table 1 for a spectrum, at r = ½: the features that keep the rate 1/√n.
pub(crate) fn describe_minimax_rate(decay: Decay, by_leverage: bool) -> String {
    let features = match (decay, by_leverage) {
        (Decay::FiniteRank(_), false) => "n".to_owned(),
        (Decay::FiniteRank(_), true) => "1".to_owned(),
        (Decay::Exponential(_), false) => "n log(log(n))".to_owned(),
        (Decay::Exponential(_), true) => "log(n) log(log(n))".to_owned(),
        (Decay::Polynomial(_), false) => "n log(n)".to_owned(),
        (Decay::Polynomial(fit), true) => format!("n^{:.2} log(n)", fit.exponent.max(1.0).recip()),
    };
    let (decay, sampling) = (describe_decay(decay), sampling_words(by_leverage));
    format!("{decay}; by Table 1 the learning rate 1/sqrt(n) needs on the order of {features} features {sampling}")
}

fn sampling_words(by_leverage: bool) -> &'static str {
    if by_leverage { "drawn by leverage" } else { "drawn from the kernel" }
}

/// The row of the paper's Table 2 for a spectrum, at r = ½.
pub(crate) fn describe_rate(decay: Decay, by_leverage: bool) -> String {
    let (rate, features) = match (decay, by_leverage) {
        (Decay::FiniteRank(_), false) => ("1/n", "n^2".to_owned()),
        (Decay::FiniteRank(_), true) => ("1/n", "1".to_owned()),
        (Decay::Exponential(_), false) => ("log(n)/n", "n^2".to_owned()),
        (Decay::Exponential(_), true) => ("log(n)/n", "log(n) log(log(n))".to_owned()),
        (Decay::Polynomial(_), false) => ("1/sqrt(n)", "n log(n)".to_owned()),
        (Decay::Polynomial(fit), true) => ("1/sqrt(n)", format!("n^{:.2} log(n)", fit.exponent.recip())),
    };
    let (decay, sampling) = (describe_decay(decay), sampling_words(by_leverage));
    format!("{decay}; the learning rate is then {rate}, given on the order of {features} features {sampling}")
}

/// The decay of a spectrum as a clause.
pub(crate) fn describe_decay(decay: Decay) -> String {
    match decay {
        Decay::FiniteRank(rank) => format!("the spectrum has finite rank {rank}"),
        Decay::Exponential(_) => "the spectrum decays exponentially".into(),
        Decay::Polynomial(fit) => format!("the spectrum decays like i^-{:.2}", fit.exponent),
    }
}

/// The parameters of the fitted decay, as inputs.
fn fitted(decay: Decay) -> Vec<(&'static str, f64)> {
    match decay {
        Decay::FiniteRank(rank) => vec![("rank", rank as f64)],
        Decay::Exponential(fit) => vec![("exponential_rate", fit.exponent), ("fit_quality", fit.quality)],
        Decay::Polynomial(fit) => vec![("polynomial_exponent", fit.exponent), ("fit_quality", fit.quality)],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::theory::evidence::tests::ridge_fit;
    use crate::theory::{LossKind, Status};

    /// n = 4, μ = (0.64, 0.04): h = 0 gives √0.17, h = 1 gives 0.25 + 0.1, h = 2 gives 0.5.
    #[test]
    fn values_by_hand() {
        let found = r_star(&[0.64, 0.04], 4);
        assert!((found.value - 0.35).abs() < 1e-15 && found.h == 1, "{found:?}");
        assert_eq!(r_star(&[0.0, 0.0], 4), RStar { value: 0.0, h: 0 });
        assert_eq!(r_star(&[], 4), RStar { value: 0.0, h: 0 });
    }

    #[test]
    fn more_rows_make_it_smaller() {
        let spectrum: Vec<f64> = (1..60).map(|i| f64::from(i).powf(-1.5)).collect();
        assert!(r_star(&spectrum, 2_000).value < r_star(&spectrum, 1_000).value);
    }

    #[test]
    fn it_is_a_term_with_the_row_of_the_tables() {
        let spectrum: Vec<f64> = (1..40).map(|i| (-0.5 * f64::from(i)).exp()).collect();
        let classifier = Evidence {
            loss: LossKind::Hinge,
            target_mean_square: None,
            spectrum: Some(spectrum),
            feature_count: 300,
            draw_count: 300,
            ..ridge_fit()
        };
        let term = theorem2(&classifier, 0.05);
        assert_eq!((term.form, term.status), (Form::Term, Status::Conditional));
        assert!(term.statement.contains("exponentially"), "{}", term.statement);
        assert!(term.statement.contains("log(n)/n, given on the order of n^2 features drawn from the kernel"));
        assert!((term.inputs["exponential_rate"] - 0.5).abs() < 1e-9);
        let few = theorem2(&Evidence { feature_count: 200, draw_count: 200, ..classifier.clone() }, 0.05);
        assert_eq!(few.status, Status::NotApplicable);
        assert!(few.statement.contains("features at this lambda"), "{}", few.statement);
        let softmax = Evidence { loss: LossKind::Logistic, target_count: 3, ..classifier.clone() };
        assert!(theorem2(&softmax, 0.05).statement.contains("requires two labels"));
        let unknown = theorem2(&Evidence { spectrum: None, ..classifier }, 0.05);
        assert_eq!((unknown.status, unknown.value), (Status::NotApplicable, None));
        assert_eq!(unknown.lacks, Some(Lack::Spectrum));
        let both = theorem2(&Evidence { spectrum: None, ..softmax }, 0.05);
        assert_eq!(both.lacks, None);
        assert!(both.statement.contains("two labels") && both.statement.contains("eigenvalues"), "{}", both.statement);
    }
}
