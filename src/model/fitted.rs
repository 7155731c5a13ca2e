//! The fitted model: an immutable value, everything a prediction or a guarantee needs.

use super::{
    ColumnRanges, CrossValidation, ErrorBars, Explanations, FeatureTrials, FitReport, Function, Head, HeldOutSample,
    InputPipeline, LearnerChoice, LearningCurve, MetricReport, SearchReport, Selection, Spread, TargetCoding,
};
use crate::features::{FeatureMap, Kernel, MapKind, Precision};
use crate::solver::{ExactSolve, PackedGram};
use crate::theory::ours::certificate_scaled::{BAR_SHARE, CertifiedBars};
use crate::theory::{Circumstances, Evidence, RowAccess, ScoreUnit};
use ndarray::Array2;
use serde::Serialize;

/// What is done about missing input cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum MissingRule {
    /// Filled with the training mean.
    Mean,
    /// Refused.
    Refuse,
}

/// f(x) = Wᵀψ(x) + c, and what that means.
#[derive(Debug, Clone, PartialEq)]
pub struct FittedModel {
    /// What the k outputs mean.
    pub head: Head,
    /// Raw rows to inputs.
    pub inputs: InputPipeline,
    /// The ranges of the input columns in the fitted rows; none for models of earlier releases.
    pub ranges: Option<ColumnRanges>,
    /// Applies to missing cells at prediction.
    pub missing: MissingRule,
    /// ψ, and the kernel it approximates.
    pub map: FeatureMap,
    /// How rows chose ψ, if they did.
    pub selection: Option<Selection>,
    /// How rows settled the count or the sampling of the features, if they did.
    pub trials: Option<FeatureTrials>,
    /// The precision in which ψ is evaluated.
    pub precision: Precision,
    /// W, s×k.
    pub weights: Array2<f64>,
    /// c; for regression the means of the training targets.
    pub intercepts: Vec<f64>,
    /// Predictive spread, if requested.
    pub spread: Option<Spread>,
    /// Weights without groups of features, if kept.
    pub error_bars: Option<ErrorBars>,
    /// Units of the conformal scores of each target; empty for labels and without scores.
    pub interval_scales: Vec<f64>,
    /// Sums that adding rows needs, if requested.
    pub statistics: Option<Statistics>,
    /// The training spec as resolved, as JSON.
    pub spec: String,
    /// Id of the data set it was trained on.
    pub dataset: String,
    /// How the fit went.
    pub report: FitReport,
    /// How the metric was learned, if it was.
    pub metric: Option<MetricReport>,
    /// How the learner was chosen, if the rows chose it.
    pub learner_choice: Option<LearnerChoice>,
    /// How kernel, metric, bandwidth and scaling were searched for, if they were.
    pub search: Option<SearchReport>,
    /// What its columns do, if kept.
    pub explanations: Option<Explanations>,
    /// Held-out rows with what the model says about them, if kept.
    pub held_out: Option<HeldOutSample>,
    /// Errors over folds, if asked for.
    pub cross_validation: Option<CrossValidation>,
    /// Errors of trainings on fewer rows, if asked for.
    pub learning_curve: Option<LearningCurve>,
    /// δ of the guarantees.
    pub failure_probability: f64,
    /// What the guarantees are computed from.
    pub evidence: Option<Evidence>,
    /// Measured counterparts of the bounds.
    pub measured: Measured,
}

impl FittedModel {
    /// The parts that a prediction reads.
    pub fn function(&self) -> Function<'_> {
        Function {
            inputs: &self.inputs,
            map: &self.map,
            precision: self.precision,
            weights: &self.weights,
            intercepts: &self.intercepts,
            spread: self.spread.as_ref(),
            error_bars: self.error_bars.as_ref(),
        }
    }

    /// Whether it is the exact kernel method, without features of its own.
    pub fn is_exact(&self) -> bool {
        self.map.kind == MapKind::Points
    }

    /// Conformal scores of rows that took no part in the fit, ascending; none if no rows were held out.
    pub fn calibration_scores(&self) -> Option<&[f64]> {
        self.evidence.as_ref()?.calibration_scores.as_deref()
    }

    /// What turns error bars into certified ones at confidence 1 − δ; none without a certificate in their units, or if rows
    /// were not split at random. An error tells how many rows it takes at this δ.
    pub fn certified_bars(&self, delta: f64) -> Option<Result<CertifiedBars, usize>> {
        self.error_bars.as_ref()?;
        let evidence = self.evidence.as_ref().filter(|evidence| evidence.split_at_random())?;
        CertifiedBars::new(evidence.certificate.as_ref()?, BAR_SHARE, delta)
    }

    /// Whether predictions can have certified error bars at the δ of the spec.
    pub fn has_certified_bars(&self) -> bool {
        matches!(self.certified_bars(self.failure_probability), Some(Ok(_)))
    }

    /// What decides, beside the evidence, why a measurement for a guarantee is missing.
    pub fn circumstances(&self, rows: RowAccess) -> Circumstances {
        let spec: serde_json::Value = serde_json::from_str(&self.spec).unwrap_or_default();
        Circumstances {
            rows,
            validation_rows: self.report.validation_rows,
            held_out_rows: self.report.validation_rows + self.report.calibration_rows,
            sample_weights: !spec["sample_weight"].is_null(),
            kernel_unbounded: self.map.kernel == Kernel::Linear,
            exact_residual: self.measured.exact_krr.as_ref().map(|exact| exact.relative_residual),
        }
    }

    /// Whether intervals are in units of the predictive spread at their row.
    pub fn scales_intervals(&self) -> bool {
        self.spread.is_some() && self.evidence.as_ref().is_some_and(|found| found.score_unit == ScoreUnit::Spread)
    }
}

/// The sums over all rows of a fit, and how their targets were coded.
#[derive(Debug, Clone, PartialEq)]
pub struct Statistics {
    /// Sums over coded targets.
    pub gram: PackedGram,
    /// Of the targets.
    pub coding: TargetCoding,
}

impl Statistics {
    /// Whether the parts fit a model of these sizes.
    pub fn is_consistent(&self, feature_count: usize, output_count: usize) -> bool {
        self.gram.is_consistent(feature_count, output_count) && self.coding.is_consistent(output_count)
    }
}

/// How good the exact kernel method is on the validation rows, 10,000 of them at most.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ExactScore {
    /// Mean squared error; with several targets, the mean over them.
    Mse(f64),
    /// Share of correct labels.
    Accuracy(f64),
}

impl ExactScore {
    /// The mean squared error of numbers.
    pub fn mse(self) -> Option<f64> {
        match self {
            Self::Mse(mse) => Some(mse),
            Self::Accuracy(_) => None,
        }
    }

    /// The share of correct labels.
    pub fn accuracy(self) -> Option<f64> {
        match self {
            Self::Mse(_) => None,
            Self::Accuracy(share) => Some(share),
        }
    }
}

/// Errors measured against the exact kernel method.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Measured {
    /// Mean of (f_s − f)² over the validation rows, or other rows that were not fitted, or where there are none over fitted
    /// rows that both fits leave out in turn, f the exact kernel ridge regression; summed over the targets.
    pub exact_krr_error: Option<f64>,
    /// The same over the training rows: a fact about them, not about new inputs.
    pub training_error: Option<f64>,
    /// How good the exact method itself is.
    pub exact_score: Option<ExactScore>,
    /// How the exact system was solved.
    pub exact_krr: Option<ExactSolve>,
}
