//! The exact kernel solution next to the model: what Theorem 1 needs, and the error it speaks of.

use super::TrainSpec;
use super::fit::Fit;
use super::passes::Run;
use super::rows::RowBlock;
use super::stage::{Stage, TrainError};
use crate::dataset::Part;
use crate::features::MapKind;
use crate::model::{Measured, Predictor, TargetCoding};
use crate::solver::ExactKrr;
use crate::theory::{ErrorEstimates, Evidence, ExactEvidence, LossKind, SamplingKind};
use ndarray::{ArrayView1, ArrayView2, Axis};

/// Before anything was measured.
pub(super) const NOTHING_MEASURED: Measured = Measured { exact_krr_error: None, exact_krr_relative_residual: None };

/// What the exact solution tells.
pub(super) struct Exact {
    pub(super) evidence: ExactEvidence,
    pub(super) measured: Measured,
}

/// What a fit alone tells for the guarantees.
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
        spectrum: None,
        kernel: None,
        exact: None,
        pool: None,
        estimates: ErrorEstimates::default(),
        certificate: None,
        calibration_scores: None,
    }
}

/// Solves the exact kernel system where the training rows are few enough and count the same.
pub(super) fn certify(
    run: &Run,
    predictor: &Predictor,
    coding: &TargetCoding,
    spec: &TrainSpec,
) -> Result<Option<Exact>, TrainError> {
    let model = predictor.model();
    let of_ridge = |evidence: &Evidence| evidence.target_mean_square.is_some() && !evidence.rows_weighted;
    let comparable = model.evidence.as_ref().is_some_and(of_ridge);
    if model.report.training_rows > spec.guarantees.exact_rows || !comparable {
        return Ok(None);
    }
    run.observer.progress(Stage::Certify, 0.0);
    let (inputs, targets) = run.collect(&run.all_blocks(), &model.inputs, Part::Training)?;
    let centred = coding.in_own_units(targets) - row_of(&model.intercepts);
    let exact = ExactKrr::solve(model.map.kernel, inputs, centred.view(), model.report.lambda, run.threads)?;
    run.observer.progress(Stage::Certify, 0.9);
    let held_out_error = run.distance_to(&exact, predictor)?;
    Ok(Some(Exact {
        evidence: ExactEvidence {
            quadratic_form: exact.quadratic_form,
            fitted_square: Some(exact.fitted_square),
            fitted_form: None,
            relative_residual: exact.relative_residual,
            held_out_error,
        },
        measured: Measured {
            exact_krr_error: held_out_error,
            exact_krr_relative_residual: Some(exact.relative_residual),
        },
    }))
}

/// Numbers as a matrix of one row.
fn row_of(numbers: &[f64]) -> ArrayView2<'_, f64> {
    ArrayView1::from(numbers).insert_axis(Axis(0))
}

impl Run<'_> {
    /// Mean of (f_s − f)² over the validation rows.
    fn distance_to(&self, exact: &ExactKrr, predictor: &Predictor) -> Result<Option<f64>, TrainError> {
        let model = predictor.model();
        let mut block = RowBlock::default();
        let (mut square, mut count) = (0.0, 0);
        for index in 0..self.rows.block_count() {
            self.rows.read(index, Part::Validation, &mut block)?;
            let approximate = predictor.predict(&block.inputs().collect::<Vec<_>>());
            let exact = exact.predict(model.inputs.prepare(block.inputs()).view()) + row_of(&model.intercepts);
            square += (approximate - exact).mapv(|difference| difference * difference).sum();
            count += block.row_count();
            self.tick(Stage::Certify, 0.9 + 0.1 * (index + 1) as f64 / self.rows.block_count() as f64)?;
        }
        Ok((count > 0).then(|| square / count as f64))
    }
}
