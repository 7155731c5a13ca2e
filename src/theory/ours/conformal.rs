//! Split conformal prediction: V. Vovk, A. Gammerman, G. Shafer, *Algorithmic learning in a random
//! world*, 2005.
//!
//! **Statement.** With m calibration scores and q their order statistic of rank ⌈(m+1)(1−δ)⌉, the score
//! of a new row is at most q with probability ≥ 1 − δ, whatever the model.
//!
//! **Assumptions.** The calibration rows and the new row are exchangeable, and the model was not fitted
//! on the calibration rows. That is checked for a training, but not for an update, whose rows may already be in the
//! earlier fit.
//!
//! Scores may have any unit that depends only on the fit. Multiples of the predictive spread make intervals wider at
//! inputs where less is known.
//!
//! **Departures.** The rank is off by one in floating point for some m and δ (29 and 0.7), so it is computed
//! in integers from the decimal digits of δ.

use crate::theory::statement::guarantee::{Finding, Source};
use crate::theory::statement::words::{Wording, as_given, percent, rounded_up};
use crate::theory::{Assumption, Evidence, Form, Guarantee, Lack, ScoreUnit};

const CONFORMAL: Source = Source {
    id: "conformal",
    paper: "split conformal prediction, Vovk, Gammerman & Shafer 2005",
    bounds: "score of a new row: half the width of its interval, or the threshold of its label set",
    form: Form::Bound,
};

/// ⌈(m+1)(1−δ)⌉ = m + 1 − ⌊(m+1)δ⌋ with δ as its shortest decimal, exactly.
pub fn conformal_rank(score_count: usize, failure_probability: f64) -> usize {
    let all = score_count + 1;
    // `to_string` never uses scientific notation, so all digits of a δ < 1 follow the point.
    let decimal = failure_probability.to_string();
    let places = decimal.split_once('.').map_or("", |(_, places)| places);
    let digits = places.trim_start_matches('0').parse::<u128>().unwrap_or(0);
    // At most 17 digits times 2⁶⁴ stays below 10³⁸: with more places the product is below 1.
    let whole = 10_u128.checked_pow(places.len() as u32).map_or(0, |scale| all as u128 * digits / scale);
    all - whole as usize
}

/// The order statistic of that rank among ascending scores; infinite if there are too few.
pub fn conformal_quantile(ascending_scores: &[f64], failure_probability: f64) -> f64 {
    let rank = conformal_rank(ascending_scores.len(), failure_probability);
    ascending_scores.get(rank - 1).copied().unwrap_or(f64::INFINITY)
}

/// The fewest calibration scores with a finite quantile.
pub fn fewest_scores(failure_probability: f64) -> usize {
    let mut count = (1.0 / failure_probability).floor() as usize;
    count = count.saturating_sub(2).max(1);
    // Larger counts, which no dataset has, would overflow the rank.
    while count < usize::MAX / 2 && conformal_rank(count, failure_probability) > count {
        count += 1;
    }
    count
}

/// `conformal`: the coverage of prediction intervals or label sets.
pub fn conformal(evidence: &Evidence, failure_probability: f64) -> Guarantee {
    let Some(scores) = &evidence.calibration_scores else {
        return CONFORMAL.unmeasured(Lack::Scores, Vec::new());
    };
    let quantile = conformal_quantile(scores, failure_probability);
    let (unused, detail) = if evidence.rows_added {
        (
            Assumption::assumed("calibration rows, taken from the last update, that are in no earlier fit"),
            "The rows of the update must be new: rows that are already in the earlier fit make the bound too small.",
        )
    } else {
        (Assumption::checked("calibration rows that were not used in the fit"), "")
    };
    CONFORMAL.guarantee(Finding {
        value: Some(quantile),
        informative: quantile.is_finite(),
        failure_probability: Some(failure_probability),
        assumptions: vec![
            unused,
            evidence.assumed_of_rows("calibration rows and new rows that are exchangeable", ""),
            Assumption::assumed("a model that was not preferred to others for its errors on these rows"),
        ],
        inputs: [
            ("scores", scores.len() as f64),
            ("rank", conformal_rank(scores.len(), failure_probability) as f64),
            ("delta", failure_probability),
        ]
        .into(),
        wording: Wording {
            claim: claim(evidence, quantile, failure_probability),
            detail: detail.into(),
            uninformative: format!(
                "At delta = {}, at least {} calibration rows are required; only {} available. Hold out more rows or use a larger \
                 delta.",
                as_given(failure_probability),
                fewest_scores(failure_probability),
                if scores.len() == 1 { "1 is".to_owned() } else { format!("{} are", scores.len()) }
            ),
            ..Wording::default()
        },
        ..Finding::default()
    })
}

fn claim(evidence: &Evidence, quantile: f64, failure_probability: f64) -> String {
    let probability = percent(failure_probability);
    // A ridge fit may predict labels too: its scores are then those of labels.
    if evidence.predicts_labels {
        return format!("the label set of a new row contains the true label with probability at least {probability}");
    }
    let one = evidence.score_unit == ScoreUnit::Own || evidence.target_count == 1;
    if quantile.is_infinite() {
        let contains = if one { "interval that contains the target" } else { "intervals that contain all targets" };
        let are = if one { "is" } else { "are" };
        return format!("the {contains} of a new row with probability at least {probability} {are} infinitely wide");
    }
    let (subject, prediction) = match evidence.score_unit {
        ScoreUnit::Own => ("the target of a new row is", "the prediction"),
        ScoreUnit::Spread if evidence.target_count == 1 => ("the target of a new row is", "the prediction"),
        ScoreUnit::TrainingError | ScoreUnit::Spread => {
            ("all targets of a new row are simultaneously", "their predictions")
        }
    };
    let distance = match evidence.score_unit {
        ScoreUnit::Own => rounded_up(quantile),
        ScoreUnit::TrainingError => format!("{} training errors", rounded_up(quantile)),
        ScoreUnit::Spread => format!("{} predictive spreads", rounded_up(quantile)),
    };
    format!("{subject} within {distance} of {prediction} with probability at least {probability}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::theory::evidence::tests::ridge_fit;
    use crate::theory::{AssumptionState, LossKind, Status};

    /// 30·0.3 is 9, which floating point makes 9.000000000000002.
    #[test]
    fn ranks_are_exact_where_floating_point_is_not() {
        assert_eq!(conformal_rank(29, 0.7), 9);
        assert_eq!((30.0_f64 * (1.0 - 0.7)).ceil(), 10.0);
        assert_eq!(conformal_rank(99, 0.43), 57);
        assert_eq!(conformal_rank(19, 0.05), 19);
    }

    #[test]
    fn extreme_deltas_neither_overflow_nor_lose_digits() {
        assert_eq!(conformal_rank(1_000, 1e-300), 1_001);
        // 10¹⁹·0.1234567890123457 = 1234567890123457000, a product that needs all its digits.
        assert_eq!(conformal_rank(9_999_999_999_999_999_999, 0.123_456_789_012_345_7), 8_765_432_109_876_543_000);
        assert_eq!(conformal_rank(0, 0.5), 1);
        assert!([1e-18, 1e-19, 1e-300, 5e-324].map(fewest_scores).is_sorted());
    }

    #[test]
    fn smaller_deltas_take_later_scores_and_then_none() {
        let scores: Vec<f64> = (1..=19).map(f64::from).collect();
        assert_eq!(conformal_quantile(&scores, 0.5), 10.0);
        assert_eq!(conformal_quantile(&scores, 0.05), 19.0);
        assert_eq!(conformal_quantile(&scores, 0.04), f64::INFINITY);
        assert_eq!((fewest_scores(0.05), fewest_scores(0.04), fewest_scores(0.9)), (19, 24, 1));
    }

    #[test]
    fn the_unit_of_the_scores_is_said() {
        let said = |score_unit, target_count| {
            let scores = Some((1..=19).map(f64::from).collect());
            let evidence = Evidence { calibration_scores: scores, score_unit, target_count, ..ridge_fit() };
            conformal(&evidence, 0.05).statement
        };
        assert!(said(ScoreUnit::Own, 1).starts_with("The target of a new row is within 19.00 of the prediction"));
        assert!(said(ScoreUnit::TrainingError, 2).contains("are simultaneously within 19.00 training errors"));
        assert!(said(ScoreUnit::Spread, 1).contains("row is within 19.00 predictive spreads"));
        assert!(said(ScoreUnit::Spread, 2).contains("are simultaneously within 19.00 predictive spreads"));
    }

    /// The sums of an earlier fit do not show which rows are in them.
    #[test]
    fn after_an_update_new_rows_are_assumed() {
        let scores = Some((1..=19).map(f64::from).collect());
        let trained = Evidence { calibration_scores: scores, ..ridge_fit() };
        assert_eq!(conformal(&trained, 0.05).assumptions[0].state, AssumptionState::Checked);
        let updated = conformal(&Evidence { rows_added: true, ..trained }, 0.05);
        assert_eq!(updated.assumptions[0].state, AssumptionState::Assumed);
        assert!(updated.statement.contains("The rows of the update must be new"), "{}", updated.statement);
    }

    #[test]
    fn label_sets_are_worded_as_such_for_every_loss() {
        let scores = Some((1..=19).map(f64::from).collect());
        let evidence = Evidence { calibration_scores: scores, predicts_labels: true, ..ridge_fit() };
        let said = conformal(&evidence, 0.05).statement;
        assert!(said.contains("contains the true label") && !said.contains("prediction"), "{said}");
    }

    #[test]
    fn it_holds_for_any_learner_that_was_calibrated() {
        assert_eq!(conformal(&ridge_fit(), 0.05).value, None);
        let scores = Some((1..=19).map(f64::from).collect());
        let classifier = Evidence { loss: LossKind::Hinge, calibration_scores: scores, ..ridge_fit() };
        assert_eq!(conformal(&classifier, 0.05).status, Status::Conditional);
        let strict = conformal(&classifier, 0.01);
        assert_eq!((strict.status, strict.value), (Status::Vacuous, None));
        assert!(
            strict.statement.contains("at least 99 calibration rows are required; only 19 are available"),
            "{}",
            strict.statement
        );
    }
}
