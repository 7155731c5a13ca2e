//! What a fit and its assessment tell for the guarantees.

use super::assessment::Assessment;
use super::comparison::Comparison;
use crate::features::{MapKind, Sampling};
use crate::theory::{
    Choices, ErrorEstimates, Evidence, KernelEvidence, LossKind, PoolEvidence, RowsSplit, SamplingKind, ScoreUnit,
};
use crate::training::fit::{Fit, Learned};
use crate::training::{SplitRule, TrainSpec};

/// What a fit was of.
pub(crate) struct FittedRows {
    /// n, those of earlier versions among them.
    pub(crate) count: usize,
    /// Whether some count more than others.
    pub(crate) weighted: bool,
    /// Whether they were added to an earlier fit.
    pub(crate) added: bool,
    /// What scaling, kernel and λ were chosen from.
    pub(crate) choices: Choices,
}

/// The leverages of the features themselves, (λ, F̂∞), where none were chosen from.
pub(crate) fn of_own_draws(leverages: Vec<(f64, f64)>, draw_count: usize, sample_count: usize) -> PoolEvidence {
    PoolEvidence {
        candidate_count: draw_count,
        row_count: sample_count,
        spectrum: Vec::new(),
        kernel_deviation: None,
        largest_leverages: leverages,
    }
}

/// What the theorems call a sampling.
fn sampling_kind(sampling: Sampling) -> SamplingKind {
    match sampling {
        Sampling::Plain | Sampling::Orthogonal | Sampling::Structured | Sampling::QuasiMonteCarlo => {
            SamplingKind::DataIndependent
        }
        Sampling::Leverage | Sampling::Elss1 => SamplingKind::LeverageWeighted,
        Sampling::Elss2 | Sampling::Capped => SamplingKind::ChosenByInputs,
        Sampling::Eerf | Sampling::Lkrf | Sampling::PooledRidge => SamplingKind::ChosenByTargets,
    }
}

/// Everything the theorems read.
pub(crate) fn evidence(
    spec: &TrainSpec,
    loss: LossKind,
    fit: &Fit,
    rows: &FittedRows,
    assessment: &Assessment,
    comparison: Option<&Comparison>,
) -> Evidence {
    let (map, sample_count) = (&fit.map, rows.count);
    let (exact, kernel) = match &fit.learned {
        Learned::Exact(exact) => {
            let kernel = |dimension| KernelEvidence { dimension, largest: None, spectral_delta: None };
            (Some(exact.evidence.clone()), exact.dimension.map(kernel))
        }
        Learned::Ridge(_) | Learned::Classifier(_) => {
            let compared = |comparison: &Comparison| (comparison.exact.clone(), comparison.kernel.clone());
            comparison.map_or((None, None), compared)
        }
    };
    let pool = |leverages: &Vec<(f64, f64)>| of_own_draws(leverages.clone(), map.draw_count(), sample_count);
    Evidence {
        sample_count,
        feature_count: map.feature_count(),
        draw_count: map.draw_count(),
        feature_bound: map.bound(),
        sign_features: map.kind == MapKind::Sign,
        sampling: match map.kind {
            MapKind::Points => SamplingKind::NoFeatures,
            MapKind::Pair | MapKind::Phase | MapKind::Sign | MapKind::Spline | MapKind::Linear => {
                sampling_kind(spec.sampling)
            }
        },
        draws_independent: spec.sampling.draws_are_independent(),
        unbiased: spec.sampling.is_unbiased(),
        choices: rows.choices,
        rows_weighted: rows.weighted,
        loss,
        ridge: fit.lambda,
        target_count: fit.intercepts.len(),
        target_mean_square: fit.target_mean_square(),
        weight_norm_square: Some(fit.weights.iter().map(|weight| weight * weight).sum()),
        spectrum: fit.ridge().and_then(|ridge| ridge.spectrum.clone()),
        spectrum_floor: fit.precision.spectrum_floor(),
        kernel,
        exact,
        pool: fit.ridge().and_then(|ridge| ridge.leverages.as_ref()).map(pool),
        estimates: ErrorEstimates {
            fresh_features: comparison.and_then(|comparison| comparison.fresh_features),
            ..assessment.estimates.clone()
        },
        certificate: comparison.and_then(|comparison| comparison.certificate.clone()),
        calibration_scores: assessment.scores.as_ref().map(|scores| scores.scores.clone()),
        score_unit: assessment.scores.as_ref().map_or(ScoreUnit::Own, |scores| scores.unit),
        pool_degrees: Vec::new(),
        enough_features: None,
        predicts_labels: assessment.head.labels().is_some(),
        rows_added: rows.added,
        kernel_diagonal: map.kernel.shape().diagonal(),
        rows_split: match spec.split {
            SplitRule::Random => RowsSplit::AtRandom,
            SplitRule::Time { .. } => RowsSplit::ByTime,
            SplitRule::Group { .. } => RowsSplit::ByGroup,
        },
    }
}
