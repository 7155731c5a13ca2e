//! What a fit alone tells for the guarantees.

use crate::features::{FeatureMap, MapKind};
use crate::theory::{ErrorEstimates, Evidence, LossKind, PoolEvidence, SamplingKind, ScoreUnit};
use crate::training::TrainSpec;
use crate::training::fit::ridge::Fit;

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

/// Before anything was measured; what the model as a whole tells is left to it.
pub(crate) fn evidence(
    spec: &TrainSpec,
    loss: LossKind,
    sample_count: usize,
    (map, fit): (&FeatureMap, &Fit),
    rows_weighted: bool,
) -> Evidence {
    Evidence {
        sample_count,
        feature_count: map.feature_count(),
        draw_count: map.draw_count(),
        feature_bound: map.kind.bound(map.kernel.shape()),
        sign_features: map.kind == MapKind::Sign,
        sampling: match map.kind {
            MapKind::Points => SamplingKind::NoFeatures,
            MapKind::Pair | MapKind::Phase | MapKind::Sign | MapKind::Spline | MapKind::Linear => {
                SamplingKind::DataIndependent
            }
        },
        draws_independent: spec.sampling.draws_are_independent(),
        unbiased: spec.sampling.is_unbiased(),
        kernel_fixed_in_advance: spec.is_fixed_in_advance(),
        rows_weighted,
        loss,
        ridge: fit.lambda,
        target_count: fit.intercepts.len(),
        target_mean_square: fit.target_mean_square,
        weight_norm_square: Some(fit.weights.iter().map(|weight| weight * weight).sum()),
        spectrum: fit.spectrum.clone(),
        spectrum_floor: fit.precision.spectrum_floor(),
        kernel: fit.kernel.clone(),
        exact: fit.exact.clone(),
        pool: fit.leverages.as_ref().map(|leverages| of_own_draws(leverages.clone(), map.draw_count(), sample_count)),
        estimates: ErrorEstimates::default(),
        certificate: None,
        calibration_scores: None,
        score_unit: ScoreUnit::Own,
        predicts_labels: false,
        rows_added: false,
        kernel_diagonal: None,
    }
}
