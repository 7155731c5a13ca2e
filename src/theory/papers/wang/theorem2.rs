//! Theorem 2: how small the error can be at best, for sign features.
//!
//! As printed, E(f_s − f)² at a training row is at least (1/s)(sλ/(1+sλ))²(Q − ‖Kα‖²/n). The proof
//! bounds ‖K̃‖ from below where it needs it from above, and in simulations the printed value exceeds
//! the truth. With tr K̃ = n, which sign features have, the step that is needed gives (λ/(1+λ))²
//! instead: that one is a lower bound, and loose.

use super::theorem1::ridge_only;
use crate::theory::statement::guarantee::{Finding, Source};
use crate::theory::statement::words::{Wording, rounded_down};
use crate::theory::{Assumption, Evidence, Form, Guarantee, Lack};

const THEOREM2: Source = Source {
    id: "wang.theorem2",
    paper: "Wang 2019, Theorem 2, repaired: (lambda/(1+lambda))^2 for (s lambda/(1+s lambda))^2",
    bounds: "E (f_s(x) - f(x))^2 over the features and the training rows, from below",
    form: Form::Bound,
};

/// (1/s)(sλ/(1+sλ))²(Q − ‖Kα‖²/n), the printed order, which is no bound. [W, Thm 2]
pub fn printed_order(feature_count: usize, ridge: f64, core: f64) -> f64 {
    let s = feature_count as f64;
    shrinkage(s * ridge) * core / s
}

/// (1/s)(λ/(1+λ))²(Q − ‖Kα‖²/n). [follows from W, proof of Thm 2]
pub fn repaired_bound(feature_count: usize, ridge: f64, core: f64) -> f64 {
    shrinkage(ridge) * core / feature_count as f64
}

fn shrinkage(ridge: f64) -> f64 {
    (ridge / (1.0 + ridge)).powi(2)
}

/// `wang.theorem2`: sign features only.
pub fn theorem2(evidence: &Evidence) -> Guarantee {
    if evidence.target_mean_square.is_none() {
        return ridge_only(THEOREM2, evidence);
    }
    if !evidence.sign_features {
        return THEOREM2.unavailable(
            "the features are signs, those of the angular kernel, which these are not",
            "A model with the kernel angular would have it.",
        );
    }
    let mut assumptions = vec![
        Assumption::checked("the features are signs, so that the trace of the approximate kernel matrix is n"),
        evidence.features_unbiased(),
        evidence.draws_from_the_kernel(),
    ];
    assumptions.extend(evidence.choices());
    let Some(((q, _), (_, fitted))) = evidence.solution().and_then(|of| Some((of.quadratic_form, of.fitted_square?)))
    else {
        return THEOREM2.unmeasured(Lack::ExactSolution, assumptions);
    };
    // Q − ‖Kα‖²/n ≥ 0 because ‖K‖ ≤ n; rounding may say otherwise.
    let core = (q - fitted / evidence.sample_count as f64).max(0.0);
    let bound = repaired_bound(evidence.feature_count, evidence.ridge, core);
    THEOREM2.guarantee(Finding {
        value: Some(bound),
        informative: bound > 0.0,
        assumptions,
        inputs: [
            ("s", evidence.feature_count as f64),
            ("n", evidence.sample_count as f64),
            ("lambda", evidence.ridge),
            ("q", q),
            ("fitted_square", fitted),
            ("printed_order_not_a_bound", printed_order(evidence.feature_count, evidence.ridge, core)),
        ]
        .into(),
        wording: Wording {
            claim: format!(
                "on average over the features, the squared difference between this model and the exact kernel method at \
                 a training row is at least {}",
                rounded_down(bound)
            ),
            context: ", so that no better can be expected of this many sign features".into(),
            emptiness: "which says nothing".into(),
        },
        ..Finding::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::theory::Status;
    use crate::theory::evidence::tests::{exact, ridge_fit};

    /// s = 4, λ = 1: (4/5)²·8/4 and (1/2)²·8/4.
    #[test]
    fn values_by_hand() {
        assert!((printed_order(4, 1.0, 8.0) - 1.28).abs() < 1e-15);
        assert!((repaired_bound(4, 1.0, 8.0) - 0.5).abs() < 1e-15);
    }

    #[test]
    fn it_is_about_sign_features_alone_and_the_printed_order_is_no_value() {
        let cosine = Evidence { exact: Some(exact(0.4, 3.0)), ..ridge_fit() };
        assert_eq!((theorem2(&cosine).status, theorem2(&cosine).value), (Status::NotApplicable, None));
        let sign = Evidence { sign_features: true, feature_bound: Some(1.0), kernel_fixed_in_advance: true, ..cosine };
        let found = theorem2(&sign);
        assert_eq!(found.status, Status::Holds);
        assert!(found.value.unwrap() < found.inputs["printed_order_not_a_bound"]);
        assert!(found.statement.contains("at least"));
        let unsolved = Evidence { exact: None, ..sign };
        assert_eq!(theorem2(&unsolved).lacks, Some(Lack::ExactSolution));
        let dependent = theorem2(&Evidence { draws_independent: false, ..unsolved });
        assert_eq!(dependent.lacks, None);
        assert!(dependent.statement.ends_with("sampling plain would have it."), "{}", dependent.statement);
    }
}
