//! Theorem 1, its sharper form, its worst case (Remark 1) and equation (31).

use super::distance::{Distance, ERROR, ERROR_ON_EVENT, summed};
use super::thresholds::{threshold, threshold_bernstein, threshold_printed, threshold_proof};
use crate::theory::statement::guarantee::{Finding, Source};
use crate::theory::statement::words::{FORMULA_ONLY, Wording, rounded_up};
use crate::theory::{Assumption, Evidence, Form, Guarantee, Lack};

const THEOREM1: Source =
    Source { id: "wang.theorem1", paper: "Wang 2019, Theorem 1, eq. (2)", bounds: ERROR_ON_EVENT, form: Form::Bound };
const SHARP: Source = Source {
    id: "wang.theorem1_sharp",
    paper: "Wang 2019, proof of Theorem 1, without its last inequality",
    ..THEOREM1
};
const REMARK1: Source = Source { id: "wang.remark1", paper: "Wang 2019, Remark 1", ..THEOREM1 };
const EQ31: Source = Source {
    id: "wang.eq31",
    paper: "Wang 2019, eq. (31), used in its experiments",
    bounds: ERROR,
    form: Form::Estimate,
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

/// `wang.theorem1`: with the exact Q if it is known, otherwise with its worst case.
pub fn theorem1(evidence: &Evidence, failure_probability: f64) -> Guarantee {
    let Some((q, origin)) = quadratic_form(evidence) else { return THEOREM1.unavailable(evidence.is_not_ridge()) };
    let bound = evidence.feature_bound.map(|b| theorem1_bound(b, evidence.draw_count, q));
    let mut finding = finding(evidence, failure_probability, bound);
    finding.assumptions.push(origin);
    finding.inputs.insert("q", q);
    THEOREM1.guarantee(finding)
}

/// `wang.theorem1_sharp`: the bound before the last inequality of the proof.
pub fn theorem1_sharp(evidence: &Evidence, failure_probability: f64) -> Guarantee {
    if evidence.target_mean_square.is_none() {
        return SHARP.unavailable(evidence.is_not_ridge());
    }
    let Some(((_, q), (fitted, _))) = evidence.solution().and_then(|of| Some((of.quadratic_form, of.fitted_square?)))
    else {
        return SHARP.unmeasured(Lack::ExactSolution, finding(evidence, failure_probability, None).assumptions);
    };
    let sharp = |b| sharp_bound(b, evidence.draw_count, evidence.sample_count, q, fitted);
    let mut finding = finding(evidence, failure_probability, evidence.feature_bound.map(sharp));
    finding.inputs.extend([("q", q), ("fitted_square", fitted)]);
    SHARP.guarantee(finding)
}

/// `wang.remark1`: a closed form in mean(y²).
pub fn remark1(evidence: &Evidence, failure_probability: f64) -> Guarantee {
    let Some(variance) = evidence.target_mean_square else { return REMARK1.unavailable(evidence.is_not_ridge()) };
    let bound = |b| remark1_bound(b, evidence.draw_count, variance, evidence.ridge);
    REMARK1.guarantee(finding(evidence, failure_probability, evidence.feature_bound.map(bound)))
}

/// `wang.eq31`: Q/s, a heuristic that drops the constant 4b of Theorem 1.
pub fn eq31(evidence: &Evidence) -> Guarantee {
    let Some(variance) = evidence.target_mean_square else { return EQ31.unavailable(evidence.is_not_ridge()) };
    let assumptions = vec![
        evidence.features_unbiased(),
        evidence.draws_from_the_kernel(),
        Assumption::assumed("a constant of 1 in place of the 4b of Theorem 1, which is unproved"),
    ];
    let Some(exact) = &evidence.exact else { return EQ31.unmeasured(Lack::ExactSolution, assumptions) };
    let value = exact.quadratic_form / evidence.feature_count as f64;
    EQ31.guarantee(Finding {
        value: Some(value),
        informative: value < variance,
        assumptions,
        inputs: [("q", exact.quadratic_form), ("s", evidence.feature_count as f64)].into(),
        wording: Wording {
            claim: format!(
                "averaged over new inputs and feature draws, the squared difference between this model and the exact \
                 kernel method{} is about {} or less",
                summed(evidence),
                rounded_up(value)
            ),
            comparison: format!("; the target variance is {}", rounded_up(variance)),
            uninformative: format!(
                "This is not below the target variance, {}. Use more features or a larger lambda.",
                rounded_up(variance)
            ),
            ..Wording::default()
        },
        ..Finding::default()
    })
}

/// Q, and the assumption that says where it comes from.
pub(crate) fn quadratic_form(evidence: &Evidence) -> Option<(f64, Assumption)> {
    let worst = worst_quadratic_form(evidence.target_mean_square?, evidence.ridge);
    Some(match evidence.solution() {
        Some(solution) => (
            solution.quadratic_form.1,
            Assumption::checked("Q = alpha' K alpha, from the exact solution of the kernel system"),
        ),
        None => (
            worst,
            Assumption::checked(
                "Q <= mean(y^2)/(4 lambda), its worst case, because the exact kernel system was not solved",
            ),
        ),
    })
}

/// What the bounds have in common: assumptions, inputs and wording.
fn finding(evidence: &Evidence, failure_probability: f64, bound: Option<f64>) -> Finding {
    let (n, s) = (evidence.sample_count, evidence.feature_count);
    let mut inputs = evidence.inputs(failure_probability);
    let mut assumptions = Vec::new();
    // The event at one λ is that at every larger one, so a list of λ costs nothing.
    let kernels = evidence.choices.kernels();
    let event_delta = failure_probability / kernels;
    inputs.extend((kernels > 1.0).then_some(("kernels", kernels)));
    if let Some(b) = evidence.feature_bound {
        let need = threshold(b, n, s, event_delta);
        let text = "a large enough lambda by the formula min(b, b(l/3n + sqrt((l/3n)^2 + 2l/n))) with l = log(s/delta)";
        let shown = if bound.is_some() { FORMULA_ONLY } else { "" };
        let remedy = format!("Use lambda ≥ {}.{shown}", rounded_up(need));
        assumptions.push(Assumption::at_least(text, evidence.ridge, need).with_remedy(remedy));
        inputs.insert("threshold_printed", threshold_printed(b, n, s, event_delta));
        inputs.insert("threshold_proof", threshold_proof(b, n, s, event_delta));
        inputs.insert("threshold_bernstein", threshold_bernstein(b, n, s, event_delta));
    }
    assumptions.push(evidence.features_bounded());
    assumptions.push(evidence.features_unbiased());
    assumptions.push(evidence.draws_from_the_kernel());
    assumptions.extend(evidence.rows_and_listed_choices(kernels));
    let variance = evidence.target_mean_square.unwrap_or(0.0);
    // The bound decreases like 1/m, while the λ it requires grows with the logarithm of s. A bound equal to the variance
    // is not informative yet.
    let mut distance = Distance { bound, failure_probability, columns: None };
    let goal = variance * distance.draw_share();
    let columns = bound.map(|bound| evidence.columns_of((bound / goal * evidence.draw_count as f64).floor() + 1.0));
    let covered = |columns: &f64| {
        let need = evidence.feature_bound.map(|b| threshold(b, n, *columns as usize, event_delta));
        need.is_some_and(|need| evidence.ridge >= need)
    };
    distance.columns = columns.filter(covered);
    distance.finding(evidence, assumptions, inputs)
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
    fn a_small_ridge_is_refused_with_one_that_is_large_enough() {
        let guarantee = theorem1(&Evidence { ridge: 0.29, ..evidence() }, 0.05);
        assert_eq!(guarantee.status, Status::NotApplicable);
        assert!(guarantee.statement.starts_with("Does not apply: requires a large enough lambda"));
        assert!(
            guarantee.statement.contains("at least 0.4891; here 0.2900. Use lambda ≥ 0.4891."),
            "{}",
            guarantee.statement
        );
    }

    #[test]
    fn dependent_draws_weights_and_unbounded_features_are_violations() {
        let dependent = theorem1(&Evidence { draws_independent: false, ..evidence() }, 0.05);
        assert_eq!(dependent.status, Status::NotApplicable);
        assert!(dependent.statement.contains("requires independent feature draws"), "{}", dependent.statement);
        let weighted = theorem1(&Evidence { rows_weighted: true, ..evidence() }, 0.05);
        assert_eq!(weighted.status, Status::NotApplicable);
        let unbounded = remark1(&Evidence { feature_bound: None, ..evidence() }, 0.05);
        assert_eq!((unbounded.status, unbounded.value), (Status::NotApplicable, None));
    }

    /// For the features of one model Markov's inequality divides by δ: 4·2·20/(0.31·0.05) = 10,322.6 draws are more than
    /// the 200 there are; 10,323 are enough.
    #[test]
    fn a_bound_above_the_variance_is_vacuous_and_says_how_many_features_are_enough() {
        let evidence = Evidence { exact: Some(exact(20.0, 1.0)), ..evidence() };
        let empty = theorem1(&evidence, 0.05);
        assert_eq!(empty.status, Status::Vacuous);
        assert!(empty.statement.contains("10323 features at this lambda"), "{}", empty.statement);
        let enough = Evidence { feature_count: 10_323, draw_count: 10_323, ..evidence.clone() };
        assert_eq!(theorem1(&enough, 0.05).status, Status::Conditional);
        let pair = Evidence { feature_bound: Some(1.0), draw_count: 100, ..evidence };
        assert!(theorem1(&pair, 0.05).statement.contains("10324 features"), "{}", theorem1(&pair, 0.05).statement);
    }

    /// b = 1, m = 8 and λ = ½ make Remark 1 a quarter of the variance, and at δ = ¼ the bound for one draw the variance
    /// itself: one draw more is below it.
    #[test]
    fn a_bound_equal_to_the_variance_is_vacuous_and_one_more_draw_is_enough() {
        let evidence = Evidence {
            feature_bound: Some(1.0),
            feature_count: 16,
            draw_count: 8,
            ridge: 0.5,
            sample_count: 10_000,
            ..ridge_fit()
        };
        let empty = remark1(&evidence, 0.25);
        assert_eq!(empty.inputs.get("bound_for_this_draw"), evidence.target_mean_square.as_ref());
        assert_eq!(empty.status, Status::Vacuous);
        assert!(empty.statement.contains("18 features at this lambda"), "{}", empty.statement);
        let more = Evidence { feature_count: 18, draw_count: 9, ..evidence };
        assert_eq!(remark1(&more, 0.25).status, Status::Conditional);
    }

    #[test]
    fn unbounded_features_are_refused_with_a_remedy() {
        let unbounded = Evidence { feature_bound: None, ..evidence() };
        for found in [theorem1(&unbounded, 0.05), theorem1_sharp(&unbounded, 0.05), remark1(&unbounded, 0.05)] {
            assert!(found.statement.ends_with("Choose a different kernel."), "{}", found.statement);
        }
    }

    /// A certify job is not recommended where it could not help.
    #[test]
    fn known_violations_come_before_the_missing_exact_solution() {
        let unsolved = Evidence { exact: None, ..evidence() };
        let dependent = Evidence { draws_independent: false, ..unsolved.clone() };
        for found in [theorem1_sharp(&dependent, 0.05), eq31(&dependent)] {
            assert_eq!(found.lacks, None);
            assert!(found.statement.ends_with("Use plain sampling."), "{}", found.statement);
        }
        let small = theorem1_sharp(&Evidence { ridge: 0.29, ..unsolved }, 0.05);
        assert_eq!(small.lacks, None);
        assert!(small.statement.ends_with("Use lambda ≥ 0.4891."), "{}", small.statement);
    }

    /// With N kernels the threshold is that of δ/N, the probability stays 1 − δ, and a list of λ costs nothing.
    #[test]
    fn a_list_of_kernels_is_paid_for_in_the_threshold() {
        let listed = |kernels, lambdas| {
            let choices = crate::theory::Choices::FromList { kernels, lambdas };
            theorem1(&Evidence { choices, ..evidence() }, 0.05)
        };
        let (one, many) = (listed(1, 35), listed(81, 35));
        assert_eq!(one.assumptions[0].need, theorem1(&evidence(), 0.05).assumptions[0].need);
        assert_eq!(many.assumptions[0].need, theorem1(&evidence(), 0.05 / 81.0).assumptions[0].need);
        assert_eq!((many.probability, one.status), (Some(0.95), Status::Conditional));
    }

    /// 4·2/200·0.037 = 0.00148 on average; 20 times that for one draw, with δ = δ' = 5%.
    #[test]
    fn the_bound_is_a_mean_over_draws_and_markov_bounds_one_draw() {
        let found = theorem1(&evidence(), 0.05);
        assert!((found.inputs["bound_for_this_draw"] - 0.0296).abs() < 1e-12);
        assert!((found.inputs["probability_for_this_draw"] - 0.9).abs() < 1e-12);
        assert!(found.statement.starts_with("Averaged over new inputs and feature draws"), "{}", found.statement);
        assert!(found.statement.contains("the average over new inputs is at most 0.0296"), "{}", found.statement);
        assert!(found.statement.contains("with probability at least 90%"), "{}", found.statement);
        let half = theorem1(&evidence(), 0.5);
        assert_eq!(half.inputs.get("bound_for_this_draw"), None);
        assert!(!half.statement.contains("For the features of this model"), "{}", half.statement);
    }

    #[test]
    fn dependent_draws_are_refused_with_the_sampling_to_use() {
        let dependent = Evidence { draws_independent: false, ..evidence() };
        for guarantee in [theorem1(&dependent, 0.05), eq31(&dependent)] {
            assert_eq!(guarantee.status, Status::NotApplicable);
            assert!(guarantee.statement.ends_with("Use plain sampling."), "{}", guarantee.statement);
        }
    }

    #[test]
    fn without_an_exact_solve_the_worst_case_is_used() {
        let evidence = Evidence { exact: None, ..evidence() };
        assert_eq!(theorem1(&evidence, 0.05).value, remark1(&evidence, 0.05).value);
        assert_eq!(remark1(&evidence, 0.05).status, Status::Conditional);
        for guarantee in [theorem1_sharp(&evidence, 0.05), eq31(&evidence)] {
            assert_eq!((guarantee.status, guarantee.value), (Status::NotApplicable, None));
            assert_eq!(guarantee.lacks, Some(Lack::ExactSolution));
        }
    }

    #[test]
    fn an_estimate_claims_no_probability() {
        let figure = eq31(&evidence());
        assert_eq!((figure.form, figure.probability), (Form::Estimate, None));
        assert!(figure.statement.starts_with("An estimate, not a guarantee"));
    }

    #[test]
    fn no_bound_applies_to_a_classifier() {
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
