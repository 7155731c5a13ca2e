//! S. Wang, *Simple and almost assumption-free out-of-sample bound for random feature mapping*,
//! 2019 (the version whose Theorem 1 carries equation (2)).
//!
//! **Statement.** Let f be exact kernel ridge regression and f_s its random-feature version, at the
//! same λ. If λ ≥ b·√(8 log(s/δ)/(3n)), then for every training set
//! E over features and a new x of (f_s(x) − f(x))² on an event of probability ≥ 1 − δ (over rows
//! and features together) is at most (4b/m)·Q with Q = αᵀKα (Theorem 1).
//!
//! **Assumptions.** ψ unbiased and |ψ|² ≤ b (true by construction of the map); rows drawn
//! independently from one distribution (cannot be checked); draws independent of the rows.
//!
//! **Notation.** The paper's λ is ours. Its s stands for two things where the pair map is used:
//! inside every logarithm it is the number of columns, in 4b/s the number of independent draws m.
//!
//! **Departures.** The paper's condition is λ ≥ (2b/√n)·√log(s/δ); its proof uses Lemma 3 with
//! ε = λ, which needs only the smaller threshold above. We check that one and show both.

use super::{Assumption, AssumptionState, Form, Guarantee, Status};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What the bounds need to know of a model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[allow(clippy::struct_excessive_bools)] // each settles one assumption
pub struct Evidence {
    /// n.
    pub sample_count: usize,
    /// s.
    pub feature_count: usize,
    /// m.
    pub draw_count: usize,
    /// b, where there is one.
    pub feature_bound: Option<f64>,
    /// Whether the draws are independent of each other.
    pub draws_independent: bool,
    /// Whether ψ(x)ᵀψ(x') is exactly unbiased for the kernel.
    pub unbiased: bool,
    /// λ.
    pub ridge: f64,
    /// Targets of the model; squares and errors are summed over them.
    pub target_count: usize,
    /// (1/n)Σy², centred.
    pub target_mean_square: f64,
    /// Q of the exact solution, where it was computed.
    pub quadratic_form: Option<f64>,
    /// Whether the kernel was fixed before any row was seen.
    pub kernel_fixed_in_advance: bool,
    /// Whether some rows count more than others.
    pub rows_weighted: bool,
}

/// Smallest λ of Theorem 1 as printed: (2b/√n)·√log(s/δ). [W, Thm 1]
pub fn threshold_printed(
    feature_bound: f64,
    sample_count: usize,
    feature_count: usize,
    failure_probability: f64,
) -> f64 {
    let (b, n, s) = (feature_bound, sample_count as f64, feature_count as f64);
    2.0 * b / n.sqrt() * log_ratio(s, failure_probability).sqrt()
}

/// Smallest λ that the proof of Theorem 1 needs: b·√(8 log(s/δ)/(3n)). [W, Lemma 3 with ε = λ]
pub fn threshold_proof(feature_bound: f64, sample_count: usize, feature_count: usize, failure_probability: f64) -> f64 {
    let (b, n, s) = (feature_bound, sample_count as f64, feature_count as f64);
    b * (8.0 * log_ratio(s, failure_probability) / (3.0 * n)).sqrt()
}

/// log(s/δ), without overflow for the smallest δ.
fn log_ratio(s: f64, delta: f64) -> f64 {
    s.ln() - delta.ln()
}

/// (4b/m)·Q. [W, Thm 1, eq. (2)]
pub fn theorem1_bound(feature_bound: f64, draw_count: usize, quadratic_form: f64) -> f64 {
    4.0 * feature_bound / draw_count as f64 * quadratic_form
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
    let worst = worst_quadratic_form(evidence.target_mean_square, evidence.ridge);
    let q = evidence.quadratic_form.unwrap_or(worst);
    let mut assumptions = common_assumptions(evidence, failure_probability);
    assumptions.push(match evidence.quadratic_form {
        Some(_) => Assumption::checked("Q = alpha' K alpha, from a dense solve of the exact kernel system"),
        None => {
            Assumption::checked("Q <= mean(y^2)/(4 lambda), its worst case: too many rows for the dense exact solve")
        }
    });
    let bound = evidence.feature_bound.map(|b| theorem1_bound(b, evidence.draw_count, q));
    let source = ("wang.theorem1", "Wang 2019, Theorem 1, eq. (2)");
    let mut guarantee = guarantee(source, evidence, failure_probability, bound, assumptions);
    guarantee.inputs.insert("q", q);
    guarantee
}

/// `wang.remark1`: the closed form that needs nothing but mean(y²).
pub fn remark1(evidence: &Evidence, failure_probability: f64) -> Guarantee {
    let assumptions = common_assumptions(evidence, failure_probability);
    let bound = |b| remark1_bound(b, evidence.draw_count, evidence.target_mean_square, evidence.ridge);
    let source = ("wang.remark1", "Wang 2019, Remark 1");
    guarantee(source, evidence, failure_probability, evidence.feature_bound.map(bound), assumptions)
}

fn common_assumptions(evidence: &Evidence, failure_probability: f64) -> Vec<Assumption> {
    let (n, s) = (evidence.sample_count, evidence.feature_count);
    let mut assumptions = match evidence.feature_bound {
        Some(b) => vec![
            Assumption::at_least(
                "lambda >= b sqrt(8 log(s/delta) / (3n)), which the proof needs",
                evidence.ridge,
                threshold_proof(b, n, s, failure_probability),
            ),
            Assumption::checked(format!("|psi|^2 <= b = {b}, by construction")),
        ],
        None => vec![Assumption::violated("the features are bounded, which those of this kernel are not")],
    };
    assumptions.push(if evidence.unbiased {
        Assumption::checked("the features are unbiased for the kernel, by construction")
    } else {
        Assumption::assumed("the features count as unbiased, which structured ones are only nearly")
    });
    assumptions.push(if evidence.draws_independent {
        Assumption::checked("the draws are independent of each other and of the rows, by construction")
    } else {
        Assumption::violated("the draws are independent of each other, which those of this sampling are not")
    });
    assumptions.push(Assumption::assumed("the rows, and the new inputs, are independent draws from one distribution"));
    if evidence.rows_weighted {
        assumptions.push(Assumption::violated("all rows count the same, which sample weights undo"));
    }
    assumptions.push(if evidence.kernel_fixed_in_advance {
        Assumption::checked("the kernel and lambda were fixed before the rows were seen")
    } else {
        Assumption::assumed(
            "the kernel and lambda count as fixed, although scaling, bandwidth or lambda came from the training rows",
        )
    });
    assumptions
}

/// The common frame of both statements.
fn guarantee(
    (id, paper): (&'static str, &'static str),
    evidence: &Evidence,
    failure_probability: f64,
    bound: Option<f64>,
    assumptions: Vec<Assumption>,
) -> Guarantee {
    let variance = evidence.target_mean_square;
    let (n, s) = (evidence.sample_count, evidence.feature_count);
    let mut inputs = BTreeMap::from([
        ("s", s as f64),
        ("draws", evidence.draw_count as f64),
        ("n", n as f64),
        ("lambda", evidence.ridge),
        ("delta", failure_probability),
        ("mean_square_target", variance),
    ]);
    if let Some(b) = evidence.feature_bound {
        inputs.insert("b", b);
        inputs.insert("threshold_printed", threshold_printed(b, n, s, failure_probability));
        inputs.insert("threshold_proof", threshold_proof(b, n, s, failure_probability));
    }
    let status = Status::of(&assumptions, bound.is_some_and(|bound| bound < variance));
    Guarantee {
        id,
        statement: statement(status, bound.unwrap_or(f64::INFINITY), evidence, failure_probability, &assumptions),
        bounds: "E (f_s(x) - f(x))^2 over a new input x and over the features",
        status,
        form: Form::Bound,
        value: bound,
        probability: 1.0 - failure_probability,
        assumptions,
        inputs,
        estimated: Vec::new(),
        paper,
    }
}

fn statement(
    status: Status,
    bound: f64,
    evidence: &Evidence,
    failure_probability: f64,
    assumptions: &[Assumption],
) -> String {
    let percent = 100.0 * (1.0 - failure_probability);
    let (bound, variance) = (rounded_up(bound), rounded_up(evidence.target_mean_square));
    let summed = match evidence.target_count {
        1 => String::new(),
        count => format!(", summed over the {count} targets,"),
    };
    let claim = format!(
        "with probability {percent} % over the training rows and the features, the average squared difference \
         between this model and the exact kernel method{summed} is at most {bound}"
    );
    match status {
        Status::Holds => format!("Proved: {claim}; the target's variance is {variance}."),
        Status::Conditional => {
            format!("If the assumptions marked 'assumed' are true, then {claim}; the target's variance is {variance}.")
        }
        Status::Vacuous => format!(
            "True but empty: {claim}, which is no better than the target's variance {variance}. \
             More features or a larger lambda would make it informative."
        ),
        Status::NotApplicable => format!("Not a guarantee for this model: {}", refusal(assumptions)),
    }
}

/// What stands in the way, and what would clear it.
fn refusal(assumptions: &[Assumption]) -> String {
    let violated: Vec<&Assumption> =
        assumptions.iter().filter(|assumption| assumption.state == AssumptionState::Violated).collect();
    if let [Assumption { have: Some(have), need: Some(need), .. }] = violated.as_slice() {
        let need = rounded_up(*need);
        return format!(
            "the proof needs lambda >= {need} and this model has {have:.4e}. Trained with lambda = {need} it would \
             apply; the value shown is what the formula gives here."
        );
    }
    let texts: Vec<&str> = violated.iter().map(|assumption| assumption.text.as_str()).collect();
    format!("it needs that {}.", texts.join("; and that "))
}

/// Four significant digits, rounded up: what is said to be at most this is.
fn rounded_up(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return value.to_string();
    }
    let exponent = value.abs().log10().floor() as i32;
    let step = 10_f64.powi(exponent - 3);
    let rounded = (value / step).ceil() * step;
    let (small, large) = (-4, 6);
    if (small..large).contains(&exponent) {
        format!("{rounded:.*}", (3 - exponent).max(0) as usize)
    } else {
        format!("{rounded:.3e}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn evidence() -> Evidence {
        Evidence {
            sample_count: 300,
            feature_count: 200,
            draw_count: 200,
            feature_bound: Some(2.0),
            draws_independent: true,
            unbiased: true,
            ridge: 0.7,
            target_count: 1,
            target_mean_square: 0.31,
            quadratic_form: Some(0.037),
            kernel_fixed_in_advance: false,
            rows_weighted: false,
        }
    }

    /// 4·2/200·0.37 and 2/(200·0.29)·0.31, worked out by hand.
    #[test]
    fn values_by_hand() {
        assert!((theorem1_bound(2.0, 200, 0.37) - 0.0148).abs() < 1e-15);
        assert!((remark1_bound(2.0, 200, 0.31, 0.29) - 0.010_689_655_172_413_793).abs() < 1e-15);
        // 2·2/√300·√log(4000) and 2·√(8·log(4000)/900), log 4000 = 8.294049640102028
        assert!((threshold_printed(2.0, 300, 200, 0.05) - 0.665_093_5).abs() < 1e-7);
        assert!((threshold_proof(2.0, 300, 200, 0.05) - 0.543_046_5).abs() < 1e-7);
    }

    #[test]
    fn bounds_fall_with_features_and_thresholds_grow_with_confidence() {
        assert!(theorem1_bound(2.0, 400, 0.37) < theorem1_bound(2.0, 200, 0.37));
        assert!(remark1_bound(1.0, 100, 0.3, 0.2) < remark1_bound(1.0, 100, 0.3, 0.1));
        assert!(threshold_proof(1.0, 100, 50, 0.01) > threshold_proof(1.0, 100, 50, 0.05));
        assert!(threshold_proof(1.0, 200, 50, 0.05) < threshold_proof(1.0, 100, 50, 0.05));
        assert!(threshold_proof(1.0, 100, 50, 0.05) < threshold_printed(1.0, 100, 50, 0.05));
    }

    #[test]
    fn numbers_in_words_are_rounded_up() {
        for (value, text) in [
            (0.014_800_1, "0.01481"),
            (6.123_4e-12, "6.124e-12"),
            (1_355.378, "1356"),
            (0.203_379_8, "0.2034"),
            (123_456.7, "123500"),
            (9.9999, "10.000"),
            (2.5e9, "2.500e9"),
        ] {
            assert_eq!(rounded_up(value), text);
            assert!(rounded_up(value).parse::<f64>().unwrap() >= value);
        }
    }

    #[test]
    fn a_small_ridge_is_said_to_be_too_small() {
        let evidence = Evidence { ridge: 0.29, ..evidence() };
        let guarantee = theorem1(&evidence, 0.05);
        assert_eq!(guarantee.status, Status::NotApplicable);
        assert!(guarantee.statement.starts_with("Not a guarantee"));
    }

    #[test]
    fn dependent_draws_and_unbounded_features_are_violations() {
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
        let evidence = Evidence { quadratic_form: Some(20.0), ..evidence() };
        assert_eq!(theorem1(&evidence, 0.05).status, Status::Vacuous);
    }

    #[test]
    fn without_an_exact_solve_theorem1_falls_back_to_the_worst_case() {
        let evidence = Evidence { quadratic_form: None, ..evidence() };
        assert_eq!(theorem1(&evidence, 0.05).value, remark1(&evidence, 0.05).value);
        assert_eq!(remark1(&evidence, 0.05).status, Status::Conditional);
    }
}
