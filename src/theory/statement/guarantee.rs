//! What a guarantee says and how far it can be trusted.

use super::words::Wording;
use crate::theory::Lack;
use serde::Serialize;
use std::collections::BTreeMap;

/// One statement about a model, with everything needed to judge it.
///
/// ```
/// use bochner::model::read_artifact;
/// use bochner::theory::{Form, RowAccess, Status, guarantees};
///
/// let file = std::fs::File::open("tests/fixtures/artifacts/ridge.bochner").unwrap();
/// let model = read_artifact(file, 1 << 30).unwrap();
/// let evidence = model.evidence.as_ref().unwrap();
/// let found = guarantees(evidence, 0.05, 0.95, &model.circumstances(RowAccess::Gone));
/// let theorem1 = &found.guarantees[0];
/// assert_eq!((theorem1.id, theorem1.form), ("wang.theorem1", Form::Bound));
/// // Its lambda is smaller than the theorem requires. The value is then what the formula gives, not a guarantee.
/// assert_eq!(theorem1.status, Status::NotApplicable);
/// ```
#[derive(Debug, Clone, Serialize)]
pub struct Guarantee {
    /// Stable id, `paper.theorem`.
    pub id: &'static str,
    /// One sentence for a reader who is not a specialist.
    pub statement: String,
    /// The quantity the value is about.
    pub bounds: &'static str,
    /// Whether it can be relied on here.
    pub status: Status,
    /// What kind of number the value is.
    pub form: Form,
    /// The number. With `not_applicable` it is what the formula gives, not a guarantee.
    pub value: Option<f64>,
    /// The probability with which it holds; none for what is no statement of probability.
    pub probability: Option<f64>,
    /// What it rests on.
    pub assumptions: Vec<Assumption>,
    /// The numbers that went in.
    pub inputs: BTreeMap<&'static str, f64>,
    /// Which of the inputs were estimated from data rather than known.
    pub estimated: Vec<&'static str>,
    /// Paper, theorem, equation.
    pub paper: &'static str,
    /// The measurement it would need and does not have.
    #[serde(skip)]
    pub lacks: Option<Lack>,
}

impl Guarantee {
    /// Where it comes from, whatever it found.
    pub(crate) fn source(&self) -> Source {
        Source { id: self.id, paper: self.paper, bounds: self.bounds, form: self.form }
    }
}

/// Whether a guarantee can be relied on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Every assumption was checked.
    Holds,
    /// Some assumptions cannot be checked and were assumed.
    Conditional,
    /// True but no better than a trivial bound.
    Vacuous,
    /// An assumption is violated.
    NotApplicable,
}

impl Status {
    /// The status that follows from the assumptions and from whether the value says anything.
    pub fn of(assumptions: &[Assumption], informative: bool) -> Self {
        let any = |state| assumptions.iter().any(|assumption| assumption.state == state);
        if any(AssumptionState::Violated) {
            Self::NotApplicable
        } else if !informative {
            Self::Vacuous
        } else if any(AssumptionState::Assumed) {
            Self::Conditional
        } else {
            Self::Holds
        }
    }
}

/// What kind of number a value is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Form {
    /// A proved bound with explicit constants.
    Bound,
    /// A measured or plugged-in figure that nothing proves.
    Estimate,
    /// How something grows, its constants unknown.
    Rate,
    /// How many features a theorem asks for.
    Requirement,
    /// One term of a bound whose other terms or constants are unknown.
    Term,
}

/// Where a guarantee comes from and what it speaks of.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Source {
    pub(crate) id: &'static str,
    pub(crate) paper: &'static str,
    pub(crate) bounds: &'static str,
    pub(crate) form: Form,
}

/// What a theorem says of one model.
#[derive(Debug, Default)]
pub(crate) struct Finding {
    pub(crate) value: Option<f64>,
    /// Whether the value says more than a trivial bound does.
    pub(crate) informative: bool,
    pub(crate) failure_probability: Option<f64>,
    pub(crate) assumptions: Vec<Assumption>,
    pub(crate) inputs: BTreeMap<&'static str, f64>,
    pub(crate) estimated: Vec<&'static str>,
    pub(crate) wording: Wording,
}

impl Source {
    /// The guarantee a finding amounts to.
    pub(crate) fn guarantee(self, finding: Finding) -> Guarantee {
        let status = Status::of(&finding.assumptions, finding.informative);
        Guarantee {
            id: self.id,
            statement: finding.wording.sentence(self.form, status, &finding.assumptions),
            bounds: self.bounds,
            status,
            form: self.form,
            value: finding.value.filter(|value| value.is_finite()),
            probability: finding.failure_probability.map(|delta| 1.0 - delta),
            assumptions: finding.assumptions,
            inputs: finding.inputs,
            estimated: finding.estimated,
            paper: self.paper,
            lacks: None,
        }
    }

    /// Without a value because a measurement was not made; `known` is what it assumes beside that. What would make the
    /// measurement is said where the circumstances are known, [`super::remedy`], and only where that would help: not
    /// where something else is violated already.
    pub(crate) fn unmeasured(self, lack: Lack, known: Vec<Assumption>) -> Guarantee {
        let hopeless = known.iter().any(|assumption| assumption.state == AssumptionState::Violated);
        let assumptions = known.into_iter().chain([Assumption::violated(lack.text())]).collect();
        let found = self.guarantee(Finding { assumptions, ..Finding::default() });
        Guarantee { lacks: (!hopeless).then_some(lack), ..found }
    }

    /// Without a value: it speaks of other models.
    pub(crate) fn unavailable(self, missing: impl Into<String>, remedy: &str) -> Guarantee {
        self.guarantee(Finding { assumptions: vec![Assumption::mendable(missing, remedy)], ..Finding::default() })
    }
}

/// One assumption and whether it holds for this model.
#[derive(Debug, Clone, Serialize)]
pub struct Assumption {
    /// The assumption in words or as a formula.
    pub text: String,
    /// Whether it holds.
    pub state: AssumptionState,
    /// The number this model has, where the assumption is an inequality.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub have: Option<f64>,
    /// The number it needs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub need: Option<f64>,
    /// Where it is violated, what would mend that, as a sentence.
    #[serde(skip)]
    pub remedy: String,
}

impl Assumption {
    /// An assumption that was verified, by construction or by looking.
    pub fn checked(text: impl Into<String>) -> Self {
        Self { text: text.into(), state: AssumptionState::Checked, have: None, need: None, remedy: String::new() }
    }

    /// An assumption nobody can verify from the data.
    pub fn assumed(text: impl Into<String>) -> Self {
        Self { state: AssumptionState::Assumed, ..Self::checked(text) }
    }

    /// An assumption known to fail.
    pub fn violated(text: impl Into<String>) -> Self {
        Self { state: AssumptionState::Violated, ..Self::checked(text) }
    }

    /// The same, with what would mend it.
    pub fn mendable(text: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self::violated(text).mended_by(remedy)
    }

    /// With what would mend it, said if it is violated.
    #[must_use]
    pub fn mended_by(self, remedy: impl Into<String>) -> Self {
        Self { remedy: remedy.into(), ..self }
    }

    /// `have` of about `need`, where the theorem leaves the constant open.
    pub fn of_order(text: impl Into<String>, have: f64, need: f64) -> Self {
        Self { have: Some(have), need: Some(need), ..Self::assumed(text) }
    }

    /// `have ≥ need`, checked.
    pub fn at_least(text: impl Into<String>, have: f64, need: f64) -> Self {
        let state = if have >= need { AssumptionState::Checked } else { AssumptionState::Violated };
        Self { state, have: Some(have), need: Some(need), ..Self::checked(text) }
    }

    /// Something of which only a lower bound `known` is known is at least `need`: checked, or else assumed.
    pub fn at_least_by_bound(text: impl Into<String>, known: f64, need: f64) -> Self {
        let state = if known >= need { AssumptionState::Checked } else { AssumptionState::Assumed };
        Self { state, have: Some(known), need: Some(need), ..Self::checked(text) }
    }
}

/// Whether an assumption holds for this model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AssumptionState {
    /// Verified.
    Checked,
    /// Cannot be verified; taken on trust.
    Assumed,
    /// Known to fail.
    Violated,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What was not measured is told beside what is known to fail, and a measurement is called for only where it helps.
    #[test]
    fn a_known_violation_comes_before_what_was_not_measured() {
        let source = Source { id: "a.b", paper: "", bounds: "", form: Form::Bound };
        let weights = Assumption::mendable("all rows count the same", "Leave out the weights.");
        let hopeless = source.unmeasured(Lack::Spectrum, vec![Assumption::checked("bounded"), weights]);
        assert_eq!((hopeless.lacks, hopeless.assumptions.len()), (None, 3));
        assert!(hopeless.statement.contains("count the same; and that the eigenvalues"), "{}", hopeless.statement);
        assert!(hopeless.statement.ends_with("Leave out the weights."), "{}", hopeless.statement);
        assert_eq!(source.unmeasured(Lack::Spectrum, Vec::new()).lacks, Some(Lack::Spectrum));
    }

    #[test]
    fn the_status_follows_from_the_weakest_assumption() {
        let checked = Assumption::checked("bounded");
        let assumed = Assumption::assumed("independent rows");
        let met = Assumption::at_least("ridge", 0.5, 0.5);
        let violated = Assumption::at_least("ridge", 0.1, 0.5);
        assert_eq!(Status::of(&[checked.clone(), met], true), Status::Holds);
        assert_eq!(Status::of(&[checked.clone(), assumed.clone()], true), Status::Conditional);
        assert_eq!(Status::of(std::slice::from_ref(&assumed), false), Status::Vacuous);
        assert_eq!(Status::of(&[assumed, violated], false), Status::NotApplicable);
    }
}
