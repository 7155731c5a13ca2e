//! What would make a guarantee apply.

use crate::theory::ours::certificate::tolerance_rows;
use crate::theory::ours::certificate_scaled::BAR_SHARE;
use crate::theory::ours::conformal::fewest_scores;
use crate::theory::statement::words::{FORMULA_ONLY, rounded_up};
use crate::theory::{Assumption, AssumptionState, Circumstances, Evidence, Guarantee, Status, guarantees};
use serde::Serialize;

/// More rows or features than this are no advice.
const MOST: f64 = 1e9;

/// What would make a guarantee apply: in words, and the smallest number of each kind that meets its inequalities while
/// all else stays as it is. A number is missing if no value of it is enough alone.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Needs {
    /// One sentence for each thing to change.
    pub text: String,
    /// The smallest λ.
    pub lambda: Option<f64>,
    /// The fewest training rows.
    pub rows: Option<u64>,
    /// The fewest features.
    pub features: Option<u64>,
    /// The fewest rows held out of the fit.
    pub held_out_rows: Option<u64>,
}

/// What `guarantee` needs at this δ and share; none if it applies.
pub fn needs(
    guarantee: &Guarantee,
    evidence: &Evidence,
    failure_probability: f64,
    share: f64,
    around: &Circumstances,
) -> Option<Needs> {
    let held_out_rows = match guarantee.id {
        "bochner.certificate_scaled" => Some(tolerance_rows(BAR_SHARE, failure_probability) as u64),
        "bochner.certificate_tolerance" => Some(tolerance_rows(share, failure_probability) as u64),
        "conformal" => Some(fewest_scores(failure_probability) as u64),
        _ => None,
    };
    let vacuous = match guarantee.status {
        Status::Holds | Status::Conditional => return None,
        Status::Vacuous => true,
        Status::NotApplicable => false,
    };
    let with = |change: &dyn Fn(&mut Evidence)| {
        let mut changed = evidence.clone();
        change(&mut changed);
        let found = guarantees(&changed, failure_probability, share, around).guarantees;
        let met = |found: &Guarantee| !found.assumptions.iter().any(unmet);
        let informative = |found: &Guarantee| !vacuous || found.status != Status::Vacuous;
        found.iter().filter(|found| found.id == guarantee.id).all(|found| met(found) && informative(found))
    };
    let unmet_now = vacuous || guarantee.assumptions.iter().any(unmet);
    let lambda = unmet_now
        .then(|| smallest_factor(MOST / evidence.ridge, |factor| with(&|changed| changed.ridge *= factor)))
        .flatten()
        .map(|factor| evidence.ridge * factor);
    // Just above the smallest λ at which the relative bound applies it grows without limit.
    let lambda = lambda.map(|lambda| lambda.max(guarantee.inputs.get("smallest_lambda").copied().unwrap_or(0.0)));
    let count = |now: usize, change: &dyn Fn(&mut Evidence, usize)| {
        unmet_now.then(|| smallest_count(now, |count| with(&|changed| change(changed, count)))).flatten()
    };
    // What an exact solution of more rows would be is not known, so a vacuous bound on it names no number of rows.
    let of_solution = vacuous && evidence.exact.is_some() && guarantee.inputs.contains_key("q");
    let rows = count(evidence.sample_count, &|changed, count| changed.sample_count = count).filter(|_| !of_solution);
    let columns = evidence.feature_count / evidence.draw_count.max(1);
    let draws = count(evidence.draw_count, &|changed, count| {
        (changed.draw_count, changed.feature_count) = (count, columns * count);
    });
    let text = match guarantee.statement.rsplit_once(". ") {
        Some((_, remedy)) if vacuous => remedy.to_owned(),
        _ => text(guarantee),
    };
    Some(Needs {
        text,
        lambda: lambda.map(|lambda| rounded_up(lambda).parse().unwrap_or(lambda)),
        rows: rows.map(|rows| rows as u64),
        features: draws.map(|draws| (draws * columns) as u64),
        held_out_rows,
    })
}

/// An inequality that this model does not meet.
fn unmet(assumption: &Assumption) -> bool {
    assumption.state == AssumptionState::Violated && assumption.need.is_some()
}

/// The smallest count above `now` from which on `enough` holds; none up to the most that is sensible.
fn smallest_count(now: usize, enough: impl Fn(usize) -> bool) -> Option<usize> {
    let (mut low, mut high) = (now, 4 * now.max(1));
    while !enough(high) {
        if high as f64 >= MOST {
            return None;
        }
        (low, high) = (high, 4 * high);
    }
    while high - low > 1 {
        let middle = usize::midpoint(low, high);
        if enough(middle) { high = middle } else { low = middle }
    }
    Some(high)
}

/// The smallest factor above 1, within a millionth, from which on `enough` holds; none up to `most`.
fn smallest_factor(most: f64, enough: impl Fn(f64) -> bool) -> Option<f64> {
    let (mut low, mut high) = (1.0, 4.0);
    while !enough(high) {
        if high >= most {
            return None;
        }
        (low, high) = (high, high * 4.0);
    }
    while high / low > 1.0 + 1e-6 {
        let middle = (low * high).sqrt();
        if enough(middle) { high = middle } else { low = middle }
    }
    Some(high)
}

/// The remedies of everything that is violated, or how to make the missing measurement.
fn text(guarantee: &Guarantee) -> String {
    remedies(guarantee).replace(FORMULA_ONLY, "")
}

fn remedies(guarantee: &Guarantee) -> String {
    let violated = || guarantee.assumptions.iter().filter(|assumption| assumption.state == AssumptionState::Violated);
    if guarantee.lacks.is_some() {
        let lacking = violated().next_back().map_or("", |assumption| assumption.shortfall.as_str());
        let remedy = guarantee.statement.split_once(&format!("{lacking}. ")).map_or("", |(_, remedy)| remedy);
        return remedy.to_owned();
    }
    let mut sentences: Vec<&str> = Vec::new();
    for assumption in violated() {
        if !assumption.remedy.is_empty() && !sentences.contains(&assumption.remedy.as_str()) {
            sentences.push(&assumption.remedy);
        }
    }
    if sentences.is_empty() { "Nothing makes it apply to such a model.".to_owned() } else { sentences.join(" ") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::theory::evidence::tests::ridge_fit;
    use crate::theory::statement::remedy::tests::AT_HAND;

    fn needed(evidence: &Evidence, id: &str) -> Option<Needs> {
        let found = guarantees(evidence, 0.05, 0.95, &AT_HAND).guarantees;
        needs(found.iter().find(|found| found.id == id).unwrap(), evidence, 0.05, 0.95, &AT_HAND)
    }

    fn applies(evidence: &Evidence, id: &str) -> bool {
        let found = guarantees(evidence, 0.05, 0.95, &AT_HAND).guarantees;
        found.iter().find(|found| found.id == id).unwrap().status != Status::NotApplicable
    }

    /// The numbers are enough, and a little less is not.
    #[test]
    fn the_smallest_numbers_are_enough() {
        let small = Evidence { ridge: 0.05, ..ridge_fit() };
        let id = "wang.theorem1";
        assert!(!applies(&small, id));
        let found = needed(&small, id).unwrap();
        let (lambda, rows) = (found.lambda.unwrap(), found.rows.unwrap() as usize);
        assert!(applies(&Evidence { ridge: lambda, ..small.clone() }, id));
        assert!(!applies(&Evidence { ridge: 0.999 * lambda, ..small.clone() }, id));
        assert!(applies(&Evidence { sample_count: rows, ..small.clone() }, id));
        assert!(!applies(&Evidence { sample_count: rows - 1, ..small.clone() }, id));
        assert_eq!(found.features, None); // more features need a larger λ
        assert!(found.text.starts_with("Use lambda ≥") && !found.text.contains("value shown"), "{}", found.text);
        let relative = needed(&Evidence { ridge: 1e-4, ..small.clone() }, "bochner.theorem1_relative").unwrap();
        let named = format!("Use lambda ≥ {}", rounded_up(relative.lambda.unwrap()));
        assert!(relative.text.starts_with(&named), "{relative:?}");
        assert_eq!(needed(&Evidence { ridge: lambda, ..small }, id), None);
    }

    /// A bound that applies but says nothing names the features that make it say something.
    #[test]
    fn a_vacuous_bound_names_the_smallest_numbers_too() {
        let id = "wang.remark1";
        let status = |evidence: &Evidence| {
            let found = guarantees(evidence, 0.05, 0.95, &AT_HAND).guarantees;
            found.iter().find(|found| found.id == id).unwrap().status
        };
        // A count is exact, however large: (8/3)·4·(2/λ)·log(16·300/0.05) draws.
        let tiny = Evidence { ridge: 1e-6, ..ridge_fit() };
        let needed_draws = (8.0 / 3.0 * 4.0 * 2e6 * (16.0_f64 * 300.0 / 0.05).ln()).ceil() as u64;
        assert_eq!(needed(&tiny, "avron.theorem7").unwrap().features, Some(needed_draws));
        // (2/(m λ))·mean(y²)/δ is below mean(y²) for m > 2/(0.7·0.05) = 57.1.
        let few = Evidence { feature_count: 40, draw_count: 40, sample_count: 3_000, ..ridge_fit() };
        assert_eq!(status(&few), Status::Vacuous);
        let found = needed(&few, id).unwrap();
        assert_eq!(found.features, Some(58));
        assert!(found.text.starts_with("Use at least 58 features"), "{}", found.text);
        let with = |count| status(&Evidence { feature_count: count, draw_count: count, ..few.clone() });
        assert_eq!((with(58), with(57)), (Status::Conditional, Status::Vacuous));
        let lambda = found.lambda.unwrap();
        assert_eq!(status(&Evidence { ridge: lambda, ..few.clone() }), Status::Conditional);
        assert_eq!(status(&Evidence { ridge: 0.999 * lambda, ..few }), Status::Vacuous);
    }

    #[test]
    fn words_say_what_no_number_does() {
        let found = needed(&ridge_fit(), "bochner.certificate_tolerance").unwrap();
        assert_eq!((found.text.as_str(), found.held_out_rows), ("Run a certify job on this model.", Some(59)));
        let weighted = needed(&Evidence { rows_weighted: true, ..ridge_fit() }, "wang.theorem1").unwrap();
        assert_eq!((weighted.text.as_str(), weighted.lambda), ("Train without weights.", None));
    }
}
