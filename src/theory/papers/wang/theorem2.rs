//! Theorem 2: a lower bound on the error of sign features.
//!
//! As printed, E(f_s − f)² at a training row is at least (1/s)(sλ/(1+sλ))²(Q − ‖Kα‖²/n). The proof
//! bounds ‖K̃‖ from below where it needs an upper bound, and in simulations the printed value exceeds
//! the truth. For sign features tr K̃ = n, and the missing step gives (λ/(1+λ))² instead, which is a
//! loose lower bound.

use crate::theory::statement::guarantee::{Finding, Source};
use crate::theory::statement::words::{Wording, rounded_down};
use crate::theory::{Assumption, Evidence, Form, Guarantee, Lack};

const THEOREM2: Source = Source {
    id: "wang.theorem2",
    paper: "Wang 2019, Theorem 2, repaired: (lambda/(1+lambda))^2 instead of (s lambda/(1+s lambda))^2",
    bounds: "mean of (f_s(x) - f(x))^2 over feature draws and training rows x, from below",
    form: Form::Bound,
};

/// (1/s)(sλ/(1+sλ))²(Q − ‖Kα‖²/n), as printed, which is not a bound. [W, Thm 2]
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
        return THEOREM2.unavailable(evidence.is_not_ridge());
    }
    if !evidence.sign_features {
        return THEOREM2.unavailable(
            Assumption::violated("sign features", "the features are not those of the angular kernel")
                .with_remedy("Use the angular kernel."),
        );
    }
    let mut assumptions = vec![
        Assumption::checked("sign features, for which the trace of the approximate kernel matrix is n"),
        evidence.features_unbiased(),
        evidence.draws_from_the_kernel(),
    ];
    assumptions.extend(evidence.choices());
    let Some(((q, _), (_, fitted))) = evidence.solution().and_then(|of| Some((of.quadratic_form, of.fitted_square?)))
    else {
        return THEOREM2.unmeasured(Lack::ExactSolution, assumptions);
    };
    // Q − ‖Kα‖²/n ≥ 0 because ‖K‖ ≤ n; rounding may make it negative.
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
                "averaged over feature draws and training rows, the squared difference between a model like this one and the \
                 exact kernel method is at least {}",
                rounded_down(bound)
            ),
            comparison: ": ridge regression on as many sign features does no better on average at this lambda".into(),
            uninformative: "A squared difference is never negative, so this adds nothing.".into(),
            ..Wording::default()
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
    fn it_covers_only_sign_features_and_the_printed_order_is_not_its_value() {
        let cosine = Evidence { exact: Some(exact(0.4, 3.0)), ..ridge_fit() };
        assert_eq!((theorem2(&cosine).status, theorem2(&cosine).value), (Status::NotApplicable, None));
        let sign = Evidence { sign_features: true, feature_bound: Some(1.0), ..cosine };
        let found = theorem2(&sign);
        assert_eq!(found.status, Status::Holds);
        assert!(found.value.unwrap() < found.inputs["printed_order_not_a_bound"]);
        assert!(found.statement.contains("at least"));
        let unsolved = Evidence { exact: None, ..sign };
        assert_eq!(theorem2(&unsolved).lacks, Some(Lack::ExactSolution));
        let dependent = theorem2(&Evidence { draws_independent: false, ..unsolved });
        assert_eq!(dependent.lacks, None);
        assert!(dependent.statement.ends_with("Use plain sampling."), "{}", dependent.statement);
    }
}
