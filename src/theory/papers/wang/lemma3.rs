//! Lemma 3: the distance between the second moment of the features on the training rows and its expectation.
//!
//! The paper prints log(s/δ), which is right for the one side that Theorem 1 needs; both sides
//! together need log(2s/δ). Its last step also needs ε ≤ b; the value here is Bernstein's inequality without that step,
//! which is smaller and always valid.

use super::thresholds::bernstein_root;
use crate::theory::statement::guarantee::{Finding, Source};
use crate::theory::statement::words::{Wording, percent, rounded_up};
use crate::theory::{Evidence, Form, Guarantee};

const LEMMA3: Source = Source {
    id: "wang.lemma3",
    paper: "Wang 2019, Lemma 3, without its last inequality and with log(2s/delta) to cover both sides",
    bounds: "spectral norm of E psi psi' - (1/n) sum psi_i psi_i'",
    form: Form::Bound,
};

/// b·√(8 log(2s/δ)/(3n)), valid up to b. [W, Lemma 3]
pub fn epsilon_two_sided(
    feature_bound: f64,
    sample_count: usize,
    feature_count: usize,
    failure_probability: f64,
) -> f64 {
    let l = two_sided(feature_count, failure_probability);
    feature_bound * (8.0 * l / (3.0 * sample_count as f64)).sqrt()
}

/// b(ℓ/3n + √((ℓ/3n)² + 2ℓ/n)) with ℓ = log(2s/δ): Bernstein's inequality inverted exactly; always valid.
pub fn epsilon_bernstein(
    feature_bound: f64,
    sample_count: usize,
    feature_count: usize,
    failure_probability: f64,
) -> f64 {
    feature_bound * bernstein_root(two_sided(feature_count, failure_probability), sample_count as f64)
}

/// log(2s/δ).
fn two_sided(feature_count: usize, delta: f64) -> f64 {
    (2.0 * feature_count as f64).ln() - delta.ln()
}

/// `wang.lemma3`.
pub fn lemma3(evidence: &Evidence, failure_probability: f64) -> Guarantee {
    let Some(b) = evidence.feature_bound else {
        return LEMMA3.unavailable(evidence.features_bounded());
    };
    let (n, s) = (evidence.sample_count, evidence.feature_count);
    // λ plays no part, so a list of λ costs nothing.
    let kernels = evidence.choices.kernels();
    let event_delta = failure_probability / kernels;
    let epsilon = epsilon_bernstein(b, n, s, event_delta);
    let mut assumptions = vec![evidence.features_bounded(), evidence.features_ignore_the_rows()];
    assumptions.extend(evidence.rows_and_listed_choices(kernels));
    let mut inputs = evidence.inputs(failure_probability);
    inputs.insert("epsilon_printed", epsilon_two_sided(b, n, s, event_delta));
    inputs.extend((kernels > 1.0).then_some(("kernels", kernels)));
    LEMMA3.guarantee(Finding {
        value: Some(epsilon),
        informative: epsilon < b,
        failure_probability: Some(failure_probability),
        assumptions,
        inputs,
        wording: Wording {
            claim: format!(
                "the second-moment matrix of the features on the training rows is within {} of its expectation, in \
                 spectral norm, with probability at least {}",
                rounded_up(epsilon),
                percent(failure_probability)
            ),
            comparison: format!("; the norm of either matrix is at most {b}"),
            uninformative: format!("The bound is not below {b}, the largest norm of either matrix. Use more rows."),
            ..Wording::default()
        },
        ..Finding::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::theory::evidence::tests::ridge_fit;
    use crate::theory::{SamplingKind, Status};

    /// √(8·log(8000)/900)·2, log 8000 = 8.987196820661973.
    #[test]
    fn values_by_hand() {
        assert!((epsilon_two_sided(2.0, 300, 200, 0.05) - 0.565_282_9).abs() < 1e-6);
        assert!(epsilon_bernstein(2.0, 300, 200, 0.05) < epsilon_two_sided(2.0, 300, 200, 0.05));
    }

    #[test]
    fn few_rows_make_it_uninformative_and_never_inapplicable() {
        assert_eq!(lemma3(&ridge_fit(), 0.05).status, Status::Conditional);
        let few = Evidence { sample_count: 10, ..ridge_fit() };
        assert_eq!(lemma3(&few, 0.05).status, Status::Vacuous);
        assert!(lemma3(&few, 0.05).statement.ends_with("Use more rows."), "{}", lemma3(&few, 0.05).statement);
        let weighted = lemma3(&Evidence { rows_weighted: true, ..ridge_fit() }, 0.05);
        assert!(!weighted.statement.contains("more rows"), "{}", weighted.statement);
    }

    /// It requires independent rows; the features may depend on each other.
    #[test]
    fn draws_may_depend_on_each_other_but_not_on_the_rows() {
        let orthogonal = Evidence { draws_independent: false, ..ridge_fit() };
        assert_eq!(lemma3(&orthogonal, 0.05).status, Status::Conditional);
        let chosen = Evidence { sampling: SamplingKind::ChosenByInputs, ..ridge_fit() };
        assert_eq!(lemma3(&chosen, 0.05).status, Status::NotApplicable);
    }
}
