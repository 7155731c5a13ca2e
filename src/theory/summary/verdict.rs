//! The verdict in one sentence, and what to do.

use super::words::{count, figure, share};
use super::{Claim, DistanceSource, Facts, RandomFeatures};
use crate::theory::statement::words::percent;
use crate::theory::{Guarantee, Status};

/// From this share of the error on, more features are worth their cost.
const LARGE_SHARE: f64 = 0.05;

/// How good a fit is. The limits are conventions, not theorems.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Grade {
    Good,
    Fair,
    Poor,
    Useless,
}

/// R², or for labels the share of the errors of the most frequent label that the model avoids.
fn grade(facts: &Facts) -> Option<Grade> {
    let skill = match (facts.r2, facts.accuracy, facts.most_frequent) {
        (Some(r2), _, _) => r2,
        (None, Some(accuracy), Some(most)) if most < 1.0 => (accuracy - most) / (1.0 - most),
        (None, Some(accuracy), _) => accuracy,
        (None, None, _) => return None,
    };
    Some(match skill {
        skill if skill >= 0.8 => Grade::Good,
        skill if skill >= 0.5 => Grade::Fair,
        skill if skill > 0.0 => Grade::Poor,
        _ => Grade::Useless,
    })
}

/// Fit, random features and proof, in this order. The term that no one has to know is explained where it comes first.
pub(super) fn verdict(facts: &Facts, features: &RandomFeatures, proved: &[Claim]) -> String {
    let said = [fit(facts), approximation(facts, features), proof(facts, proved)].join("; ") + ".";
    said.replacen("the exact method", "the exact method (the same model without random features)", 1)
}

fn fit(facts: &Facts) -> String {
    let Some(grade) = grade(facts) else {
        return match facts.validation_rows {
            0 => "The fit is not known, because no rows were held out".to_owned(),
            _ => "The fit is not known, because the held-out rows are too few or have the same target".to_owned(),
        };
    };
    let opening = match grade {
        Grade::Good => "A good fit",
        Grade::Fair => "A fair fit",
        Grade::Poor => "A poor fit",
        Grade::Useless if facts.predicts_labels => "No better than always answering the most frequent label",
        Grade::Useless => "No better than always answering the mean",
    };
    if let Some(accuracy) = facts.accuracy {
        let most = facts.most_frequent.map_or_else(String::new, |most| {
            format!(", where always answering the most frequent label gives {}", share(most))
        });
        return format!("{opening}: {} of the labels are right{most}", share(accuracy));
    }
    let r2 = facts.r2.unwrap_or_default();
    let explained = if r2 > 0.0 { share(r2) } else { "none".to_owned() };
    let of = match facts.targets.as_slice() {
        [target] => format!("'{target}'"),
        targets => format!("the {} targets", targets.len()),
    };
    let error =
        facts.typical_error().map_or_else(String::new, |error| format!(" and is typically {} off", figure(error)));
    format!("{opening}: the model explains {explained} of the variation of {of}{error}")
}

/// From this share on, the distance is not called a part of the error: what the exact method itself misses and what the
/// random features add may cancel.
const CANCELLING_SHARE: f64 = 0.5;

fn approximation(facts: &Facts, features: &RandomFeatures) -> String {
    let about = if features.source == Some(DistanceSource::Estimated) { "an estimated " } else { "" };
    if let Some((exact, part)) = exact_method(facts).zip(features.share_of_error) {
        let between = "and the squared distance between the two is";
        return format!("the exact method {exact}, {between} {about}{} of the squared error", share(part));
    }
    if let Some((exact, part)) = exact_method(facts).zip(features.share_of_variance) {
        let moved =
            format!("the random features move its decision values by {about}{} of their variation", share(part));
        return format!("{moved}, and the exact method {exact}");
    }
    match (features.share_of_error, features.share_of_variance) {
        _ if facts.feature_count.is_none() => {
            "nothing is lost by approximation, because it is the exact kernel method".to_owned()
        }
        (Some(part), _) if part >= CANCELLING_SHARE => {
            format!("its squared distance to the exact method is {about}{} of its squared error", share(part))
        }
        (Some(part), _) => format!("{about}{} of its squared error comes from the random features", share(part)),
        (None, Some(part)) if facts.predicts_labels => {
            format!("the random features move its decision values by {about}{} of their variation", share(part))
        }
        (None, Some(part)) => {
            format!("the random features move its predictions by {about}{} of the target's variation", share(part))
        }
        (None, None) => "how much is lost by the random features is not known".to_owned(),
    }
}

/// How good the exact method is, as what follows it in a sentence. None for several targets, whose errors have different
/// units, and where it was not solved.
fn exact_method(facts: &Facts) -> Option<String> {
    match (facts.exact_typical_error(), facts.exact_accuracy.filter(|_| facts.predicts_labels)) {
        (Some(error), _) => Some(format!("is typically {} off on the same rows", figure(error))),
        (None, Some(accuracy)) => Some(format!("gets {} of the same labels right", share(accuracy))),
        (None, None) => None,
    }
}

fn proof(facts: &Facts, proved: &[Claim]) -> String {
    let intervals = proved.iter().any(|claim| claim.id == "conformal");
    let distance = proved.iter().any(|claim| claim.id != "conformal");
    let what = if facts.predicts_labels { "label sets" } else { "intervals" };
    let at =
        format!("with probability at least {} if new rows are like the old ones", percent(facts.failure_probability));
    match (intervals, distance) {
        (true, true) => {
            format!("its {what} and a bound on its distance to the exact method are proved to hold, each {at}")
        }
        (true, false) => format!("its {what} are proved to contain the truth {at}"),
        (false, true) => format!("a bound on its distance to the exact method is proved to hold {at}"),
        (false, false) => "nothing is proved about its predictions".to_owned(),
    }
}

/// What to do, the most useful first.
pub(super) fn advice(facts: &Facts, features: &RandomFeatures, guarantees: &[Guarantee]) -> Vec<String> {
    let mut advice = Vec::new();
    let grade = grade(facts);
    let few_features = facts.gain_of_exact().or(features.share_of_error).is_some_and(|part| part >= LARGE_SHARE);
    let estimate = guarantees.iter().find(|guarantee| guarantee.id == "bochner.jackknife");
    let expands = estimate.is_some_and(|found| found.value.is_some() && found.status != Status::NotApplicable);
    advice.extend(more_features(facts, features, if expands { "about halve" } else { "reduce" }));
    match grade {
        None if facts.validation_rows == 0 => {
            advice.push("Train with validation_fraction > 0 to measure the fit.".to_owned());
        }
        None => advice.push("Hold out more rows to measure the fit: use a larger validation_fraction.".to_owned()),
        Some(Grade::Good) => {}
        Some(_) if facts.feature_count.is_none() => {
            advice.push("For a better fit, try more rows, more informative columns or a different kernel.".to_owned());
        }
        Some(_) if features.share_of_error.is_none() => {
            advice.push("For a better fit, try more features, more rows or more informative columns.".to_owned());
        }
        Some(_) if !few_features => advice.push(
            "The features do not limit the fit: try more rows, more informative columns or a different kernel."
                .to_owned(),
        ),
        Some(_) => {}
    }
    let conformal = guarantees.iter().find(|guarantee| guarantee.id == "conformal");
    if conformal.is_some_and(|found| matches!(found.status, Status::NotApplicable | Status::Vacuous)) {
        let what = if facts.predicts_labels { "label sets" } else { "intervals" };
        advice.push(if facts.sample_weights {
            format!("For {what} with a guarantee, train without sample weights.")
        } else {
            format!("For {what} with a guarantee, hold out more rows: train with calibration_fraction > 0.")
        });
    }
    if facts.certifiable {
        advice.push("Run a certify job: it measures the distance to the exact method and certifies it.".to_owned());
    }
    if advice.is_empty() {
        advice.push("Nothing needs to be done.".to_owned());
    }
    advice
}

/// `effect` is what twice the features do to the squared distance: it shrinks like 1/s and is halved where it has an
/// expansion in 1/s, which is where the jackknife gives an estimate. Where the exact method was solved, its error says whether
/// that would help: a model far from it can be as good. Where it was not, nobody knows.
fn more_features(facts: &Facts, features: &RandomFeatures, effect: &str) -> Option<String> {
    let now = facts.feature_count?;
    if let Some((exact, gain)) = exact_method(facts).zip(facts.gain_of_exact()) {
        return Some(match gain {
            gain if gain >= LARGE_SHARE => format!(
                "More features would help: {} instead of {} would {effect} the squared distance to the exact method, \
                 which {exact}.{}",
                count(2 * now),
                count(now),
                // The learner is for numbers.
                if facts.predicts_labels { "" } else { " Or train with learner exact_krr, which is the exact method." }
            ),
            gain if gain > 0.0 => format!("More features would help little: the exact method {exact}."),
            _ => format!("More features would not help: the exact method {exact}, no better than this model."),
        });
    }
    let (part, whole) = match (features.share_of_error, features.share_of_variance) {
        (Some(part), _) => (part, "error"),
        (None, Some(part)) => (part, "variation of the target"),
        (None, None) => return None,
    };
    Some(if part >= LARGE_SHARE {
        format!(
            "More features may help: {} instead of {} would {effect} this part, now {} of the {whole}.",
            count(2 * now),
            count(now),
            share(part)
        )
    } else if features.share_of_error.is_none() {
        format!(
            "Whether more features would help is not known without validation rows: this part is {} of the {whole}.",
            share(part)
        )
    } else {
        format!("More features would not help: this part is already {} of the {whole}.", share(part))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::theory::evidence::tests::ridge_fit;
    use crate::theory::statement::remedy::tests::AT_HAND;
    use crate::theory::summary::summarize;
    use crate::theory::{ErrorEstimates, Evidence, guarantees};

    fn facts() -> Facts {
        Facts {
            targets: vec!["strength".into()],
            feature_count: Some(1_024),
            validation_rows: 206,
            r2: Some(0.891),
            validation_mse: Some(30.25),
            interval_width: Some(21.0),
            measured_distance: Some(0.6),
            target_variance: Some(280.0),
            failure_probability: 0.05,
            ..Facts::default()
        }
    }

    fn calibrated() -> Evidence {
        Evidence { calibration_scores: Some((1..=99).map(f64::from).collect()), ..ridge_fit() }
    }

    /// λ is too small for every bound on the distance.
    fn unproved() -> Evidence {
        Evidence { ridge: 1e-9, ..ridge_fit() }
    }

    fn said(facts: &Facts, evidence: &Evidence) -> (String, String) {
        let found = summarize(facts, &guarantees(evidence, 0.05, 0.95, &AT_HAND).guarantees);
        (found.verdict, found.advice.join(" "))
    }

    #[test]
    fn a_good_fit_with_enough_features() {
        let (verdict, advice) = said(&facts(), &Evidence { ridge: 1e-9, ..calibrated() });
        assert_eq!(
            verdict,
            "A good fit: the model explains 89% of the variation of 'strength' and is typically 5.5 off; 2.0% of its squared \
             error comes from the random features; its intervals are proved to contain the truth with probability at least \
             95% if new rows are like the old ones."
        );
        assert_eq!(advice, "More features would not help: this part is already 2.0% of the error.");
    }

    #[test]
    fn a_large_share_asks_for_features() {
        let far = Facts { measured_distance: Some(9.0), ..facts() };
        let (verdict, advice) = said(&far, &calibrated());
        assert!(verdict.contains("; 30% of its squared error comes from the random features; "), "{verdict}");
        let proved = "and a bound on its distance to the exact method (the same model without random features) are proved to \
                      hold, each with probability at least 95%";
        assert!(verdict.contains(proved), "{verdict}");
        assert!(
            advice.starts_with("More features may help: 2,048 instead of 1,024 would reduce this part, now 30%"),
            "{advice}"
        );
        let farther = Facts { measured_distance: Some(45.0), ..facts() };
        let (verdict, _) = said(&farther, &calibrated());
        let far = "its squared distance to the exact method (the same model without random features) is 149% of its squared \
                   error; its intervals and a bound on its distance to the exact method are proved";
        assert!(verdict.contains(far), "{verdict}");
    }

    /// Where the jackknife has an estimate, twice the features halve the distance. 4.4² of 5.5² is a gain of 36%; at 5.45 it is 2%, and at 5.6 the exact method is worse, however far the model is.
    #[test]
    fn the_error_of_the_exact_method_says_whether_features_are_lacking() {
        let with = |exact: f64| {
            let facts = Facts { measured_distance: Some(15.0), exact_mse: Some(exact * exact), ..facts() };
            let estimates = ErrorEstimates { jackknife: Some(15.0), ..ErrorEstimates::default() };
            said(&facts, &Evidence { estimates, ..calibrated() })
        };
        let (verdict, advice) = with(4.4);
        let words = "; the exact method (the same model without random features) is typically 4.4 off on the same rows, and \
                     the squared distance between the two is 50% of the squared error; ";
        assert!(verdict.contains(words), "{verdict}");
        assert_eq!(
            advice,
            "More features would help: 2,048 instead of 1,024 would about halve the squared distance to the exact method, \
             which is typically 4.4 off on the same rows. Or train with learner exact_krr, which is the exact method."
        );
        let (_, advice) = with(5.45);
        let little = "More features would help little: the exact method is typically 5.45 off on the same rows.";
        assert_eq!(advice, little);
        let (_, advice) = with(5.6);
        assert!(advice.starts_with("More features would not help: the exact method is typically 5.6 off"), "{advice}");
        // Errors of several targets have no common unit.
        let several = Facts { targets: vec!["a".into(), "b".into()], exact_mse: Some(1.0), ..facts() };
        assert!(!said(&several, &calibrated()).0.contains("typically"));
    }

    #[test]
    fn poor_fits_are_called_so() {
        let with = |r2| said(&Facts { r2: Some(r2), ..facts() }, &calibrated());
        assert!(with(0.6).0.starts_with("A fair fit: the model explains 60%"));
        let (verdict, advice) = with(0.3);
        assert!(verdict.starts_with("A poor fit: the model explains 30%"), "{verdict}");
        assert!(advice.contains("The features do not limit the fit"), "{advice}");
        let (verdict, _) = with(-0.2);
        let opening = "No better than always answering the mean: the model explains none of the variation";
        assert!(verdict.starts_with(opening), "{verdict}");
    }

    #[test]
    fn what_is_not_known_is_said() {
        let bare = Facts {
            validation_rows: 0,
            r2: None,
            validation_mse: None,
            interval_width: None,
            measured_distance: None,
            ..facts()
        };
        let (verdict, advice) = said(&bare, &unproved());
        assert_eq!(
            verdict,
            "The fit is not known, because no rows were held out; how much is lost by the random features is not known; \
             nothing is proved about its predictions."
        );
        assert!(advice.contains("validation_fraction > 0") && advice.contains("calibration_fraction > 0"), "{advice}");
        // One row is not none, and weights do not go together with intervals.
        let (verdict, advice) = said(&Facts { validation_rows: 1, sample_weights: true, ..bare.clone() }, &unproved());
        assert!(verdict.starts_with("The fit is not known, because the held-out rows are too few"), "{verdict}");
        assert!(advice.contains("use a larger validation_fraction"), "{advice}");
        assert!(advice.contains("For intervals with a guarantee, train without sample weights."), "{advice}");
        // The estimate needs no validation rows and is called one.
        let estimates = ErrorEstimates { jackknife: Some(2.8), fresh_features: None, jackknife_detail: None };
        let (verdict, advice) = said(&bare, &Evidence { estimates, ..unproved() });
        assert!(verdict.contains("move its predictions by an estimated 1.0% of the target's variation"), "{verdict}");
        assert!(
            advice.starts_with("Whether more features would help is not known without validation rows"),
            "{advice}"
        );
    }

    #[test]
    fn labels_are_compared_with_the_most_frequent_one() {
        let labels = |accuracy| Facts {
            predicts_labels: true,
            r2: None,
            validation_mse: None,
            interval_width: None,
            accuracy: Some(accuracy),
            most_frequent: Some(0.55),
            ..facts()
        };
        let evidence = Evidence { predicts_labels: true, ..calibrated() };
        let (verdict, _) = said(&labels(0.95), &evidence);
        let opening = "A good fit: 95% of the labels are right, where always answering the most frequent label gives 55%; \
                       the random features move its decision values by 0.2% of their variation; its label sets";
        assert!(verdict.starts_with(opening), "{verdict}");
        let compared = Facts { exact_accuracy: Some(0.96), ..labels(0.95) };
        let (verdict, advice) = said(&compared, &evidence);
        let words = "; the random features move its decision values by 0.2% of their variation, and the exact method (the same \
                     model without random features) gets 96% of the same labels right; ";
        assert!(verdict.contains(words), "{verdict}");
        assert!(advice.starts_with("More features would help: 2,048 instead of 1,024"), "20% of the errors: {advice}");
        assert!(!advice.contains("exact_krr"), "{advice}");
        let (verdict, _) = said(&labels(0.5), &evidence);
        assert!(verdict.starts_with("No better than always answering the most frequent label: 50%"), "{verdict}");
    }

    #[test]
    fn the_exact_method_loses_nothing() {
        let exact = Facts { feature_count: None, measured_distance: None, ..facts() };
        let (verdict, advice) = said(&exact, &calibrated());
        assert!(
            verdict.contains("; nothing is lost by approximation, because it is the exact kernel method; "),
            "{verdict}"
        );
        assert_eq!(advice, "Nothing needs to be done.");
    }
}
