//! Certified error bars for single predictions.
//!
//! **Statement.** Let H(x) = h(x)² + 0.3·mean h², with h the error bar of the model and the mean over training rows, and
//! rⱼ = |f_s(xⱼ) − f̂(xⱼ)|/√H(xⱼ) on m rows that were not fitted. With confidence 1 − δ at least a share p of new inputs
//! have |f_s − f| ≤ r_(k)·√H(x) + ε, k as for the tolerance and ε as for all certificates. With several targets rⱼ is the
//! largest of them, and the bars hold for all of them at once.
//!
//! **Assumptions.** The rows and the new inputs are independent draws from one distribution. H depends on training rows
//! and on the features alone, so given those the rⱼ are independent, whatever the error bars are worth.

use super::certificate::{comparison, missing, rows_independent, solver_accounted_for, too_few_rows};
use super::certificate::{tolerance_rank, tolerance_rows};
use crate::theory::statement::guarantee::{Finding, Source};
use crate::theory::statement::words::{Wording, percent, rounded_up};
use crate::theory::{Assumption, CertificateEvidence, Evidence, Form, Guarantee};

const SCALED: Source = Source {
    id: "bochner.certificate_scaled",
    paper: "distribution-free tolerance limit, Wilks 1941, of differences in units of the error bars",
    bounds: "|f_s(x) - f(x)| for at least a share p of new inputs x, at one with a typical error bar",
    form: Form::Bound,
};

/// p, the share of new inputs that certified error bars hold for.
pub const BAR_SHARE: f64 = 0.9;

/// The share of the mean squared error bar that every prediction is given at least.
const MEAN_SHARE: f64 = 0.3;

/// √H(x) from the error bar at x and the mean of their squares.
pub fn scale(error_bar: f64, mean_square: f64) -> f64 {
    (error_bar * error_bar + MEAN_SHARE * mean_square).sqrt()
}

/// What turns error bars into certified ones.
#[derive(Debug, Clone, PartialEq)]
pub struct CertifiedBars {
    /// q.
    pub factor: f64,
    /// Mean h² over training rows, of each target.
    pub mean_squares: Vec<f64>,
    /// ε.
    pub slack: f64,
}

impl CertifiedBars {
    /// At confidence 1 − δ for a share p of new inputs; an error tells the rows that this needs, where there are too few.
    pub fn new(certificate: &CertificateEvidence, share: f64, failure_probability: f64) -> Option<Result<Self, usize>> {
        let scaled = certificate.detail.as_ref()?.scaled.as_ref()?;
        let Some(rank) = tolerance_rank(scaled.ratios.len(), share, failure_probability) else {
            return Some(Err(tolerance_rows(share, failure_probability)));
        };
        Some(Ok(Self {
            factor: *scaled.ratios.get(rank - 1)?,
            mean_squares: scaled.mean_squares.clone(),
            slack: certificate.solver_slack,
        }))
    }

    /// q·√H(x) + ε of each target.
    pub fn bars(&self, error_bars: &[f64]) -> Vec<f64> {
        let of_target = |(bar, mean): (&f64, &f64)| self.factor * scale(*bar, *mean) + self.slack;
        error_bars.iter().zip(&self.mean_squares).map(of_target).collect()
    }
}

/// `bochner.certificate_scaled`: a bound on the difference for a share p of new inputs, in units of their error bars. Its
/// value is the bar at an input whose error bar is the root mean square, over all targets.
pub fn certificate_scaled(evidence: &Evidence, share: f64, failure_probability: f64) -> Guarantee {
    let Some(certificate) = comparison(evidence) else { return missing(SCALED, evidence) };
    let bars = match CertifiedBars::new(certificate, share, failure_probability) {
        Some(Ok(bars)) => bars,
        Some(Err(needed)) => return SCALED.unavailable(too_few_rows(needed, certificate.differences.len())),
        None => {
            return SCALED.unavailable(
                Assumption::violated("error bars of the model on the rows that were compared", "there are none")
                    .with_remedy(
                        "Train a regression with error_bars and at least two feature draws, or run a certify job.",
                    ),
            );
        }
    };
    let mean_square: f64 = bars.mean_squares.iter().sum();
    let typical = bars.factor * scale(mean_square.sqrt(), mean_square) + bars.slack;
    let deviation = evidence.target_mean_square.unwrap_or(0.0).sqrt();
    SCALED.guarantee(Finding {
        value: Some(typical),
        informative: typical < deviation,
        failure_probability: Some(failure_probability),
        assumptions: vec![rows_independent(evidence, certificate), solver_accounted_for()],
        inputs: [
            ("rows", certificate.differences.len() as f64),
            ("share", share),
            ("factor", bars.factor),
            ("mean_square_bar", mean_square),
            ("solver_slack", bars.slack),
            ("delta", failure_probability),
        ]
        .into(),
        wording: Wording {
            claim: format!(
                "for at least {} of new inputs, the difference between this model and the exact kernel method is at most the \
                 certified error bar of the prediction, which is {} at a typical input, with probability at least {} over \
                 the held-out rows",
                percent(1.0 - share),
                rounded_up(typical),
                percent(failure_probability)
            ),
            comparison: format!("; the target standard deviation is {}", rounded_up(deviation)),
            uninformative: format!(
                "The bar at a typical input is not below the target standard deviation, {}. Hold out more rows, or use more \
                 features or a larger lambda.",
                rounded_up(deviation)
            ),
            ..Wording::default()
        },
        ..Finding::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::theory::evidence::tests::ridge_fit;
    use crate::theory::{CertificateDetail, ScaledDifferences, Status};

    fn certified(rows: u32) -> CertificateEvidence {
        let ratios: Vec<f64> = (1..=rows).map(|j| f64::from(j) / 100.0).collect();
        CertificateEvidence {
            differences: ratios.iter().map(|ratio| ratio / 10.0).collect(),
            clipped_mean_square: 0.01,
            clipped_square_variance: 0.0001,
            clip_width: 2.0,
            solver_slack: 0.001,
            detail: Some(CertificateDetail {
                clipped_squares: vec![0.01; rows as usize],
                scaled: Some(ScaledDifferences { ratios, mean_squares: vec![0.01] }),
                validation_rows: rows as usize,
                calibration_rows: 0,
                unlabelled_rows: 0,
            }),
        }
    }

    /// 0.9^29 ≤ 0.05 < 0.9^28: of 29 rows the largest ratio, 0.29.
    #[test]
    fn a_bar_is_the_ratio_of_a_rank_times_the_scale_plus_the_slack() {
        let bars = CertifiedBars::new(&certified(29), BAR_SHARE, 0.05).unwrap().unwrap();
        assert_eq!((bars.factor, bars.slack), (0.29, 0.001));
        let expected = 0.29 * (0.04_f64 + 0.003).sqrt() + 0.001;
        assert!((bars.bars(&[0.2])[0] - expected).abs() < 1e-15);
        assert_eq!(CertifiedBars::new(&certified(28), BAR_SHARE, 0.05), Some(Err(29)));
        let plain = CertificateEvidence { detail: None, ..certified(29) };
        assert_eq!(CertifiedBars::new(&plain, BAR_SHARE, 0.05), None);
    }

    #[test]
    fn the_guarantee_is_the_bar_at_a_typical_input() {
        let with = |certificate| Evidence { certificate, ..ridge_fit() };
        let found = certificate_scaled(&with(Some(certified(29))), BAR_SHARE, 0.05);
        assert!((found.value.unwrap() - (0.29 * 0.013_f64.sqrt() + 0.001)).abs() < 1e-15);
        assert_eq!((found.status, found.probability), (Status::Conditional, Some(0.95)));
        assert!(found.statement.starts_with("For at least 90% of new inputs"), "{}", found.statement);
        let few = certificate_scaled(&with(Some(certified(28))), BAR_SHARE, 0.05);
        assert!(few.statement.contains("at least 29 held-out rows"), "{}", few.statement);
        assert_eq!(certificate_scaled(&with(None), BAR_SHARE, 0.05).value, None);
        let old = certificate_scaled(&with(Some(CertificateEvidence { detail: None, ..certified(29) })), 0.9, 0.05);
        assert!(old.value.is_none() && old.statement.contains("error_bars"), "{}", old.statement);
        // More confidence takes a larger ratio.
        let factor = |delta| CertifiedBars::new(&certified(200), BAR_SHARE, delta).unwrap().unwrap().factor;
        assert!(factor(0.01) > factor(0.05) && factor(0.05) > factor(0.5));
    }
}
