//! How a guarantee is put to a reader who is not a specialist.

use super::{Assumption, AssumptionState, Form, Status};

/// The parts of a statement. Which of them are said depends on the status.
#[derive(Debug, Default)]
pub(super) struct Wording {
    /// What is claimed, as a clause without a full stop.
    pub(super) claim: String,
    /// What to compare it with, said after the claim.
    pub(super) context: String,
    /// Why the claim says nothing, and what would change that.
    pub(super) emptiness: String,
    /// What would make it apply, as a sentence.
    pub(super) remedy: String,
}

impl Wording {
    /// One statement. Only a bound is ever said to be proved.
    pub(super) fn sentence(&self, form: Form, status: Status, assumptions: &[Assumption]) -> String {
        let Self { claim, context, emptiness, remedy } = self;
        if status == Status::NotApplicable {
            let said = format!("Not a guarantee for this model: it needs that {}. {remedy}", obstacles(assumptions));
            return remedies(assumptions).fold(said.trim_end().to_owned(), |said, remedy| format!("{said} {remedy}"));
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
            format!("{} (needs {}, has {})", assumption.text, rounded_up(need), rounded_down(have))
        }
        _ => assumption.text.clone(),
    });
    said.collect::<Vec<_>>().join("; and that ")
}

/// What would mend what stands in the way.
fn remedies(assumptions: &[Assumption]) -> impl Iterator<Item = &'static str> + '_ {
    let violated = assumptions.iter().filter(|assumption| assumption.state == AssumptionState::Violated);
    violated.map(|assumption| assumption.remedy).filter(|remedy| !remedy.is_empty())
}

/// 1 − δ in percent.
pub(super) fn percent(failure_probability: f64) -> String {
    format!("{} %", 100.0 * (1.0 - failure_probability))
}

/// Four significant digits, rounded up: what is said to be at most this is.
pub(super) fn rounded_up(value: f64) -> String {
    significant(value, f64::ceil)
}

/// Four significant digits, rounded down.
pub(super) fn rounded_down(value: f64) -> String {
    significant(value, f64::floor)
}

fn significant(value: f64, round: fn(f64) -> f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return value.to_string();
    }
    let exponent = value.abs().log10().floor() as i32;
    let step = 10_f64.powi(exponent - 3);
    let rounded = round(value / step) * step;
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
        ] {
            assert_eq!((rounded_up(value).as_str(), rounded_down(value).as_str()), (up, down));
        }
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
            Assumption::at_least("lambda is large enough", 0.1, 0.5),
            Assumption::checked("the features are bounded"),
            Assumption::mendable("all rows count the same", "Leave out the weights."),
            Assumption::at_least("there are rows enough", 3.0, f64::INFINITY),
        ];
        let wording = Wording { remedy: "Train again.".into(), ..Wording::default() };
        assert_eq!(
            wording.sentence(Form::Bound, Status::NotApplicable, &assumptions),
            "Not a guarantee for this model: it needs that lambda is large enough (needs 0.5000, has 0.1000); and that \
             all rows count the same; and that there are rows enough. Train again. Leave out the weights."
        );
    }
}
