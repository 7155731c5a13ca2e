//! Theorem 2: faster rates under low noise, through the term r̂* = min_h (h/n + √((1/n)Σ_{i>h} μᵢ)).
//!
//! Its constants c₁, c₂, c₃ are unknown, so r̂* is a term and no bound. How the eigenvalues decay says
//! which row of the paper's Tables 1 and 2 the problem falls in.

use crate::theory::guarantee::{Finding, Source};
use crate::theory::spectrum::{Decay, decay};
use crate::theory::words::{Wording, rounded_up};
use crate::theory::{Assumption, Evidence, Form, Guarantee};

const THEOREM2: Source = Source {
    id: "li.theorem2",
    paper: "Li 2022, Theorem 2, the term r*, and Tables 1 and 2",
    bounds: "r* = min over h of h/n + sqrt((1/n) sum of the eigenvalues beyond the h-th)",
    form: Form::Term,
};

/// r̂* and the h it is attained at.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RStar {
    /// The smallest value.
    pub value: f64,
    /// Where it is attained.
    pub h: usize,
}

/// min over 0 ≤ h ≤ n of h/n + √((1/n)Σ_{i>h} μᵢ), eigenvalues descending. [L, Thm 2]
pub fn r_star(eigenvalues: &[f64], sample_count: usize) -> RStar {
    let n = sample_count as f64;
    let longest = eigenvalues.len().min(sample_count);
    // Summed from the smallest up, so that the tails keep their digits.
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

/// `li.theorem2`.
pub fn theorem2(evidence: &Evidence) -> Guarantee {
    if let Some((reason, remedy)) = super::refusal(evidence.loss) {
        return THEOREM2.unavailable(reason, remedy);
    }
    let Some(spectrum) = &evidence.spectrum else {
        return THEOREM2.unavailable(
            "the eigenvalues of the features' Gram matrix are known, which they are not",
            "A certify job would make it available.",
        );
    };
    let RStar { value, h } = r_star(spectrum, evidence.sample_count);
    let decay = decay(spectrum, evidence.spectrum_floor, evidence.sample_count);
    let row = decay.map_or(String::new(), |decay| format!("; {}", rate_of(decay)));
    let mut inputs = std::collections::BTreeMap::from([("n", evidence.sample_count as f64), ("h", h as f64)]);
    inputs.extend(decay.map_or(Vec::new(), fitted));
    let mut assumptions = vec![
        evidence.features_bounded(),
        evidence.draws_from_the_kernel(),
        Assumption::assumed("the labels have low noise (Massart)"),
        Assumption::assumed("the constants c1, c2 and c3, which the paper leaves open, are moderate"),
    ];
    assumptions.extend(evidence.rows_and_choices());
    THEOREM2.guarantee(Finding {
        value: Some(value),
        informative: true,
        assumptions,
        inputs,
        wording: Wording {
            claim: format!(
                "the excess risk contains a multiple, unknown, of {}, attained at the first {h} eigenvalues",
                rounded_up(value)
            ),
            context: row,
            ..Wording::default()
        },
        ..Finding::default()
    })
}

/// The row of the paper's tables that a spectrum falls in.
pub fn rate_of(decay: Decay) -> String {
    match decay {
        Decay::FiniteRank(rank) => format!("the spectrum has finite rank {rank}, for which the rate is 1/n"),
        Decay::Exponential(_) => "the spectrum falls exponentially, for which the rate is log(n)/n".into(),
        Decay::Polynomial(fit) => {
            format!("the spectrum falls like i^-{:.2}, for which the rate is 1/sqrt(n)", fit.exponent)
        }
    }
}

/// The fit that puts the spectrum there.
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
        let classifier =
            Evidence { loss: LossKind::Hinge, target_mean_square: None, spectrum: Some(spectrum), ..ridge_fit() };
        let term = theorem2(&classifier);
        assert_eq!((term.form, term.status), (Form::Term, Status::Conditional));
        assert!(term.statement.contains("exponentially"), "{}", term.statement);
        assert!((term.inputs["exponential_rate"] - 0.5).abs() < 1e-9);
        let unknown = theorem2(&Evidence { spectrum: None, ..classifier });
        assert_eq!((unknown.status, unknown.value), (Status::NotApplicable, None));
    }
}
