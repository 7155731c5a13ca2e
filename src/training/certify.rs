//! The exact kernel solution next to the model: what Theorem 1 needs, and the error it speaks of.

use super::cost::BLOCK_ROWS;
use super::fit::Fit;
use super::passes::Run;
use super::rows::RowBlock;
use super::stage::{Stage, TrainError};
use super::{Resources, TrainSpec};
use crate::dataset::Part;
use crate::features::Precision;
use crate::model::{Measured, Predictor, TargetCoding};
use crate::solver::{ExactKrr, ExactProblem, FeatureSource};
use crate::theory::wang::Evidence;
use ndarray::{Array2, ArrayView1, ArrayView2, Axis};

/// Before anything was measured.
pub(super) const NOTHING_MEASURED: Measured = Measured { exact_krr_error: None, exact_krr_relative_residual: None };

/// Residual that the exact system is solved to.
const EXACT_TOLERANCE: f64 = 1e-8;

/// What the exact solution tells.
pub(super) struct Exact {
    pub(super) quadratic_form: f64,
    pub(super) measured: Measured,
}

/// What is known for the bounds without an exact solution.
pub(super) fn evidence(spec: &TrainSpec, sample_count: usize, fit: &Fit, rows_weighted: bool) -> Option<Evidence> {
    let target_mean_square = fit.target_mean_square?;
    Some(Evidence {
        sample_count,
        feature_count: spec.feature_count,
        draw_count: spec.feature_count / spec.map.columns_per_draw(),
        feature_bound: spec.map.bound(spec.kernel),
        draws_independent: spec.sampling.draws_are_independent(),
        unbiased: spec.sampling.is_unbiased(),
        ridge: fit.lambda,
        target_count: fit.intercepts.len(),
        target_mean_square,
        quadratic_form: None,
        kernel_fixed_in_advance: spec.is_fixed_in_advance(),
        rows_weighted,
    })
}

/// Solves the exact kernel system where the training rows are few enough and count the same.
pub(super) fn certify(
    run: &Run,
    predictor: &Predictor,
    coding: &TargetCoding,
    spec: &TrainSpec,
    resources: Resources,
) -> Result<Option<Exact>, TrainError> {
    let model = predictor.model();
    let comparable = model.evidence.as_ref().is_some_and(|evidence| !evidence.rows_weighted);
    if model.report.training_rows > spec.guarantees.exact_rows || !comparable {
        return Ok(None);
    }
    run.observer.progress(Stage::Certify, 0.0);
    let (inputs, targets) = run.collect(&run.all_blocks(), &model.inputs, Part::Training)?;
    let centred = coding.in_own_units(targets) - row_of(&model.intercepts);
    let lambda = model.report.lambda;
    let projector = model.map.projector::<f32>();
    let make = |inputs: ArrayView2<f64>| projector.transform(inputs);
    let problem = ExactProblem {
        kernel: model.map.kernel,
        inputs: inputs.view(),
        targets: centred.view(),
        ridge: lambda,
        tolerance: EXACT_TOLERANCE,
        features: Some(&FeatureSource { count: model.weights.nrows(), make: &make }),
        precision: Precision::Mixed,
        preconditioner: None,
        memory: resources.cache_bytes,
        threads: run.threads,
    };
    // α = (y − f)/(nλ) for the exact f: the model's own is close.
    let start = (&centred - &fitted(&make, inputs.view(), &model.weights)) / (inputs.nrows() as f64 * lambda);
    let exact = problem.solve(Some(start), &|| !run.observer.should_stop())?;
    run.observer.progress(Stage::Certify, 0.9);
    Ok(Some(Exact {
        quadratic_form: exact.quadratic_form,
        measured: Measured {
            exact_krr_error: run.distance_to(&exact, predictor)?,
            exact_krr_relative_residual: Some(exact.evidence.relative_residual),
        },
    }))
}

/// Ψw of many rows, a block at a time.
fn fitted(
    make: &dyn Fn(ArrayView2<f64>) -> Array2<f32>,
    inputs: ArrayView2<f64>,
    weights: &Array2<f64>,
) -> Array2<f64> {
    let mut fitted = Array2::zeros((inputs.nrows(), weights.ncols()));
    for (inputs, mut fitted) in
        inputs.axis_chunks_iter(Axis(0), BLOCK_ROWS).zip(fitted.axis_chunks_iter_mut(Axis(0), BLOCK_ROWS))
    {
        fitted.assign(&make(inputs).mapv(f64::from).dot(weights));
    }
    fitted
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
