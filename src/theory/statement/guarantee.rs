//! A guarantee: its statement, its value, and the assumptions that decide its status.

use super::words::{Wording, not_available, rounded_down};
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
    /// What is bounded, by how much, with what probability and under what, for a reader who is not a specialist.
    pub statement: String,
    /// The quantity that the value bounds or estimates, as a formula.
    pub bounds: &'static str,
    /// Whether the guarantee can be relied on for this model.
    pub status: Status,
    /// Whether the value is a bound, an estimate, a rate, a requirement or a term.
    pub form: Form,
    /// With `not_applicable`, the result of the formula, which guarantees nothing.
    pub value: Option<f64>,
    /// 1 − δ; none for estimates, rates and terms, which claim no probability.
    pub probability: Option<f64>,
    /// Every condition of the theorem and its state for this model.
    pub assumptions: Vec<Assumption>,
    /// The numbers that the value was computed from.
    pub inputs: BTreeMap<&'static str, f64>,
    /// The names of the inputs that were estimated from data.
    pub estimated: Vec<&'static str>,
    /// The paper with its theorem or equation.
    pub paper: &'static str,
    /// The missing measurement, if making it is all that is needed.
    #[serde(skip)]
    pub lacks: Option<Lack>,
}

impl Guarantee {
    /// The fixed part: the same for every model.
    pub(crate) fn source(&self) -> Source {
        Source { id: self.id, paper: self.paper, bounds: self.bounds, form: self.form }
    }
}

/// Whether a guarantee can be relied on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Every assumption was checked and holds.
    Holds,
    /// Some assumptions cannot be checked and are assumed.
    Conditional,
    /// Valid but uninformative: no better than a trivial bound.
    Vacuous,
    /// An assumption is violated, or a measurement is missing.
    NotApplicable,
}

impl Status {
    /// Decided by the weakest assumption; `informative` says whether the value beats a trivial bound.
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
    /// A measured or plug-in figure without proof.
    Estimate,
    /// An order of growth with unknown constants.
    Rate,
    /// The number of features that a theorem requires.
    Requirement,
    /// One term of a bound whose other terms or constants are unknown.
    Term,
}

/// The fixed part of a guarantee: the same for every model.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Source {
    pub(crate) id: &'static str,
    pub(crate) paper: &'static str,
    pub(crate) bounds: &'static str,
    pub(crate) form: Form,
}

/// The variable part of a guarantee: the result of a theorem for one model.
#[derive(Debug, Default)]
pub(crate) struct Finding {
    pub(crate) value: Option<f64>,
    /// Whether the value beats a trivial bound.
    pub(crate) informative: bool,
    pub(crate) failure_probability: Option<f64>,
    pub(crate) assumptions: Vec<Assumption>,
    pub(crate) inputs: BTreeMap<&'static str, f64>,
    pub(crate) estimated: Vec<&'static str>,
    pub(crate) wording: Wording,
}

impl Source {
    /// Decides the status and words the statement.
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

    /// A guarantee without a value, because a measurement is missing; `known` are its other assumptions. The remedy is
    /// added by [`super::remedy`], and only if the measurement is all that is missing.
    pub(crate) fn unmeasured(self, lack: Lack, known: Vec<Assumption>) -> Guarantee {
        let hopeless = known.iter().any(|assumption| assumption.state == AssumptionState::Violated);
        let lacking = Assumption::violated(lack.requirement(), lack.shortfall());
        let statement = not_available(&lacking);
        let assumptions = known.into_iter().chain([lacking]).collect();
        let found = self.guarantee(Finding { assumptions, ..Finding::default() });
        if hopeless { found } else { Guarantee { statement, lacks: Some(lack), ..found } }
    }

    /// A guarantee without a value, because the theorem does not cover such models.
    pub(crate) fn unavailable(self, violated: Assumption) -> Guarantee {
        self.guarantee(Finding { assumptions: vec![violated], ..Finding::default() })
    }
}

/// One condition of a theorem and its state for this model.
#[derive(Debug, Clone, Serialize)]
pub struct Assumption {
    /// What is required, as a noun phrase: it follows "requires" in a statement.
    pub text: String,
    /// Whether it holds.
    pub state: AssumptionState,
    /// The number of this model, if the assumption is an inequality.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub have: Option<f64>,
    /// The number that the theorem requires.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub need: Option<f64>,
    /// What this model has instead, as a clause that follows "here"; empty if `have` says it.
    #[serde(skip)]
    pub shortfall: String,
    /// What to do if it is violated, as a sentence; empty if nothing helps.
    #[serde(skip)]
    pub remedy: String,
}

impl Assumption {
    /// An assumption that was verified, by construction or by a measurement.
    pub fn checked(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            state: AssumptionState::Checked,
            have: None,
            need: None,
            shortfall: String::new(),
            remedy: String::new(),
        }
    }

    /// An assumption that the data cannot verify.
    pub fn assumed(text: impl Into<String>) -> Self {
        Self { state: AssumptionState::Assumed, ..Self::checked(text) }
    }

    /// An assumption that is known to fail, with what is the case instead.
    pub fn violated(text: impl Into<String>, shortfall: impl Into<String>) -> Self {
        Self { state: AssumptionState::Violated, shortfall: shortfall.into(), ..Self::checked(text) }
    }

    /// The same assumption with a remedy, which is stated only if it is violated.
    #[must_use]
    pub fn with_remedy(self, remedy: impl Into<String>) -> Self {
        Self { remedy: remedy.into(), ..self }
    }

    /// `have ≥ need` where `need` may be underestimated: violated or assumed.
    pub fn at_least_by_estimate(text: impl Into<String>, have: f64, need: f64) -> Self {
        let state = if have >= need { AssumptionState::Assumed } else { AssumptionState::Violated };
        Self { state, have: Some(have), need: Some(need), ..Self::checked(text) }
    }

    /// `have ≥ need`: checked or violated.
    pub fn at_least(text: impl Into<String>, have: f64, need: f64) -> Self {
        let state = if have >= need { AssumptionState::Checked } else { AssumptionState::Violated };
        Self { state, have: Some(have), need: Some(need), ..Self::checked(text) }
    }

    /// A quantity with the lower bound `known` is at least `need`: checked if the lower bound is. Otherwise the quantity
    /// itself is unknown, and the bound says nothing against the assumption.
    pub fn at_least_by_bound(text: impl Into<String>, known: f64, need: f64) -> Self {
        if known >= need {
            return Self::at_least(text, known, need);
        }
        let text = format!("{}; it is known to be at least {}", text.into(), rounded_down(known));
        Self { need: Some(need), ..Self::assumed(text) }
    }
}

/// Whether an assumption holds for this model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AssumptionState {
    /// Verified, by construction or by a measurement.
    Checked,
    /// Cannot be verified from the data.
    Assumed,
    /// Known to fail.
    Violated,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_measurement_is_lacking_only_where_it_would_help() {
        let source = Source { id: "a.b", paper: "", bounds: "", form: Form::Bound };
        let weights =
            || Assumption::violated("equally weighted rows", "the rows have weights").with_remedy("Use none.");
        let hopeless = source.unmeasured(Lack::Spectrum, vec![Assumption::checked("bounded features"), weights()]);
        assert_eq!((hopeless.lacks, hopeless.assumptions.len()), (None, 3));
        assert!(hopeless.statement.starts_with("Does not apply: requires equally weighted"), "{}", hopeless.statement);
        assert!(hopeless.statement.contains("Also requires the eigenvalues"), "{}", hopeless.statement);
        assert!(hopeless.statement.ends_with("Use none."), "{}", hopeless.statement);
        let lacking = source.unmeasured(Lack::Spectrum, Vec::new());
        assert_eq!(lacking.lacks, Some(Lack::Spectrum));
        assert!(lacking.statement.starts_with("Not available: requires the eigenvalues"), "{}", lacking.statement);
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
