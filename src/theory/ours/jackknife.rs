//! The distance to the exact method, estimated by leaving out features.
//!
//! *With few features* more are drawn, M for the m of the model: f_S, the model of a part S of m of them with its
//! columns rescaled by √(M/m) and nλ kept, is compared with f_M, the model of all. The estimate of E(f_s − f)² is
//! M/(M−m) times the mean of (f_S − f_M)². [J. Shao, C. F. J. Wu, *A general theory for jackknife variance
//! estimation*, Annals of Statistics 17, 1989: the delete-d jackknife, scaled to m draws]
//! *With many*, or if the rows are too many for another pass, the model's own m are split into g = 10 groups: without
//! group j it predicts f₋ⱼ, and the estimate is the mean of (g−1)/g·Σⱼ(f₋ⱼ − mean)². [Efron 1982]
//!
//! With the first, nine of ten single runs are within a factor of 1.5 of the error once there are half as many features
//! as effective dimensions; with the second, once there are ten times as many (`docs/derivations.md`). Neither is proved.

use crate::theory::papers::wang::distance::{ERROR, summed};
use crate::theory::statement::guarantee::{Finding, Source};
use crate::theory::statement::words::{Wording, rounded_up};
use crate::theory::{Assumption, Evidence, Form, Guarantee, Lack};

const JACKKNIFE: Source = Source {
    id: "bochner.jackknife",
    paper: "delete-d and delete-group jackknife over features: Shao & Wu 1989, Efron 1982",
    bounds: ERROR,
    form: Form::Estimate,
};

/// (g−1)/g·Σ(f₋ⱼ − mean)² of the predictions without each of g groups.
pub fn group_variance(without_group: &[f64]) -> f64 {
    let g = without_group.len() as f64;
    let mean = without_group.iter().sum::<f64>() / g;
    (g - 1.0) / g * without_group.iter().map(|f| (f - mean) * (f - mean)).sum::<f64>()
}

/// The features per effective dimension that make the estimate from groups reliable.
const FEATURES_PER_DIMENSION: f64 = 10.0;

/// `bochner.jackknife`: an error estimate from leaving out features.
pub fn jackknife(evidence: &Evidence) -> Guarantee {
    let error = evidence.estimates.jackknife.ok_or(Lack::Jackknife);
    let own = evidence.effective_dimension().map(|(dimension, _)| {
        let (have, need) = (evidence.feature_count as f64, FEATURES_PER_DIMENSION * dimension);
        if have >= need {
            let text = "at least ten features per effective dimension, which make the estimate reliable";
            return Assumption::at_least_by_estimate(text, have, need);
        }
        Assumption::assumed(
            "a reliable estimate although there are fewer than ten features per effective dimension; it is reliable if \
             training drew extra features, as it does for few features and not too many rows",
        )
    });
    measured_error(JACKKNIFE, evidence, error, "leaving out features", own)
}

/// A measured estimate of E(f_s − f)²; `own` is the assumption that other such estimates do not share.
pub(crate) fn measured_error(
    source: Source,
    evidence: &Evidence,
    error: Result<f64, Lack>,
    by: &str,
    own: Option<Assumption>,
) -> Guarantee {
    let Some(variance) = evidence.target_mean_square else { return source.unavailable(evidence.is_not_ridge()) };
    let mut assumptions = vec![
        evidence.features_unbiased(),
        evidence.draws_from_the_kernel(),
        Assumption::assumed(format!("an error from {by} equal to that of new feature draws, as in simulations")),
    ];
    assumptions.extend(own);
    let error = match error {
        Ok(error) => error,
        Err(lack) => return source.unmeasured(lack, assumptions),
    };
    source.guarantee(Finding {
        value: Some(error),
        informative: true,
        assumptions,
        inputs: [("draws", evidence.draw_count as f64), ("lambda", evidence.ridge)].into(),
        estimated: vec!["value"],
        wording: Wording {
            claim: format!(
                "averaged over new inputs and feature draws, the squared difference between this model and the exact \
                 kernel method{} is about {}, as measured by {by}",
                summed(evidence),
                rounded_up(error)
            ),
            comparison: format!("; the target variance is {}", rounded_up(variance)),
            ..Wording::default()
        },
        ..Finding::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::theory::evidence::tests::ridge_fit;
    use crate::theory::{ErrorEstimates, Status};

    /// ¾·(9 + 1 + 1 + 9)/4 around the mean 5.
    #[test]
    fn the_variance_by_hand() {
        assert_eq!(group_variance(&[2.0, 4.0, 6.0, 8.0]), 15.0);
        assert_eq!(group_variance(&[3.0, 3.0, 3.0]), 0.0);
    }

    #[test]
    fn it_is_an_estimate_if_it_was_measured() {
        assert_eq!(jackknife(&ridge_fit()).value, None);
        let measured = || ErrorEstimates { jackknife: Some(0.02), fresh_features: None };
        let found = jackknife(&Evidence { estimates: measured(), ..ridge_fit() });
        assert_eq!((found.form, found.status), (Form::Estimate, Status::Conditional));
        assert_eq!((found.value, found.probability), (Some(0.02), None));
        // A mean over dependent draws has a different variance.
        let dependent = jackknife(&Evidence { draws_independent: false, estimates: measured(), ..ridge_fit() });
        assert_eq!((dependent.status, dependent.value), (Status::NotApplicable, Some(0.02)));
        assert!(dependent.statement.contains("independent feature draws"), "{}", dependent.statement);
    }
}
