//! All guarantees, in a fixed order.

use super::ours::{certificate, conformal, fresh_features, jackknife, relative};
use super::papers::avron::risk_inflation;
use super::papers::{avron, li, rudi_rosasco, shahrampour_kolouri, wang};
use super::statement::assumptions::NO_FEATURES;
use super::statement::remedy::complete;
use super::{Circumstances, Evidence, Guarantee, SamplingKind};

/// The ids of all guarantees, in the order in which they are given.
pub const IDS: [&str; 23] = [
    "wang.theorem1",
    "wang.theorem1_sharp",
    "wang.remark1",
    "wang.eq31",
    "wang.theorem2",
    "wang.lemma3",
    "bochner.theorem1_relative",
    "rudi_rosasco.theorem1",
    "rudi_rosasco.theorem2",
    "rudi_rosasco.theorem3",
    "li.theorem1",
    "li.corollary1",
    "li.corollary2",
    "li.theorem2",
    "shahrampour_kolouri.theorem1",
    "avron.theorem7",
    "avron.lemma6",
    "avron.lemma2",
    "bochner.certificate_mean",
    "bochner.certificate_tolerance",
    "bochner.jackknife",
    "bochner.fresh_features",
    "conformal",
];

/// All guarantees of a model.
pub struct Catalogue {
    /// In the order of [`IDS`].
    pub guarantees: Vec<Guarantee>,
    /// The ids of those that lack what only the training rows can tell.
    pub needing_rows: Vec<&'static str>,
}

/// Every guarantee for a model. Those that do not speak of it, or whose inputs were not measured, are there
/// too and say what would change that. `share` is of the new inputs that a tolerance speaks of.
pub fn guarantees(
    evidence: &Evidence,
    failure_probability: f64,
    share: f64,
    circumstances: &Circumstances,
) -> Catalogue {
    let mut guarantees = speaking(evidence, failure_probability, share);
    let needing_rows = complete(&mut guarantees, evidence, circumstances);
    Catalogue { guarantees, needing_rows }
}

/// Of the exact method one alone speaks.
fn speaking(evidence: &Evidence, failure_probability: f64, share: f64) -> Vec<Guarantee> {
    let found = of_features(evidence, failure_probability, share);
    if evidence.sampling != SamplingKind::NoFeatures {
        return found;
    }
    let exact = "It is the exact kernel method itself, so there is no distance to it to bound.";
    let speaks = |guarantee: &Guarantee| guarantee.id == "conformal";
    let said = |guarantee: Guarantee| {
        if speaks(&guarantee) { guarantee } else { guarantee.source().unavailable(NO_FEATURES, exact) }
    };
    found.into_iter().map(said).collect()
}

fn of_features(evidence: &Evidence, delta: f64, share: f64) -> Vec<Guarantee> {
    vec![
        wang::theorem1(evidence, delta),
        wang::theorem1_sharp(evidence, delta),
        wang::remark1(evidence, delta),
        wang::eq31(evidence),
        wang::theorem2(evidence),
        wang::lemma3(evidence, delta),
        relative::theorem1_relative(evidence, delta),
        rudi_rosasco::theorem1(evidence, delta),
        rudi_rosasco::theorem2(evidence, delta),
        rudi_rosasco::theorem3(evidence, delta),
        li::theorem1(evidence, delta),
        li::corollary1(evidence, delta),
        li::corollary2(evidence, delta),
        li::theorem2(evidence, delta),
        shahrampour_kolouri::theorem1(evidence, delta),
        avron::theorem7(evidence, delta),
        avron::lemma6(evidence, delta),
        risk_inflation::lemma2(evidence, delta),
        certificate::certificate_mean(evidence, delta),
        certificate::certificate_tolerance(evidence, share, delta),
        jackknife::jackknife(evidence),
        fresh_features::fresh_features(evidence),
        conformal::conformal(evidence, delta),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::theory::evidence::tests::ridge_fit;
    use crate::theory::ours::certificate::COVERED_SHARE;
    use crate::theory::statement::remedy::tests::AT_HAND;
    use crate::theory::{Form, LossKind, Status};

    fn told(evidence: &Evidence) -> Vec<Guarantee> {
        guarantees(evidence, 0.05, COVERED_SHARE, &AT_HAND).guarantees
    }

    #[test]
    fn every_id_is_there_once_and_in_order() {
        let found: Vec<&str> = told(&ridge_fit()).iter().map(|guarantee| guarantee.id).collect();
        assert_eq!(found, IDS);
    }

    #[test]
    fn what_was_not_measured_says_what_to_ask_for() {
        for guarantee in told(&ridge_fit()) {
            assert!(!guarantee.assumptions.is_empty(), "{}", guarantee.id);
            assert!(guarantee.statement.ends_with('.'), "{}: {}", guarantee.id, guarantee.statement);
            assert_eq!(
                guarantee.statement.starts_with("Not a guarantee"),
                guarantee.status == Status::NotApplicable,
                "{}: {}",
                guarantee.id,
                guarantee.statement
            );
        }
    }

    #[test]
    fn of_the_exact_method_conformal_prediction_alone_speaks() {
        let scores = Some((1..=99).map(f64::from).collect());
        let exact = Evidence {
            sampling: SamplingKind::NoFeatures,
            feature_bound: None,
            calibration_scores: scores,
            ..ridge_fit()
        };
        let found = told(&exact);
        assert_eq!(found.iter().map(|guarantee| guarantee.id).collect::<Vec<_>>(), IDS);
        for guarantee in &found {
            let speaks = guarantee.id == "conformal";
            assert_eq!(guarantee.status == Status::NotApplicable, !speaks, "{}", guarantee.id);
            assert_eq!(guarantee.value.is_some(), speaks);
            assert!(speaks || guarantee.statement.contains("exact kernel method itself"), "{}", guarantee.statement);
        }
    }

    #[test]
    fn no_bound_on_ridge_regression_speaks_of_a_classifier() {
        let classifier = Evidence { loss: LossKind::SquaredHinge, target_mean_square: None, ..ridge_fit() };
        let applicable: Vec<&str> = told(&classifier)
            .into_iter()
            .filter(|guarantee| guarantee.status != Status::NotApplicable)
            .map(|guarantee| guarantee.id)
            .collect();
        assert_eq!(applicable, ["wang.lemma3"]); // on the features alone
    }

    #[test]
    fn only_bounds_and_requirements_claim_a_probability() {
        for guarantee in told(&ridge_fit()) {
            let proved = matches!(guarantee.form, Form::Bound | Form::Requirement);
            assert!(proved || guarantee.probability.is_none(), "{}", guarantee.id);
        }
    }
}
