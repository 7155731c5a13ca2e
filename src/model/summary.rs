//! The summary of a model, the same in the service, in reports and on the command line.

use super::{ExactScore, FittedModel};
use crate::theory::ours::certificate::COVERED_SHARE;
use crate::theory::ours::conformal::conformal_quantile;
use crate::theory::papers::avron::Preconditioning;
use crate::theory::{Evidence, Facts, Guarantee, RowAccess, Summary, guarantees, summarize};
use serde_json::{Value, json};

/// The relative accuracy for which the iterations of a preconditioned solver are counted.
const SOLVER_ACCURACY: f64 = 1e-8;

impl FittedModel {
    /// The summary at the δ of the spec, for readers with this access to the training rows.
    pub(super) fn own_summary(&self, rows: RowAccess) -> Summary {
        let circumstances = self.circumstances(rows);
        let delta = self.failure_probability;
        let Some(evidence) = &self.evidence else { return self.summary(&[], delta, false) };
        let found = guarantees(evidence, delta, COVERED_SHARE, &circumstances);
        self.summary(&found.guarantees, delta, found.is_certifiable(rows))
    }

    /// The summary of `guarantees` at δ; `certifiable` says whether a certify job can still measure something.
    pub fn summary(&self, guarantees: &[Guarantee], delta: f64, certifiable: bool) -> Summary {
        let numbers = self.report.numbers();
        let labels = self.report.labels();
        let facts = Facts {
            targets: self.head.targets().to_vec(),
            predicts_labels: self.head.labels().is_some(),
            feature_count: (!self.is_exact()).then(|| self.map.feature_count()),
            validation_rows: self.report.validation_rows,
            r2: numbers.and_then(|errors| errors.validation_r2),
            validation_mse: numbers.and_then(|errors| errors.validation_mse),
            accuracy: labels.and_then(|errors| errors.validation_accuracy),
            most_frequent: labels.and_then(|errors| {
                let rows = errors.classes.iter().map(|class| class.validation_rows);
                let most = rows.clone().max().filter(|most| *most > 0)?;
                Some(most as f64 / rows.sum::<usize>() as f64)
            }),
            interval_width: self.interval_width(delta),
            target_variance: self.evidence.as_ref().and_then(|evidence| evidence.target_mean_square),
            measured_distance: self.measured.exact_krr_error,
            exact_mse: self.measured.exact_score.and_then(ExactScore::mse),
            exact_accuracy: self.measured.exact_score.and_then(ExactScore::accuracy),
            failure_probability: delta,
            certifiable,
            sample_weights: self.circumstances(RowAccess::Gone).sample_weights,
        };
        summarize(&facts, guarantees)
    }

    /// The width of the intervals of a single target, if it is the same for all rows and their coverage is guaranteed.
    fn interval_width(&self, delta: f64) -> Option<f64> {
        self.evidence.as_ref().filter(|evidence| evidence.split_at_random())?;
        let [scale] = self.interval_scales[..] else { return None };
        let scores = self.calibration_scores().filter(|_| !self.scales_intervals())?;
        Some(2.0 * scale * conformal_quantile(scores, delta)).filter(|width| width.is_finite())
    }

    /// Measurements made during training or by a certify job. Not guarantees.
    pub fn measurements(&self) -> Value {
        let numbers = self.report.numbers();
        let evidence = self.evidence.as_ref();
        let kernel = evidence.and_then(|evidence| evidence.kernel.as_ref());
        let spectral_delta = kernel.and_then(|kernel| kernel.spectral_delta);
        json!({
            "exact_krr_error": self.measured.exact_krr_error,
            "exact_krr_validation_mse": self.measured.exact_score.and_then(ExactScore::mse),
            "exact_krr_validation_accuracy": self.measured.exact_score.and_then(ExactScore::accuracy),
            "exact_krr_training_error": self.measured.training_error,
            "exact_krr": self.measured.exact_krr,
            "jackknife_error": evidence.and_then(|evidence| evidence.estimates.jackknife),
            "jackknife_interval": evidence
                .and_then(|evidence| evidence.estimates.jackknife_detail)
                .map(|detail| [detail.low, detail.high]),
            "spectral_delta": spectral_delta,
            "spectral_delta_rows": spectral_delta.and(evidence).map(Evidence::spectral_rows),
            "preconditioning": spectral_delta.and_then(|delta| Preconditioning::of(delta, SOLVER_ACCURACY)),
            "kernel_dimension": kernel.map(|kernel| kernel.dimension),
            "validation_mse": numbers.map(|errors| errors.validation_mse),
            "validation_r2": numbers.map(|errors| errors.validation_r2),
            "validation_accuracy": self.report.labels().map(|errors| errors.validation_accuracy),
        })
    }
}
