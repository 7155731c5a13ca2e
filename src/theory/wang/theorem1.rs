//! Theorem 1 and what hangs on it: the sharper form, the worst case, the practical figure.

use super::thresholds::{threshold, threshold_bernstein, threshold_printed, threshold_proof};
use crate::theory::guarantee::{Finding, Source};
use crate::theory::words::{Wording, percent, rounded_up};
use crate::theory::{Assumption, Evidence, Form, Guarantee};

/// What Theorem 1 and its kin bound.
pub(in crate::theory) const ERROR: &str = "E (f_s(x) - f(x))^2 over a new input x and over the features";

const THEOREM1: Source =
    Source { id: "wang.theorem1", paper: "Wang 2019, Theorem 1, eq. (2)", bounds: ERROR, form: Form::Bound };
const SHARP: Source = Source {
    id: "wang.theorem1_sharp",
    paper: "follows from Wang 2019, proof of Theorem 1 without its last inequality",
    ..THEOREM1
};
const REMARK1: Source = Source { id: "wang.remark1", paper: "Wang 2019, Remark 1", ..THEOREM1 };
const EQ31: Source = Source {
    id: "wang.eq31",
    paper: "Wang 2019, eq. (31), the figure of its experiments",
    form: Form::Estimate,
    ..THEOREM1
};

/// (4b/m)·Q. [W, Thm 1, eq. (2)]
pub fn theorem1_bound(feature_bound: f64, draw_count: usize, quadratic_form: f64) -> f64 {
    4.0 * feature_bound / draw_count as f64 * quadratic_form
}

/// (4b/m)·Q − (2/(nm))·‖Kα‖². [W, proof of Thm 1]
pub fn sharp_bound(
    feature_bound: f64,
    draw_count: usize,
    sample_count: usize,
    quadratic_form: f64,
    fitted_square: f64,
) -> f64 {
    let saved = 2.0 * fitted_square / (sample_count as f64 * draw_count as f64);
    theorem1_bound(feature_bound, draw_count, quadratic_form) - saved
}

/// Q ≤ ‖y‖²/(4nλ) for any data. [W, Remark 1]
pub fn worst_quadratic_form(target_mean_square: f64, ridge: f64) -> f64 {
    target_mean_square / (4.0 * ridge)
}

/// (b/(mλ))·mean(y²): Theorem 1 at the worst Q. [W, Remark 1]
pub fn remark1_bound(feature_bound: f64, draw_count: usize, target_mean_square: f64, ridge: f64) -> f64 {
    theorem1_bound(feature_bound, draw_count, worst_quadratic_form(target_mean_square, ridge))
}

/// `wang.theorem1`: with the exact Q where it is known, and with its worst case elsewhere.
pub fn theorem1(evidence: &Evidence, failure_probability: f64) -> Guarantee {
    let Some((q, origin)) = quadratic_form(evidence) else { return ridge_only(THEOREM1, evidence) };
    let bound = evidence.feature_bound.map(|b| theorem1_bound(b, evidence.draw_count, q));
    let mut finding = finding(evidence, failure_probability, bound);
    finding.assumptions.push(origin);
    finding.inputs.insert("q", q);
    THEOREM1.guarantee(finding)
}

/// `wang.theorem1_sharp`: what the proof gives before its last inequality.
pub fn theorem1_sharp(evidence: &Evidence, failure_probability: f64) -> Guarantee {
    if evidence.target_mean_square.is_none() {
        return ridge_only(SHARP, evidence);
    }
    let Some((q, fitted)) = evidence.exact.as_ref().and_then(|e| Some((e.quadratic_form, e.fitted_square?))) else {
        return SHARP.unavailable(NEEDS_EXACT, ASK_FOR_EXACT);
    };
    let sharp = |b| sharp_bound(b, evidence.draw_count, evidence.sample_count, q, fitted);
    let mut finding = finding(evidence, failure_probability, evidence.feature_bound.map(sharp));
    finding.inputs.extend([("q", q), ("fitted_square", fitted)]);
    SHARP.guarantee(finding)
}

/// `wang.remark1`: the closed form that needs nothing but mean(y²).
pub fn remark1(evidence: &Evidence, failure_probability: f64) -> Guarantee {
    let Some(variance) = evidence.target_mean_square else { return ridge_only(REMARK1, evidence) };
    let bound = |b| remark1_bound(b, evidence.draw_count, variance, evidence.ridge);
    REMARK1.guarantee(finding(evidence, failure_probability, evidence.feature_bound.map(bound)))
}

/// `wang.eq31`: Q/s, with 4b taken for an artefact of the proof. Heuristic.
pub fn eq31(evidence: &Evidence) -> Guarantee {
    let Some(variance) = evidence.target_mean_square else { return ridge_only(EQ31, evidence) };
    let Some(exact) = &evidence.exact else { return EQ31.unavailable(NEEDS_EXACT, ASK_FOR_EXACT) };
    let value = exact.quadratic_form / evidence.feature_count as f64;
    EQ31.guarantee(Finding {
        value: Some(value),
        informative: true,
        assumptions: vec![
            evidence.features_unbiased(),
            Assumption::assumed("the constant 4b of Theorem 1 is an artefact of its proof, which nobody has shown"),
        ],
        inputs: [("q", exact.quadratic_form), ("s", evidence.feature_count as f64)].into(),
        wording: Wording {
            claim: format!(
                "the average squared difference between this model and the exact kernel method{} is about {} or less",
                summed(evidence),
                rounded_up(value)
            ),
            context: format!("; the target's variance is {}", rounded_up(variance)),
            ..Wording::default()
        },
        ..Finding::default()
    })
}

/// What is missing without an exact solve.
pub(in crate::theory) const NEEDS_EXACT: &str = "the exact kernel system was solved, which it was not";
/// How to get it.
pub(in crate::theory) const ASK_FOR_EXACT: &str =
    "A training with guarantees.exact_rows above its rows, or a certify job, would make it available.";

/// Q and where it comes from.
pub(in crate::theory) fn quadratic_form(evidence: &Evidence) -> Option<(f64, Assumption)> {
    let worst = worst_quadratic_form(evidence.target_mean_square?, evidence.ridge);
    Some(match &evidence.exact {
        Some(exact) => (
            exact.quadratic_form,
            Assumption::checked("Q = alpha' K alpha, from the solution of the exact kernel system"),
        ),
        None => (
            worst,
            Assumption::checked("Q <= mean(y^2)/(4 lambda), its worst case: the exact kernel system was not solved"),
        ),
    })
}

/// A theorem on ridge regression, asked about a classifier.
pub(in crate::theory) fn ridge_only(source: Source, evidence: &Evidence) -> Guarantee {
    source
        .unavailable(evidence.is_ridge().text, "It speaks of ridge regression alone: the learner ridge would have it.")
}

/// The common frame of the bounds.
fn finding(evidence: &Evidence, failure_probability: f64, bound: Option<f64>) -> Finding {
    let (n, s) = (evidence.sample_count, evidence.feature_count);
    let mut inputs = evidence.inputs(failure_probability);
    let mut assumptions = Vec::new();
    let mut remedy = String::new();
    if let Some(b) = evidence.feature_bound {
        let need = threshold(b, n, s, failure_probability);
        assumptions.push(Assumption::at_least(
            "lambda is large enough, at least b(l/3n + sqrt((l/3n)^2 + 2l/n)) with l = log(s/delta), or b",
            evidence.ridge,
            need,
        ));
        inputs.insert("threshold_printed", threshold_printed(b, n, s, failure_probability));
        inputs.insert("threshold_proof", threshold_proof(b, n, s, failure_probability));
        inputs.insert("threshold_bernstein", threshold_bernstein(b, n, s, failure_probability));
        if evidence.ridge < need {
            let need = rounded_up(need);
            remedy = format!("A lambda of {need} would be; the value shown is what the formula gives here.");
        }
    }
    assumptions.push(evidence.features_bounded());
    assumptions.push(evidence.features_unbiased());
    assumptions.push(evidence.draws_from_the_kernel());
    assumptions.extend(evidence.rows_and_choices());
    let variance = evidence.target_mean_square.unwrap_or(0.0);
    Finding {
        value: bound,
        informative: bound.is_some_and(|bound| bound < variance),
        failure_probability: Some(failure_probability),
        assumptions,
        inputs,
        estimated: Vec::new(),
        wording: distance_wording(evidence, failure_probability, bound.unwrap_or(f64::INFINITY), remedy),
    }
}

/// What squares and errors of several targets are, in a sentence.
pub(in crate::theory) fn summed(evidence: &Evidence) -> String {
    match evidence.target_count {
        1 => String::new(),
        count => format!(", summed over the {count} targets,"),
    }
}

/// How a bound on the distance to the exact method is said.
pub(in crate::theory) fn distance_wording(
    evidence: &Evidence,
    failure_probability: f64,
    bound: f64,
    remedy: String,
) -> Wording {
    let variance = rounded_up(evidence.target_mean_square.unwrap_or(0.0));
    let summed = summed(evidence);
    Wording {
        claim: format!(
            "with probability {} over the training rows and the features, the average squared difference between this \
             model and the exact kernel method{summed} is at most {}",
            percent(failure_probability),
            rounded_up(bound)
        ),
        context: format!("; the target's variance is {variance}"),
        emptiness: format!(
            "which is no better than the target's variance {variance}; more features or a larger lambda would make it \
             informative"
        ),
        remedy,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::theory::evidence::tests::{exact, ridge_fit};
    use crate::theory::{LossKind, Status};

    fn evidence() -> Evidence {
        Evidence { exact: Some(exact(0.037, 0.5)), ..ridge_fit() }
    }

    /// 4·2/200·0.37, less 2·3/(300·200), and 2/(200·0.29)·0.31, worked out by hand.
    #[test]
    fn values_by_hand() {
        assert!((theorem1_bound(2.0, 200, 0.37) - 0.0148).abs() < 1e-15);
        assert!((sharp_bound(2.0, 200, 300, 0.37, 3.0) - 0.0147).abs() < 1e-15);
        assert!((remark1_bound(2.0, 200, 0.31, 0.29) - 0.010_689_655_172_413_793).abs() < 1e-15);
        assert!((eq31(&evidence()).value.unwrap() - 0.000_185).abs() < 1e-15);
    }

    #[test]
    fn bounds_fall_with_features_and_with_the_ridge() {
        assert!(theorem1_bound(2.0, 400, 0.37) < theorem1_bound(2.0, 200, 0.37));
        assert!(remark1_bound(1.0, 100, 0.3, 0.2) < remark1_bound(1.0, 100, 0.3, 0.1));
    }

    #[test]
    fn a_small_ridge_is_said_to_be_too_small() {
        let guarantee = theorem1(&Evidence { ridge: 0.29, ..evidence() }, 0.05);
        assert_eq!(guarantee.status, Status::NotApplicable);
        assert!(guarantee.statement.starts_with("Not a guarantee"));
        assert!(guarantee.statement.contains("A lambda of 0.4891 would be"), "{}", guarantee.statement);
    }

    #[test]
    fn dependent_draws_weights_and_unbounded_features_are_violations() {
        let dependent = theorem1(&Evidence { draws_independent: false, ..evidence() }, 0.05);
        assert_eq!(dependent.status, Status::NotApplicable);
        assert!(dependent.statement.contains("independent of each other"), "{}", dependent.statement);
        let weighted = theorem1(&Evidence { rows_weighted: true, ..evidence() }, 0.05);
        assert_eq!(weighted.status, Status::NotApplicable);
        let unbounded = remark1(&Evidence { feature_bound: None, ..evidence() }, 0.05);
        assert_eq!((unbounded.status, unbounded.value), (Status::NotApplicable, None));
    }

    #[test]
    fn a_bound_above_the_variance_is_vacuous() {
        let evidence = Evidence { exact: Some(exact(20.0, 1.0)), ..evidence() };
        assert_eq!(theorem1(&evidence, 0.05).status, Status::Vacuous);
    }

    #[test]
    fn without_an_exact_solve_there_is_the_worst_case_alone() {
        let evidence = Evidence { exact: None, ..evidence() };
        assert_eq!(theorem1(&evidence, 0.05).value, remark1(&evidence, 0.05).value);
        assert_eq!(remark1(&evidence, 0.05).status, Status::Conditional);
        for guarantee in [theorem1_sharp(&evidence, 0.05), eq31(&evidence)] {
            assert_eq!((guarantee.status, guarantee.value), (Status::NotApplicable, None));
            assert!(guarantee.statement.contains("certify job"), "{}", guarantee.statement);
        }
    }

    #[test]
    fn an_estimate_claims_no_probability() {
        let figure = eq31(&evidence());
        assert_eq!((figure.form, figure.probability), (Form::Estimate, None));
        assert!(figure.statement.starts_with("An estimate, not a guarantee"));
    }

    #[test]
    fn classifiers_have_none_of_them() {
        let classifier = Evidence { loss: LossKind::Logistic, target_mean_square: None, ..evidence() };
        let all = [
            theorem1(&classifier, 0.05),
            theorem1_sharp(&classifier, 0.05),
            remark1(&classifier, 0.05),
            eq31(&classifier),
        ];
        for guarantee in all {
            assert_eq!((guarantee.status, guarantee.value), (Status::NotApplicable, None));
            assert!(guarantee.statement.contains("logistic loss"), "{}", guarantee.statement);
        }
    }
}
