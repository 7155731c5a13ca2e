//! All guarantees, in a fixed order.

use super::ours::{certificate, certificate_scaled, conformal, fresh_features, jackknife, relative};
use super::papers::avron::risk_inflation;
use super::papers::{avron, li, rudi_rosasco, shahrampour_kolouri, wang};
use super::statement::remedy::complete;
use super::{Circumstances, Evidence, Guarantee, RowAccess, SamplingKind};

/// The ids of all guarantees, in the order of [`Catalogue::guarantees`].
pub const IDS: [&str; 24] = [
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
    "bochner.certificate_scaled",
    "bochner.certificate_tolerance",
    "bochner.jackknife",
    "bochner.fresh_features",
    "conformal",
];

/// All guarantees of a model.
pub struct Catalogue {
    /// In the order of [`IDS`].
    pub guarantees: Vec<Guarantee>,
    /// The ids of those that become available by measuring the training rows.
    pub needing_rows: Vec<&'static str>,
}

impl Catalogue {
    /// Whether a certify job can still measure something that matters.
    pub fn is_certifiable(&self, rows: RowAccess) -> bool {
        rows == RowAccess::Kept && self.needing_rows.iter().any(|id| id.contains("certificate"))
    }
}

/// Every guarantee for a model, including those that do not apply or lack a measurement; these say what to do.
/// `share` is the share of new inputs that the tolerance certificate covers.
pub fn guarantees(
    evidence: &Evidence,
    failure_probability: f64,
    share: f64,
    circumstances: &Circumstances,
) -> Catalogue {
    let mut guarantees = with_features(evidence, failure_probability, share);
    if evidence.sampling == SamplingKind::NoFeatures {
        guarantees = guarantees.into_iter().map(without_features).collect();
    }
    let needing_rows = complete(&mut guarantees, evidence, circumstances);
    Catalogue { guarantees, needing_rows }
}

/// Only conformal prediction applies to the exact kernel method, which has no features.
fn without_features(guarantee: Guarantee) -> Guarantee {
    if guarantee.id == "conformal" { guarantee } else { guarantee.source().unavailable(Evidence::has_no_features()) }
}

fn with_features(evidence: &Evidence, delta: f64, share: f64) -> Vec<Guarantee> {
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
        certificate_scaled::certificate_scaled(evidence, certificate_scaled::BAR_SHARE, delta),
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

    fn found(evidence: &Evidence) -> Vec<Guarantee> {
        guarantees(evidence, 0.05, COVERED_SHARE, &AT_HAND).guarantees
    }

    #[test]
    fn every_id_is_there_once_and_in_order() {
        let ids: Vec<&str> = found(&ridge_fit()).iter().map(|guarantee| guarantee.id).collect();
        assert_eq!(ids, IDS);
    }

    #[test]
    fn every_statement_opens_by_its_status_and_ends_with_a_full_stop() {
        for guarantee in found(&ridge_fit()) {
            assert!(!guarantee.assumptions.is_empty(), "{}", guarantee.id);
            assert!(guarantee.statement.ends_with('.'), "{}: {}", guarantee.id, guarantee.statement);
            let refused =
                ["Does not apply:", "Not available:"].iter().any(|opening| guarantee.statement.starts_with(opening));
            assert_eq!(refused, guarantee.status == Status::NotApplicable, "{}: {}", guarantee.id, guarantee.statement);
        }
    }

    #[test]
    fn only_conformal_prediction_applies_to_the_exact_method() {
        let scores = Some((1..=99).map(f64::from).collect());
        let exact = Evidence {
            sampling: SamplingKind::NoFeatures,
            feature_bound: None,
            calibration_scores: scores,
            ..ridge_fit()
        };
        let all = found(&exact);
        assert_eq!(all.iter().map(|guarantee| guarantee.id).collect::<Vec<_>>(), IDS);
        for guarantee in &all {
            let applies = guarantee.id == "conformal";
            assert_eq!(guarantee.status == Status::NotApplicable, !applies, "{}", guarantee.id);
            assert_eq!(guarantee.value.is_some(), applies);
            assert!(applies || guarantee.statement.contains("exact kernel method itself"), "{}", guarantee.statement);
        }
    }

    #[test]
    fn no_bound_on_ridge_regression_applies_to_a_classifier() {
        let classifier = Evidence { loss: LossKind::SquaredHinge, target_mean_square: None, ..ridge_fit() };
        let applicable: Vec<&str> = found(&classifier)
            .into_iter()
            .filter(|guarantee| guarantee.status != Status::NotApplicable)
            .map(|guarantee| guarantee.id)
            .collect();
        assert_eq!(applicable, ["wang.lemma3"]); // it bounds the features, whatever is learned
    }

    #[test]
    fn only_bounds_and_requirements_claim_a_probability() {
        for guarantee in found(&ridge_fit()) {
            let proved = matches!(guarantee.form, Form::Bound | Form::Requirement);
            assert!(proved || guarantee.probability.is_none(), "{}", guarantee.id);
        }
    }
}
