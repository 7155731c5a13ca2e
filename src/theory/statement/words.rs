//! How a guarantee is put to a reader who is not a specialist.

use crate::theory::{Assumption, AssumptionState, Form, Status};
use std::cmp::Ordering;

/// The smallest δ that is taken: 1 − δ of a smaller one could not be told from 1.
pub const SMALLEST_DELTA: f64 = 1e-12;

/// The parts of a statement. Which of them are said depends on the status.
#[derive(Debug, Default)]
pub(crate) struct Wording {
    /// What is claimed, as a clause without a full stop.
    pub(crate) claim: String,
    /// What to compare it with, said after the claim.
    pub(crate) context: String,
    /// Why the claim says nothing, and what would change that.
    pub(crate) emptiness: String,
}

impl Wording {
    /// One statement. Only a bound is ever said to be proved.
    pub(crate) fn sentence(&self, form: Form, status: Status, assumptions: &[Assumption]) -> String {
        let Self { claim, context, emptiness } = self;
        if status == Status::NotApplicable {
            let said = format!("Not a guarantee for this model: it needs that {}.", obstacles(assumptions));
            return remedies(assumptions).iter().fold(said, |said, remedy| format!("{said} {remedy}"));
        }
        if status == Status::Vacuous {
            return format!("True but empty: {claim}, {emptiness}.");
        }
        let opening = match (form, status) {
            (Form::Bound, Status::Holds) => "Proved:",
            (Form::Bound, _) => "If the assumptions marked 'assumed' are true, then",
            (Form::Requirement, Status::Holds) => "Enough features:",
            (Form::Requirement, _) => "Enough features, if the assumptions marked 'assumed' are true:",
            (Form::Estimate, _) => "An estimate, not a guarantee:",
            (Form::Rate, _) => "A rate, not a bound:",
            (Form::Term, _) => "One term, not a bound:",
        };
        format!("{opening} {claim}{context}.")
    }
}

/// What stands in the way, with the numbers where there are any.
fn obstacles(assumptions: &[Assumption]) -> String {
    let violated = assumptions.iter().filter(|assumption| assumption.state == AssumptionState::Violated);
    let said = violated.map(|assumption| match (assumption.have, assumption.need) {
        (Some(have), Some(need)) if need.is_finite() => {
            let (need, have) = (counted(need, rounded_up), counted(have, rounded_down));
            format!("{} (needs {need}, has {have})", assumption.text)
        }
        _ => assumption.text.clone(),
    });
    said.collect::<Vec<_>>().join("; and that ")
}

/// What would mend what stands in the way, each once.
fn remedies(assumptions: &[Assumption]) -> Vec<&str> {
    let mut said = Vec::new();
    for assumption in assumptions.iter().filter(|assumption| assumption.state == AssumptionState::Violated) {
        if !assumption.remedy.is_empty() && !said.contains(&assumption.remedy.as_str()) {
            said.push(assumption.remedy.as_str());
        }
    }
    said
}

/// 1 − δ in percent, to the twelve decimals that a number near 100 has; where those would say that nothing can fail,
/// as it is.
pub(crate) fn percent(failure_probability: f64) -> String {
    if failure_probability < SMALLEST_DELTA {
        return format!("1 - {failure_probability:e}");
    }
    let decimals = format!("{:.12}", 100.0 - 100.0 * failure_probability);
    format!("{} %", decimals.trim_end_matches('0').trim_end_matches('.'))
}

/// A number as it was given: in full, or by a power of ten where that would be long.
pub(crate) fn as_given(value: f64) -> String {
    if (1e-6..1e15).contains(&value.abs()) { value.to_string() } else { format!("{value:e}") }
}

/// A count in full, and any other number rounded.
fn counted(value: f64, rounded: fn(f64) -> String) -> String {
    let whole = value.fract() == 0.0 && (1.0..1e15).contains(&value);
    if whole { value.to_string() } else { rounded(value) }
}

/// Four significant digits, rounded up: what is said to be at most this is.
pub(crate) fn rounded_up(value: f64) -> String {
    significant(value, Ordering::Less)
}

/// Four significant digits, rounded down.
pub(crate) fn rounded_down(value: f64) -> String {
    significant(value, Ordering::Greater)
}

/// The nearest four digits, or their neighbour where the nearest lie on the `wrong` side of the value. In decimals, which
/// are exact: a number that has no more digits stays as it is.
fn significant(value: f64, wrong: Ordering) -> String {
    if value == 0.0 || !value.is_finite() {
        return value.to_string();
    }
    let parts = |text: &str| -> Option<(i64, i32)> {
        let (digits, exponent) = text.split_once('e')?;
        Some((digits.replace('.', "").parse().ok()?, exponent.parse().ok()?))
    };
    let (Some((digits, exponent)), Some((_, places))) = (parts(&format!("{value:.3e}")), parts(&format!("{value:e}")))
    else {
        return value.to_string();
    };
    // In units of the value's own fourth digit, which rounding to 10 moves by one place.
    let digits = if exponent > places { 10 * digits } else { digits };
    let number = |digits: i64| format!("{digits}e{}", places - 3).parse().unwrap_or(value);
    let step = if wrong == Ordering::Less { 1 } else { -1 };
    let nearest: f64 = number(digits);
    let rounded = if nearest.partial_cmp(&value) == Some(wrong) { number(digits + step) } else { nearest };
    let (small, large) = (-4, 6);
    if (small..large).contains(&places) {
        format!("{rounded:.*}", (3 - places).max(0) as usize)
    } else {
        format!("{rounded:.3e}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_in_words_are_rounded_to_the_safe_side() {
        for (value, up, down) in [
            (0.014_800_1, "0.01481", "0.01480"),
            (6.123_4e-12, "6.124e-12", "6.123e-12"),
            (1_355.378, "1356", "1355"),
            (0.203_379_8, "0.2034", "0.2033"),
            (123_456.7, "123500", "123400"),
            (9.9999, "10.000", "9.999"),
            (2.5e9, "2.500e9", "2.500e9"),
            (0.01, "0.01000", "0.01000"),
            (1e-7, "1.000e-7", "1.000e-7"),
            (0.031_93, "0.03193", "0.03193"),
            (1e23, "1.000e23", "1.000e23"),
            (0.099_999, "0.10000", "0.09999"),
            (1.000_01, "1.001", "1.000"),
            (-0.014_800_1, "-0.01480", "-0.01481"),
        ] {
            assert_eq!((rounded_up(value).as_str(), rounded_down(value).as_str()), (up, down));
        }
    }

    #[test]
    fn probabilities_are_never_said_to_be_certain() {
        for (delta, said) in [
            (0.05, "95 %"),
            (0.07, "93 %"),
            (0.001, "99.9 %"),
            (1e-12, "99.9999999999 %"),
            (1.23e-12, "99.999999999877 %"),
            (1e-20, "1 - 1e-20"),
        ] {
            assert_eq!(percent(delta), said);
        }
        assert_eq!((as_given(0.05).as_str(), as_given(1e-300).as_str()), ("0.05", "1e-300"));
    }

    /// A condition and its remedy name the same count.
    #[test]
    fn counts_are_said_in_full() {
        let assumptions =
            [Assumption::at_least("the features are enough", 256.0, 28_668.0).mended_by("It takes 28668.")];
        let said = Wording::default().sentence(Form::Bound, Status::NotApplicable, &assumptions);
        assert!(said.contains("(needs 28668, has 256). It takes 28668."), "{said}");
    }

    #[test]
    fn only_bounds_are_said_to_be_proved() {
        let wording = Wording { claim: "it is so".into(), ..Wording::default() };
        let said = |form, status| wording.sentence(form, status, &[]);
        assert_eq!(said(Form::Bound, Status::Holds), "Proved: it is so.");
        for form in [Form::Estimate, Form::Rate, Form::Term] {
            assert!(said(form, Status::Holds).contains("not a "), "{}", said(form, Status::Holds));
        }
    }

    #[test]
    fn every_obstacle_is_named_with_its_numbers() {
        let assumptions = [
            Assumption::at_least("lambda is large enough", 0.1, 0.5).mended_by("Train again."),
            Assumption::checked("the features are bounded").mended_by("Another kernel."),
            Assumption::mendable("all rows count the same", "Leave out the weights."),
            Assumption::at_least("there are rows enough", 3.0, f64::INFINITY).mended_by("Train again."),
        ];
        assert_eq!(
            Wording::default().sentence(Form::Bound, Status::NotApplicable, &assumptions),
            "Not a guarantee for this model: it needs that lambda is large enough (needs 0.5000, has 0.1000); and that \
             all rows count the same; and that there are rows enough. Train again. Leave out the weights."
        );
    }
}
