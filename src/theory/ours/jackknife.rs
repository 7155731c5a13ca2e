//! How far the model is from the exact method, from leaving out some of the features: ours.
//!
//! *With few features* more are drawn, M for the m of the model: f_S, the model of a part S of m of them with its
//! columns rescaled by √(M/m) and nλ kept, is compared with f_M, the model of all. The estimate of E(f_s − f)² is
//! M/(M−m) times the mean of (f_S − f_M)². [J. Shao, C. F. J. Wu, *A general theory for jackknife variance
//! estimation*, Annals of Statistics 17, 1989: the delete-d jackknife, scaled to m draws]
//! *With many*, or where the rows are too many to be gone through again, the model's own m are split into g = 10 groups:
//! without group j it predicts f₋ⱼ, and the estimate is the mean of (g−1)/g·Σⱼ(f₋ⱼ − mean)². [Efron 1982]
//!
//! Of the first, nine single runs in ten are within a factor of 1.5 of the error from half the effective dimension on;
//! of the second too from ten times the dimension on, while below it they are fewer, the fewer the draws
//! (`docs/derivations.md`). Estimates: nothing proves them.

use crate::theory::papers::wang::theorem1::{ERROR, ridge_only, summed};
use crate::theory::statement::guarantee::{Finding, Source};
use crate::theory::statement::words::{Wording, rounded_up};
use crate::theory::{Assumption, Evidence, Form, Guarantee, Lack};

const JACKKNIFE: Source = Source {
    id: "bochner.jackknife",
    paper: "delete-d and delete-group jackknife over features, Shao & Wu 1989, Efron 1982",
    bounds: ERROR,
    form: Form::Estimate,
};

/// (g−1)/g·Σ(f₋ⱼ − mean)² of the predictions without each of g groups.
pub fn group_variance(without_group: &[f64]) -> f64 {
    let g = without_group.len() as f64;
    let mean = without_group.iter().sum::<f64>() / g;
    (g - 1.0) / g * without_group.iter().map(|f| (f - mean) * (f - mean)).sum::<f64>()
}

/// Features per effective dimension from which on the model's own are enough.
const ENOUGH_FEATURES: f64 = 10.0;

/// `bochner.jackknife`.
pub fn jackknife(evidence: &Evidence) -> Guarantee {
    let error = evidence.estimates.jackknife.ok_or(Lack::Jackknife);
    let own = evidence.effective_dimension().map(|(dimension, _)| {
        Assumption::of_order(
            "s is ten times the effective dimension, below which the estimate is less sure, unless training drew more \
             features to compare with, as it does for few features and not too many rows",
            evidence.feature_count as f64,
            ENOUGH_FEATURES * dimension,
        )
    });
    measured_error(JACKKNIFE, evidence, error, "leaving out features", own)
}

/// The frame of an estimate of E(f_s − f)² that was measured; `own` is what it assumes beside what all do.
pub(crate) fn measured_error(
    source: Source,
    evidence: &Evidence,
    error: Result<f64, Lack>,
    by: &str,
    own: Option<Assumption>,
) -> Guarantee {
    let Some(variance) = evidence.target_mean_square else { return ridge_only(source, evidence) };
    let mut assumptions = vec![
        evidence.features_unbiased(),
        evidence.draws_from_the_kernel(),
        Assumption::assumed(format!("{by} stands for drawing them anew, which holds in simulations")),
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
                "the average squared difference between this model and the exact kernel method{} is about {}, by {by}",
                summed(evidence),
                rounded_up(error)
            ),
            context: format!("; the target's variance is {}", rounded_up(variance)),
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
    fn it_is_an_estimate_where_it_was_measured() {
        assert_eq!(jackknife(&ridge_fit()).value, None);
        let measured = || ErrorEstimates { jackknife: Some(0.02), fresh_features: None };
        let found = jackknife(&Evidence { estimates: measured(), ..ridge_fit() });
        assert_eq!((found.form, found.status), (Form::Estimate, Status::Conditional));
        assert_eq!((found.value, found.probability), (Some(0.02), None));
        // The variance of a mean over draws that depend on each other is another one.
        let dependent = jackknife(&Evidence { draws_independent: false, estimates: measured(), ..ridge_fit() });
        assert_eq!((dependent.status, dependent.value), (Status::NotApplicable, Some(0.02)));
        assert!(dependent.statement.contains("independent of each other"), "{}", dependent.statement);
    }
}
