//! What guarantees are computed from.

use super::Numbers;
use super::choices::choices_by_spec;
use super::solves::StoredExactSolve;
use crate::features::{Kernel, Precision};
use crate::model::{FitReport, Head, Measured, Selection};
use crate::theory::{
    CertificateEvidence, Choices, ErrorEstimates, Estimate, Evidence, ExactEvidence, KernelEvidence, LossKind,
    PoolEvidence, RowsSplit, SamplingKind, ScoreUnit,
};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// Without the members that the rest of the file tells: see [`RestOfModel`].
#[derive(Serialize, Deserialize)]
#[allow(clippy::struct_excessive_bools)] // as the evidence has them
pub(in crate::model::artifact) struct StoredEvidence<'a> {
    sample_count: usize,
    feature_count: usize,
    draw_count: usize,
    feature_bound: Option<f64>,
    sign_features: bool,
    sampling: StoredSamplingKind,
    draws_independent: bool,
    unbiased: bool,
    kernel_fixed_in_advance: bool,
    rows_weighted: bool,
    loss: StoredLossKind,
    ridge: f64,
    target_count: usize,
    target_mean_square: Option<f64>,
    weight_norm_square: Option<f64>,
    spectrum: Option<Numbers<'a>>,
    kernel: Option<StoredKernelEvidence>,
    exact: Option<StoredExactEvidence>,
    pool: Option<StoredPoolEvidence<'a>>,
    estimates: StoredEstimates,
    certificate: Option<StoredCertificateEvidence<'a>>,
    calibration_scores: Option<Numbers<'a>>,
    score_unit: StoredScoreUnit,
}

/// The parts of a model that its evidence depends on.
pub(in crate::model::artifact) struct RestOfModel<'a> {
    pub(in crate::model::artifact) precision: Precision,
    pub(in crate::model::artifact) kernel: Kernel,
    pub(in crate::model::artifact) head: &'a Head,
    pub(in crate::model::artifact) report: &'a FitReport,
    pub(in crate::model::artifact) spec: &'a str,
    /// Where the file has them.
    pub(in crate::model::artifact) choices: Option<Choices>,
    pub(in crate::model::artifact) selection: Option<&'a Selection>,
    pub(in crate::model::artifact) enough_features: Option<(f64, usize)>,
}

#[derive(Serialize, Deserialize)]
enum StoredSamplingKind {
    DataIndependent,
    LeverageWeighted,
    ChosenByInputs,
    ChosenByTargets,
    NoFeatures,
}

#[derive(Serialize, Deserialize)]
enum StoredScoreUnit {
    Own,
    TrainingError,
    Spread,
}

#[derive(Serialize, Deserialize)]
enum StoredLossKind {
    Squared,
    Logistic,
    Hinge,
    SquaredHinge,
}

#[derive(Serialize, Deserialize)]
struct StoredKernelEvidence {
    dimension: f64,
    dimension_standard_error: f64,
    largest: Option<f64>,
    spectral_delta: Option<f64>,
}

#[derive(Serialize, Deserialize)]
struct StoredExactEvidence {
    quadratic_form: f64,
    fitted_square: Option<f64>,
    fitted_form: Option<f64>,
    relative_residual: f64,
    held_out_error: Option<f64>,
}

#[derive(Serialize, Deserialize)]
struct StoredPoolEvidence<'a> {
    candidate_count: usize,
    row_count: usize,
    spectrum: Numbers<'a>,
    kernel_deviation: Option<f64>,
    largest_leverages: Cow<'a, [(f64, f64)]>,
}

#[derive(Serialize, Deserialize)]
struct StoredEstimates {
    jackknife: Option<f64>,
    fresh_features: Option<f64>,
}

#[derive(Serialize, Deserialize)]
struct StoredCertificateEvidence<'a> {
    differences: Numbers<'a>,
    clipped_mean_square: f64,
    clipped_square_variance: f64,
    clip_width: f64,
    solver_slack: f64,
}

#[derive(Serialize, Deserialize)]
pub(in crate::model::artifact) struct StoredMeasured {
    exact_krr_error: Option<f64>,
    exact_krr: Option<StoredExactSolve>,
}

impl<'a> From<&'a Evidence> for StoredEvidence<'a> {
    fn from(evidence: &'a Evidence) -> Self {
        Self {
            sample_count: evidence.sample_count,
            feature_count: evidence.feature_count,
            draw_count: evidence.draw_count,
            feature_bound: evidence.feature_bound,
            sign_features: evidence.sign_features,
            sampling: evidence.sampling.into(),
            draws_independent: evidence.draws_independent,
            unbiased: evidence.unbiased,
            kernel_fixed_in_advance: evidence.choices == Choices::FixedInAdvance,
            rows_weighted: evidence.rows_weighted,
            loss: evidence.loss.into(),
            ridge: evidence.ridge,
            target_count: evidence.target_count,
            target_mean_square: evidence.target_mean_square,
            weight_norm_square: evidence.weight_norm_square,
            spectrum: evidence.spectrum.as_ref().map(Into::into),
            kernel: evidence.kernel.as_ref().map(Into::into),
            exact: evidence.exact.as_ref().map(Into::into),
            pool: evidence.pool.as_ref().map(Into::into),
            estimates: StoredEstimates {
                jackknife: evidence.estimates.jackknife,
                fresh_features: evidence.estimates.fresh_features,
            },
            certificate: evidence.certificate.as_ref().map(Into::into),
            calibration_scores: evidence.calibration_scores.as_ref().map(Into::into),
            score_unit: evidence.score_unit.into(),
        }
    }
}

impl StoredEvidence<'_> {
    /// The evidence of a model with these other parts.
    pub(in crate::model::artifact) fn of(self, rest: &RestOfModel) -> Evidence {
        let stored = self;
        let by_spec = || choices_by_spec(stored.kernel_fixed_in_advance, rest.spec, rest.report);
        Evidence {
            sample_count: stored.sample_count,
            feature_count: stored.feature_count,
            draw_count: stored.draw_count,
            feature_bound: stored.feature_bound,
            sign_features: stored.sign_features,
            sampling: stored.sampling.into(),
            draws_independent: stored.draws_independent,
            unbiased: stored.unbiased,
            choices: rest.choices.unwrap_or_else(by_spec),
            rows_weighted: stored.rows_weighted,
            loss: stored.loss.into(),
            ridge: stored.ridge,
            target_count: stored.target_count,
            target_mean_square: stored.target_mean_square,
            weight_norm_square: stored.weight_norm_square,
            spectrum: stored.spectrum.map(Cow::into_owned),
            spectrum_floor: rest.precision.spectrum_floor(),
            kernel: stored.kernel.map(Into::into),
            exact: stored.exact.map(Into::into),
            pool: stored.pool.map(Into::into),
            estimates: ErrorEstimates {
                jackknife: stored.estimates.jackknife,
                jackknife_detail: None,
                fresh_features: stored.estimates.fresh_features,
            },
            certificate: stored.certificate.map(Into::into),
            calibration_scores: stored.calibration_scores.map(Cow::into_owned),
            score_unit: stored.score_unit.into(),
            enough_features: rest.enough_features,
            pool_degrees: rest.selection.map_or_else(Vec::new, |selection| selection.degrees.clone()),
            predicts_labels: rest.head.labels().is_some(),
            rows_added: rest.report.base_version.is_some(),
            kernel_diagonal: rest.kernel.shape().diagonal(),
            rows_split: rows_split(rest.spec),
        }
    }
}

/// By what a spec splits rows. One that cannot be read is of a file without such splits.
fn rows_split(spec: &str) -> RowsSplit {
    let spec: serde_json::Value = serde_json::from_str(spec).unwrap_or_default();
    match spec["split"]["by"].as_str() {
        Some("time") => RowsSplit::ByTime,
        Some("group") => RowsSplit::ByGroup,
        Some(_) | None => RowsSplit::AtRandom,
    }
}

impl From<SamplingKind> for StoredSamplingKind {
    fn from(kind: SamplingKind) -> Self {
        match kind {
            SamplingKind::DataIndependent => Self::DataIndependent,
            SamplingKind::LeverageWeighted => Self::LeverageWeighted,
            SamplingKind::ChosenByInputs => Self::ChosenByInputs,
            SamplingKind::ChosenByTargets => Self::ChosenByTargets,
            SamplingKind::NoFeatures => Self::NoFeatures,
        }
    }
}

impl From<StoredSamplingKind> for SamplingKind {
    fn from(stored: StoredSamplingKind) -> Self {
        match stored {
            StoredSamplingKind::DataIndependent => Self::DataIndependent,
            StoredSamplingKind::LeverageWeighted => Self::LeverageWeighted,
            StoredSamplingKind::ChosenByInputs => Self::ChosenByInputs,
            StoredSamplingKind::ChosenByTargets => Self::ChosenByTargets,
            StoredSamplingKind::NoFeatures => Self::NoFeatures,
        }
    }
}

impl From<ScoreUnit> for StoredScoreUnit {
    fn from(unit: ScoreUnit) -> Self {
        match unit {
            ScoreUnit::Own => Self::Own,
            ScoreUnit::TrainingError => Self::TrainingError,
            ScoreUnit::Spread => Self::Spread,
        }
    }
}

impl From<StoredScoreUnit> for ScoreUnit {
    fn from(stored: StoredScoreUnit) -> Self {
        match stored {
            StoredScoreUnit::Own => Self::Own,
            StoredScoreUnit::TrainingError => Self::TrainingError,
            StoredScoreUnit::Spread => Self::Spread,
        }
    }
}

impl From<LossKind> for StoredLossKind {
    fn from(loss: LossKind) -> Self {
        match loss {
            LossKind::Squared => Self::Squared,
            LossKind::Logistic => Self::Logistic,
            LossKind::Hinge => Self::Hinge,
            LossKind::SquaredHinge => Self::SquaredHinge,
        }
    }
}

impl From<StoredLossKind> for LossKind {
    fn from(stored: StoredLossKind) -> Self {
        match stored {
            StoredLossKind::Squared => Self::Squared,
            StoredLossKind::Logistic => Self::Logistic,
            StoredLossKind::Hinge => Self::Hinge,
            StoredLossKind::SquaredHinge => Self::SquaredHinge,
        }
    }
}

impl From<&KernelEvidence> for StoredKernelEvidence {
    fn from(&KernelEvidence { dimension, largest, spectral_delta }: &KernelEvidence) -> Self {
        let Estimate { value, standard_error } = dimension;
        Self { dimension: value, dimension_standard_error: standard_error, largest, spectral_delta }
    }
}

impl From<StoredKernelEvidence> for KernelEvidence {
    fn from(stored: StoredKernelEvidence) -> Self {
        Self {
            dimension: Estimate { value: stored.dimension, standard_error: stored.dimension_standard_error },
            largest: stored.largest,
            spectral_delta: stored.spectral_delta,
        }
    }
}

impl From<&ExactEvidence> for StoredExactEvidence {
    fn from(evidence: &ExactEvidence) -> Self {
        let &ExactEvidence { quadratic_form, fitted_square, fitted_form, relative_residual, held_out_error } = evidence;
        Self { quadratic_form, fitted_square, fitted_form, relative_residual, held_out_error }
    }
}

impl From<StoredExactEvidence> for ExactEvidence {
    fn from(stored: StoredExactEvidence) -> Self {
        let StoredExactEvidence { quadratic_form, fitted_square, fitted_form, relative_residual, held_out_error } =
            stored;
        Self { quadratic_form, fitted_square, fitted_form, relative_residual, held_out_error }
    }
}

impl<'a> From<&'a PoolEvidence> for StoredPoolEvidence<'a> {
    fn from(pool: &'a PoolEvidence) -> Self {
        Self {
            candidate_count: pool.candidate_count,
            row_count: pool.row_count,
            spectrum: (&pool.spectrum).into(),
            kernel_deviation: pool.kernel_deviation,
            largest_leverages: (&pool.largest_leverages).into(),
        }
    }
}

impl From<StoredPoolEvidence<'_>> for PoolEvidence {
    fn from(stored: StoredPoolEvidence) -> Self {
        Self {
            candidate_count: stored.candidate_count,
            row_count: stored.row_count,
            spectrum: stored.spectrum.into_owned(),
            kernel_deviation: stored.kernel_deviation,
            largest_leverages: stored.largest_leverages.into_owned(),
        }
    }
}

impl<'a> From<&'a CertificateEvidence> for StoredCertificateEvidence<'a> {
    fn from(certificate: &'a CertificateEvidence) -> Self {
        Self {
            differences: (&certificate.differences).into(),
            clipped_mean_square: certificate.clipped_mean_square,
            clipped_square_variance: certificate.clipped_square_variance,
            clip_width: certificate.clip_width,
            solver_slack: certificate.solver_slack,
        }
    }
}

impl From<StoredCertificateEvidence<'_>> for CertificateEvidence {
    fn from(stored: StoredCertificateEvidence) -> Self {
        Self {
            differences: stored.differences.into_owned(),
            clipped_mean_square: stored.clipped_mean_square,
            clipped_square_variance: stored.clipped_square_variance,
            clip_width: stored.clip_width,
            solver_slack: stored.solver_slack,
            detail: None,
        }
    }
}

impl From<&Measured> for StoredMeasured {
    fn from(measured: &Measured) -> Self {
        Self { exact_krr_error: measured.exact_krr_error, exact_krr: measured.exact_krr.as_ref().map(Into::into) }
    }
}

impl From<StoredMeasured> for Measured {
    fn from(stored: StoredMeasured) -> Self {
        Self {
            exact_krr_error: stored.exact_krr_error,
            training_error: None,
            exact_score: None,
            exact_krr: stored.exact_krr.map(Into::into),
        }
    }
}
