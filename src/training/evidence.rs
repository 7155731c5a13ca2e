//! What a fit alone tells for the guarantees.

use super::TrainSpec;
use super::fit::Fit;
use crate::features::MapKind;
use crate::theory::{ErrorEstimates, Evidence, LossKind, SamplingKind};

/// Before anything was measured.
pub(super) fn evidence(
    spec: &TrainSpec,
    loss: LossKind,
    sample_count: usize,
    fit: &Fit,
    rows_weighted: bool,
) -> Evidence {
    Evidence {
        sample_count,
        feature_count: spec.feature_count,
        draw_count: spec.feature_count / spec.map.columns_per_draw(),
        feature_bound: spec.map.bound(spec.kernel),
        sign_features: spec.map == MapKind::Sign,
        sampling: SamplingKind::DataIndependent,
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
        kernel: None,
        exact: None,
        pool: None,
        estimates: ErrorEstimates::default(),
        certificate: None,
        calibration_scores: None,
    }
}
