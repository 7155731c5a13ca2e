//! The distance to the exact method, estimated by leaving out features.
//!
//! *With more draws*, where that is affordable: a pool of M = km, dealt out into k parts of m in several rounds. The parts
//! of a round are k models that could have been drawn, so their sample variance is that of the model; their mean is off
//! the model of all M draws by the bias, (1 − 1/k)·b/m in the first order, whose square is added. The distance of the model
//! itself is that to the model of all draws, which is known, and what is estimated for the latter.
//! *Otherwise* the model's own m are split into g = 10 groups: without group j it predicts f₋ⱼ, and the estimate is the
//! mean of (g−1)/g·Σⱼ(f₋ⱼ − mean)², which sees no bias. [Efron 1982]
//!
//! Both look at inputs that were not fitted; the first can also leave out fitted rows in turn. Neither is proved.
//! `docs/derivations.md` has the derivation and what was measured.

use crate::theory::papers::wang::distance::{ERROR, summed};
use crate::theory::statement::guarantee::{Finding, Source};
use crate::theory::statement::words::{Wording, rounded_down, rounded_up};
use crate::theory::{Assumption, Evidence, Form, Guarantee, JackknifeDetail, Lack};

const JACKKNIFE: Source = Source {
    id: "bochner.jackknife",
    paper: "resampling of feature draws, after the delete-group jackknife: Efron 1982",
    bounds: ERROR,
    form: Form::Estimate,
};

/// (g−1)/g·Σ(f₋ⱼ − mean)² of the predictions without each of g groups.
pub fn group_variance(without_group: &[f64]) -> f64 {
    let g = without_group.len() as f64;
    let mean = without_group.iter().sum::<f64>() / g;
    (g - 1.0) / g * without_group.iter().map(|f| (f - mean) * (f - mean)).sum::<f64>()
}

/// The squared relative error that such estimates have beside their noise. `docs/derivations.md` says on which seeds it was
/// chosen and on which others it was measured.
const OWN_ERROR_SQUARE: f64 = 0.25;

/// The largest relative variance, over draws and rows, with which an estimate is given. Beyond, a few inputs or the unknown
/// bias decide it, and it can be off by a factor of ten.
pub const LARGEST_VARIANCE: f64 = 0.5;

/// The largest squared bias, as a share of the variance, with which an estimate from a pool is given. The estimate is an
/// expansion in 1/m, the number of draws: the variance is of the order 1/m and the squared bias of 1/m². Where the second is
/// no longer small next to the first, the orders that are left out count too, and the estimate can be off by a factor of six.
pub const LARGEST_BIAS: f64 = 0.5;

/// The largest leverage of the features, each counted as much as its leverage, with which an estimate from groups is given.
/// Without a feature of leverage h predictions change by 1/(1 − h) times the first order, 1.7 times at 0.4. Where
/// features that matter have more, most of their kind were not drawn, and the bias, which groups do not see, can be most of
/// the distance: the estimate can be twenty times too small.
pub const LARGEST_LEVERAGE: f64 = 0.4;

/// The quantile of a normal variable that leaves 5% on each side.
const NINE_IN_TEN: f64 = 1.645;

/// Between which the squared distance of a single draw is in nine of ten cases, by an estimate: log-normal around the
/// mean, with the relative variances over draws and over rows.
pub fn interval_of_one_draw(mean: f64, draw_variance: f64, row_variance: f64) -> (f64, f64) {
    let relative = draw_variance + row_variance + OWN_ERROR_SQUARE;
    let factor = (NINE_IN_TEN * relative.ln_1p().sqrt()).exp();
    (mean / factor, mean * factor)
}

/// The features per effective dimension that make the estimate from groups reliable: with fewer it misses the bias.
const FEATURES_PER_DIMENSION: f64 = 2.0;

/// `bochner.jackknife`: an error estimate from leaving out features.
pub fn jackknife(evidence: &Evidence) -> Guarantee {
    let detail = evidence.estimates.jackknife_detail.as_ref();
    let error = evidence.estimates.jackknife.ok_or(Lack::Jackknife);
    let mut own = Vec::new();
    if detail.is_some_and(|detail| detail.pooled) {
        own.push(Assumption::checked("more feature draws than those of the model, which show its bias too"));
    } else if let Some((dimension, _)) = evidence.effective_dimension() {
        let (have, need) = (evidence.feature_count as f64, FEATURES_PER_DIMENSION * dimension);
        let text =
            "two features per effective dimension, because the estimate misses the bias of the features with fewer";
        let enough = Assumption::at_least_by_estimate(text, have, need);
        own.push(enough.with_remedy("Use more features or a larger lambda."));
    }
    if detail.is_some_and(|detail| detail.left_out) {
        own.push(Assumption::assumed("new inputs like the fitted rows, each of which was left out of the fit in turn"));
    }
    let mut found = measured_error(JACKKNIFE, evidence, (error, detail), "leaving out features", own);
    if let Some(detail) = detail.filter(|_| found.value.is_some()) {
        found.inputs.extend([("low", detail.low), ("high", detail.high), ("rows", detail.rows as f64)]);
        found.estimated.extend(["low", "high"]);
    }
    found
}

/// A measured estimate of E(f_s − f)², with what it says of a single draw; `own` are the assumptions that other such
/// estimates do not share.
pub(crate) fn measured_error(
    source: Source,
    evidence: &Evidence,
    (error, detail): (Result<f64, Lack>, Option<&JackknifeDetail>),
    by: &str,
    own: Vec<Assumption>,
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
                "averaged over new inputs{}, the squared difference between this model and the exact kernel method{} is about \
                 {}, as measured by {by}{}",
                if detail.is_some() { "" } else { " and feature draws" },
                summed(evidence),
                rounded_up(error),
                detail.map_or_else(String::new, |detail| format!(
                    "; for nine of ten such models it is estimated to be between {} and {}",
                    rounded_down(detail.low),
                    rounded_up(detail.high)
                ))
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

    /// Noise makes the interval wider, and none leaves the error that such estimates have anyway.
    #[test]
    fn the_interval_widens_with_the_noise() {
        let (low, high) = interval_of_one_draw(2.0, 0.0, 0.0);
        assert!((low * high - 4.0).abs() < 1e-12 && (high - 2.0 * (1.645 * 1.25_f64.ln().sqrt()).exp()).abs() < 1e-12);
        let wider = interval_of_one_draw(2.0, 0.5, 0.0);
        assert!(wider.0 < low && wider.1 > high && wider.1 < interval_of_one_draw(2.0, 0.5, 0.5).1);
        assert_eq!(interval_of_one_draw(0.0, 0.0, 0.0), (0.0, 0.0));
    }

    #[test]
    fn a_single_draw_has_an_interval() {
        let detail = JackknifeDetail { low: 0.01, high: 0.04, rows: 60, left_out: true, pooled: true };
        let estimates = ErrorEstimates { jackknife: Some(0.02), fresh_features: None, jackknife_detail: Some(detail) };
        let found = jackknife(&Evidence { estimates, ..ridge_fit() });
        assert!(found.statement.contains("it is estimated to be between 0.01000 and 0.04000"), "{}", found.statement);
        assert_eq!((found.inputs["low"], found.inputs["high"], found.inputs["rows"]), (0.01, 0.04, 60.0));
        assert!(found.assumptions.iter().any(|assumption| assumption.text.contains("left out of the fit")));
    }

    #[test]
    fn it_is_an_estimate_if_it_was_measured() {
        assert_eq!(jackknife(&ridge_fit()).value, None);
        let measured = || ErrorEstimates { jackknife: Some(0.02), fresh_features: None, jackknife_detail: None };
        let found = jackknife(&Evidence { estimates: measured(), ..ridge_fit() });
        assert_eq!((found.form, found.status), (Form::Estimate, Status::Conditional));
        assert_eq!((found.value, found.probability), (Some(0.02), None));
        // 200 features are enough for a dimension of 100 and too few for 101.
        let with_dimension = |value: f64| {
            let kernel = crate::theory::KernelEvidence {
                dimension: crate::theory::Estimate { value, standard_error: 0.0 },
                largest: None,
                spectral_delta: None,
            };
            jackknife(&Evidence { kernel: Some(kernel), estimates: measured(), ..ridge_fit() })
        };
        assert_eq!(with_dimension(100.0).status, Status::Conditional);
        let few = with_dimension(101.0);
        let need = few.assumptions.last().and_then(|last| last.need);
        assert_eq!((few.status, need), (Status::NotApplicable, Some(202.0)));
        assert!(few.statement.ends_with("Use more features or a larger lambda."), "{}", few.statement);
        // A mean over dependent draws has a different variance.
        let dependent = jackknife(&Evidence { draws_independent: false, estimates: measured(), ..ridge_fit() });
        assert_eq!((dependent.status, dependent.value), (Status::NotApplicable, Some(0.02)));
        assert!(dependent.statement.contains("independent feature draws"), "{}", dependent.statement);
    }
}
