//! Theorem 1 and what hangs on it: the sharper form, the worst case, the practical figure.

use super::thresholds::{threshold, threshold_bernstein, threshold_printed, threshold_proof};
use crate::theory::statement::guarantee::{Finding, Source};
use crate::theory::statement::words::{Wording, percent, rounded_up};
use crate::theory::{Assumption, Evidence, Form, Guarantee, Lack};

/// What estimates of the distance to the exact method speak of.
pub(crate) const ERROR: &str = "E (f_s(x) - f(x))^2 over a new input x and over the features";
/// What Theorem 1 and its kin bound.
pub(crate) const ERROR_ON_EVENT: &str = "E (f_s(x) - f(x))^2 over a new input x and over the features, those \
     left out that fall outside an event of the stated probability over rows and features";

const THEOREM1: Source =
    Source { id: "wang.theorem1", paper: "Wang 2019, Theorem 1, eq. (2)", bounds: ERROR_ON_EVENT, form: Form::Bound };
const SHARP: Source = Source {
    id: "wang.theorem1_sharp",
    paper: "follows from Wang 2019, proof of Theorem 1 without its last inequality",
    ..THEOREM1
};
const REMARK1: Source = Source { id: "wang.remark1", paper: "Wang 2019, Remark 1", ..THEOREM1 };
const EQ31: Source = Source {
    id: "wang.eq31",
    paper: "Wang 2019, eq. (31), the figure of its experiments",
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
    let Some(((_, q), (fitted, _))) = evidence.solution().and_then(|of| Some((of.quadratic_form, of.fitted_square?)))
    else {
        return SHARP.unmeasured(Lack::ExactSolution, finding(evidence, failure_probability, None).assumptions);
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
    let assumptions = vec![
        evidence.features_unbiased(),
        evidence.draws_from_the_kernel(),
        Assumption::assumed("the constant 4b of Theorem 1 is an artefact of its proof, which nobody has shown"),
    ];
    let Some(exact) = &evidence.exact else { return EQ31.unmeasured(Lack::ExactSolution, assumptions) };
    let value = exact.quadratic_form / evidence.feature_count as f64;
    EQ31.guarantee(Finding {
        value: Some(value),
        informative: true,
        assumptions,
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

/// Q and where it comes from.
pub(crate) fn quadratic_form(evidence: &Evidence) -> Option<(f64, Assumption)> {
    let worst = worst_quadratic_form(evidence.target_mean_square?, evidence.ridge);
    Some(match evidence.solution() {
        Some(solution) => (
            solution.quadratic_form.1,
            Assumption::checked("Q = alpha' K alpha, from the solution of the exact kernel system"),
        ),
        None => (
            worst,
            Assumption::checked("Q <= mean(y^2)/(4 lambda), its worst case: the exact kernel system was not solved"),
        ),
    })
}

/// A theorem on ridge regression, asked about a classifier.
pub(crate) fn ridge_only(source: Source, evidence: &Evidence) -> Guarantee {
    source
        .unavailable(evidence.is_ridge().text, "It speaks of ridge regression alone: the learner ridge would have it.")
}

/// The common frame of the bounds.
fn finding(evidence: &Evidence, failure_probability: f64, bound: Option<f64>) -> Finding {
    let (n, s) = (evidence.sample_count, evidence.feature_count);
    let mut inputs = evidence.inputs(failure_probability);
    let mut assumptions = Vec::new();
    if let Some(b) = evidence.feature_bound {
        let need = threshold(b, n, s, failure_probability);
        let text = "lambda is large enough, at least b(l/3n + sqrt((l/3n)^2 + 2l/n)) with l = log(s/delta), or b";
        let enough = rounded_up(need);
        let shown = if bound.is_some() { "; the value shown is what the formula gives here" } else { "" };
        let remedy = format!("A lambda of {enough} would be{shown}.");
        assumptions.push(Assumption::at_least(text, evidence.ridge, need).mended_by(remedy));
        inputs.insert("threshold_printed", threshold_printed(b, n, s, failure_probability));
        inputs.insert("threshold_proof", threshold_proof(b, n, s, failure_probability));
        inputs.insert("threshold_bernstein", threshold_bernstein(b, n, s, failure_probability));
    }
    assumptions.push(evidence.features_bounded());
    assumptions.push(evidence.features_unbiased());
    assumptions.push(evidence.draws_from_the_kernel());
    assumptions.extend(evidence.rows_and_choices());
    let variance = evidence.target_mean_square.unwrap_or(0.0);
    // The bound falls like 1/m, while the λ it asks for grows with the logarithm of s. At the variance itself it says
    // nothing yet.
    let columns = bound.map(|bound| evidence.columns_of((bound / variance * evidence.draw_count as f64).floor() + 1.0));
    let covered = |columns: &f64| {
        let need = evidence.feature_bound.map(|b| threshold(b, n, *columns as usize, failure_probability));
        need.is_some_and(|need| evidence.ridge >= need)
    };
    let columns = columns.filter(covered);
    let distance = Distance { bound, failure_probability, columns };
    inputs.extend(distance.for_this_draw());
    Finding {
        value: bound,
        informative: bound.is_some_and(|bound| bound < variance),
        failure_probability: Some(failure_probability),
        assumptions,
        inputs,
        estimated: Vec::new(),
        wording: distance.wording(evidence),
    }
}

/// What squares and errors of several targets are, in a sentence.
pub(crate) fn summed(evidence: &Evidence) -> String {
    match evidence.target_count {
        1 => String::new(),
        count => format!(", summed over the {count} targets,"),
    }
}

/// A bound on the distance to the exact method.
///
/// What is proved: over draws of the features and new inputs the mean of (f_s − f)²·1[event] is at most the bound, for
/// every training set, and the event has probability 1 − δ over rows and features together. Of the one draw that a
/// model is, Markov's inequality says that it exceeds bound/δ' with probability δ' at most, or is outside the event.
pub(crate) struct Distance {
    pub(crate) bound: Option<f64>,
    /// δ.
    pub(crate) failure_probability: f64,
    /// Columns from which on it is below the target's variance, where some number is.
    pub(crate) columns: Option<f64>,
}

impl Distance {
    /// bound/δ' at δ' = δ, and the probability 1 − δ − δ' it holds with, where that is above 0.
    pub(crate) fn for_this_draw(&self) -> Vec<(&'static str, f64)> {
        let probability = 1.0 - 2.0 * self.failure_probability;
        let of_bound = |bound: f64| {
            vec![("bound_for_this_draw", bound / self.failure_probability), ("probability_for_this_draw", probability)]
        };
        self.bound.filter(|bound| bound.is_finite() && probability > 0.0).map_or(Vec::new(), of_bound)
    }

    /// How it is said.
    pub(crate) fn wording(self, evidence: &Evidence) -> Wording {
        let delta = self.failure_probability;
        let variance = rounded_up(evidence.target_mean_square.unwrap_or(0.0));
        let this_draw = match self.for_this_draw()[..] {
            [(_, bound), _] => format!(
                "; for the features drawn here alone it is at most {} with probability {}",
                rounded_up(bound),
                percent(2.0 * delta)
            ),
            _ => String::new(),
        };
        let enough = match self.columns {
            Some(columns) => format!("{columns} features at this lambda, or a larger lambda,"),
            None => "more rows or a larger lambda".into(),
        };
        Wording {
            claim: format!(
                "on average over new inputs and over draws of the features, the squared difference between a model like \
                 this one and the exact kernel method{} is at most {}, leaving out draws outside an event that rows and \
                 features meet with probability {}",
                summed(evidence),
                rounded_up(self.bound.unwrap_or(f64::INFINITY)),
                percent(delta),
            ),
            context: format!("{this_draw}; the target's variance is {variance}"),
            emptiness: format!(
                "which is no better than the target's variance {variance}; {enough} would make it informative"
            ),
        }
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

    /// 4·2·20/0.31 = 516.1 draws are more than the 200 there are; 517 are enough.
    #[test]
    fn a_bound_above_the_variance_is_vacuous_and_says_how_many_features_are_enough() {
        let evidence = Evidence { exact: Some(exact(20.0, 1.0)), ..evidence() };
        let empty = theorem1(&evidence, 0.05);
        assert_eq!(empty.status, Status::Vacuous);
        assert!(empty.statement.contains("517 features at this lambda"), "{}", empty.statement);
        let enough = Evidence { feature_count: 517, draw_count: 517, ..evidence.clone() };
        assert_eq!(theorem1(&enough, 0.05).status, Status::Conditional);
        let pair = Evidence { feature_bound: Some(1.0), draw_count: 100, ..evidence };
        assert!(theorem1(&pair, 0.05).statement.contains("518 features"), "{}", theorem1(&pair, 0.05).statement);
    }

    /// b = 1, m = 2 and λ = ½ make Remark 1 the variance itself: one draw more is below it.
    #[test]
    fn the_variance_itself_is_no_news_and_asks_for_one_draw_more() {
        let evidence = Evidence {
            feature_bound: Some(1.0),
            feature_count: 4,
            draw_count: 2,
            ridge: 0.5,
            sample_count: 10_000,
            ..ridge_fit()
        };
        let empty = remark1(&evidence, 0.05);
        assert_eq!((empty.value, empty.status), (evidence.target_mean_square, Status::Vacuous));
        assert!(empty.statement.contains("6 features at this lambda"), "{}", empty.statement);
        let more = Evidence { feature_count: 6, draw_count: 3, ..evidence };
        assert_eq!(remark1(&more, 0.05).status, Status::Conditional);
    }

    #[test]
    fn kernels_without_a_bound_are_told_so_with_what_would_help() {
        let unbounded = Evidence { feature_bound: None, ..evidence() };
        for found in [theorem1(&unbounded, 0.05), theorem1_sharp(&unbounded, 0.05), remark1(&unbounded, 0.05)] {
            assert!(found.statement.ends_with("Another kernel would have it."), "{}", found.statement);
        }
    }

    /// What a certify job cannot mend is said before it runs.
    #[test]
    fn violations_that_are_known_come_before_the_exact_solution() {
        let unsolved = Evidence { exact: None, ..evidence() };
        let dependent = Evidence { draws_independent: false, ..unsolved.clone() };
        for found in [theorem1_sharp(&dependent, 0.05), eq31(&dependent)] {
            assert_eq!(found.lacks, None);
            assert!(found.statement.ends_with("sampling plain would have it."), "{}", found.statement);
        }
        let small = theorem1_sharp(&Evidence { ridge: 0.29, ..unsolved }, 0.05);
        assert_eq!(small.lacks, None);
        assert!(small.statement.ends_with("A lambda of 0.4891 would be."), "{}", small.statement);
    }

    /// 4·2/200·0.037 = 0.00148 on average; 20 times that for one draw, both failures at 5 %.
    #[test]
    fn what_is_proved_is_a_mean_over_draws_and_markov_tells_of_one() {
        let found = theorem1(&evidence(), 0.05);
        assert!((found.inputs["bound_for_this_draw"] - 0.0296).abs() < 1e-12);
        assert!((found.inputs["probability_for_this_draw"] - 0.9).abs() < 1e-12);
        assert!(found.statement.contains("on average over new inputs and over draws of the features"));
        assert!(found.statement.contains("drawn here alone it is at most 0.0296"), "{}", found.statement);
        assert!(found.statement.contains("with probability 90 %"), "{}", found.statement);
        let half = theorem1(&evidence(), 0.5);
        assert_eq!(half.inputs.get("bound_for_this_draw"), None);
        assert!(!half.statement.contains("drawn here alone"), "{}", half.statement);
    }

    #[test]
    fn dependent_draws_are_told_what_sampling_would_do() {
        let dependent = Evidence { draws_independent: false, ..evidence() };
        for guarantee in [theorem1(&dependent, 0.05), eq31(&dependent)] {
            assert_eq!(guarantee.status, Status::NotApplicable);
            assert!(guarantee.statement.ends_with("sampling plain would have it."), "{}", guarantee.statement);
        }
    }

    #[test]
    fn without_an_exact_solve_there_is_the_worst_case_alone() {
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
