//! How a guarantee is worded: what is bounded, by how much, with what probability, under what.

use crate::theory::{Assumption, AssumptionState, Form, Status};
use std::cmp::Ordering;

/// The smallest δ that is accepted: the 1 − δ of a smaller one would be rounded to 1.
pub const SMALLEST_DELTA: f64 = 1e-12;

/// Follows a remedy where a value is shown all the same.
pub(crate) const FORMULA_ONLY: &str = " The value shown is the result of the formula, not a bound.";

/// The parts of a statement. The status decides which of them are used.
#[derive(Debug, Default)]
pub(crate) struct Wording {
    /// What is bounded, by how much and with what probability, as a clause that starts with a small letter.
    pub(crate) claim: String,
    /// A clause that follows the claim: what to compare its number with. Empty, or starts with a separator.
    pub(crate) comparison: String,
    /// A second sentence about the same claim. Empty, or ends with a full stop.
    pub(crate) detail: String,
    /// Sentences that say why the claim is uninformative and what to do about it.
    pub(crate) uninformative: String,
}

impl Wording {
    /// The whole statement. Only a bound or a requirement with every assumption checked is said to be proved.
    pub(crate) fn sentence(&self, form: Form, status: Status, assumptions: &[Assumption]) -> String {
        let Self { claim, comparison, detail, uninformative } = self;
        match status {
            Status::NotApplicable => return does_not_apply(assumptions),
            Status::Vacuous if form == Form::Estimate => {
                return format!("An estimate that is uninformative: {claim}. {uninformative}");
            }
            Status::Vacuous => return format!("Valid but uninformative: {claim}. {uninformative}"),
            Status::Holds | Status::Conditional => {}
        }
        let claim = format!("{claim}{comparison}.");
        let said = match form {
            Form::Estimate => return format!("An estimate, not a guarantee: {claim}"),
            Form::Rate => return format!("A rate, not a bound: {claim}"),
            Form::Term => return format!("One term of a bound, not a bound: {claim}"),
            Form::Bound | Form::Requirement => capitalized(&claim),
        };
        let under = match status {
            Status::Holds => "Proved: every assumption was checked.",
            _ => "This holds if the assumptions marked 'assumed' are true.",
        };
        [&said, detail.as_str(), under].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ")
    }
}

fn capitalized(clause: &str) -> String {
    let mut letters = clause.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}

/// Every violated assumption with its numbers, then every remedy once.
fn does_not_apply(assumptions: &[Assumption]) -> String {
    let violated = || assumptions.iter().filter(|assumption| assumption.state == AssumptionState::Violated);
    let mut sentences: Vec<String> = Vec::new();
    for assumption in violated() {
        let opening = if sentences.is_empty() { "Does not apply: requires" } else { "Also requires" };
        sentences.push(format!("{opening} {}.", requirement(assumption)));
    }
    for assumption in violated() {
        if !assumption.remedy.is_empty() && !sentences.contains(&assumption.remedy) {
            sentences.push(assumption.remedy.clone());
        }
    }
    sentences.join(" ")
}

/// The statement of a guarantee that only lacks a measurement.
pub(super) fn not_available(lacking: &Assumption) -> String {
    format!("Not available: requires {}.", requirement(lacking))
}

/// What is required and what is the case here.
fn requirement(violated: &Assumption) -> String {
    let Assumption { text, have, need, shortfall, .. } = violated;
    let need = need.filter(|need| need.is_finite());
    let required = need.map_or(text.clone(), |need| format!("{text}: at least {}", counted(need, rounded_up)));
    match have {
        _ if !shortfall.is_empty() => format!("{required}; here {shortfall}"),
        Some(have) => format!("{required}; here {}", counted(*have, rounded_down)),
        None => required,
    }
}

/// 1 − δ in percent, to the twelve decimals that a number near 100 has. A δ that these would round to 0 is written out.
pub(crate) fn percent(failure_probability: f64) -> String {
    if failure_probability < SMALLEST_DELTA {
        return format!("1 - {failure_probability:e}");
    }
    let decimals = format!("{:.12}", 100.0 - 100.0 * failure_probability);
    format!("{}%", decimals.trim_end_matches('0').trim_end_matches('.'))
}

/// A number that the user gave, with all its digits; as a power of ten if that is long.
pub(crate) fn as_given(value: f64) -> String {
    if (1e-6..1e15).contains(&value.abs()) { value.to_string() } else { format!("{value:e}") }
}

/// Whole numbers in full, all others rounded.
fn counted(value: f64, rounded: fn(f64) -> String) -> String {
    let whole = value.fract() == 0.0 && (1.0..1e15).contains(&value);
    if whole { value.to_string() } else { rounded(value) }
}

/// Four significant digits, rounded up: safe after "at most".
pub(crate) fn rounded_up(value: f64) -> String {
    significant(value, Ordering::Less)
}

/// Four significant digits, rounded down: safe after "at least".
pub(crate) fn rounded_down(value: f64) -> String {
    significant(value, Ordering::Greater)
}

/// The nearest four digits, or their neighbour if the nearest lie on the `wrong` side of the value. Works on decimal
/// digits, so that a number with at most four digits is not changed.
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
            (0.05, "95%"),
            (0.07, "93%"),
            (0.001, "99.9%"),
            (1e-12, "99.9999999999%"),
            (1.23e-12, "99.999999999877%"),
            (1e-20, "1 - 1e-20"),
        ] {
            assert_eq!(percent(delta), said);
        }
        assert_eq!((as_given(0.05).as_str(), as_given(1e-300).as_str()), ("0.05", "1e-300"));
    }

    /// A condition and its remedy name the same count.
    #[test]
    fn counts_are_said_in_full() {
        let assumptions = [Assumption::at_least("enough features", 256.0, 28_668.0).with_remedy("Use 28668 features.")];
        let said = Wording::default().sentence(Form::Bound, Status::NotApplicable, &assumptions);
        assert_eq!(said, "Does not apply: requires enough features: at least 28668; here 256. Use 28668 features.");
    }

    #[test]
    fn only_bounds_and_requirements_are_said_to_be_proved() {
        let wording = Wording { claim: "the error is at most 1".into(), ..Wording::default() };
        let said = |form, status| wording.sentence(form, status, &[]);
        assert_eq!(said(Form::Bound, Status::Holds), "The error is at most 1. Proved: every assumption was checked.");
        assert_eq!(
            said(Form::Requirement, Status::Conditional),
            "The error is at most 1. This holds if the assumptions marked 'assumed' are true."
        );
        for form in [Form::Estimate, Form::Rate, Form::Term] {
            let said = said(form, Status::Holds);
            assert!(said.contains("not a ") && !said.contains("Proved"), "{said}");
        }
    }

    #[test]
    fn every_violation_is_named_with_its_numbers_and_every_remedy_once() {
        let assumptions = [
            Assumption::at_least("a large enough lambda", 0.1, 0.5).with_remedy("Train again."),
            Assumption::checked("bounded features").with_remedy("Choose a different kernel."),
            Assumption::violated("equally weighted rows", "the rows have weights")
                .with_remedy("Leave out the weights."),
            Assumption::at_least("enough rows", 3.0, f64::INFINITY).with_remedy("Train again."),
        ];
        assert_eq!(
            Wording::default().sentence(Form::Bound, Status::NotApplicable, &assumptions),
            "Does not apply: requires a large enough lambda: at least 0.5000; here 0.1000. Also requires equally weighted \
             rows; here the rows have weights. Also requires enough rows; here 3. Train again. Leave out the weights."
        );
    }
}
