//! The exact kernel method next to the model: what the bounds need of it, and the error they speak of.

use super::fresh_feature_error::fresh_feature_error;
use crate::dataset::Part;
use crate::features::{Kernel, Precision};
use crate::model::{FittedModel, InputPipeline, Measured, Predictor, TargetCoding};
use crate::solver::{self, ExactKrr, ExactProblem, FeatureSource, spectral_delta};
use crate::theory::{
    CertificateEvidence, Estimate, Evidence, ExactEvidence, KernelEvidence, SPECTRAL_ROWS, SamplingKind,
};
use crate::training::Resources;
use crate::training::rows::parted_rows::RowBlock;
use crate::training::rows::passes::Run;
use crate::training::spec::memory::BLOCK_ROWS;
use crate::training::stage::{Stage, TrainError};
use ndarray::{Array2, ArrayView1, ArrayView2, Axis};

/// Before anything was measured.
pub(crate) const NOTHING_MEASURED: Measured = Measured { exact_krr_error: None, exact_krr: None };

/// Residual that the exact system is solved to.
pub(crate) const EXACT_TOLERANCE: f64 = 1e-8;

/// Residual up to which a solution that fell short of that still stands for the exact one.
pub(crate) const TRUSTED_RESIDUAL: f64 = 1e-4;

/// Held-out differences kept at most: a part of exchangeable rows is as good.
const KEPT_DIFFERENCES: usize = 10_000;

/// Solves the exact kernel system where the training rows are at most `exact_rows` and count the same, and notes
/// what that tells.
pub(crate) fn certify(
    run: &Run,
    predictor: Predictor,
    coding: &TargetCoding,
    exact_rows: usize,
    resources: Resources,
) -> Result<FittedModel, TrainError> {
    let of_ridge = |evidence: &Evidence| {
        let of_features = evidence.sampling != SamplingKind::NoFeatures;
        evidence.target_mean_square.is_some() && !evidence.rows_weighted && of_features
    };
    let comparable = predictor.model().evidence.as_ref().is_some_and(of_ridge);
    if predictor.model().report.training_rows > exact_rows || !comparable {
        return Ok(predictor.into_model());
    }
    let mut warnings = Vec::new();
    let compared = compare(run, &predictor, coding, resources, &mut warnings);
    let mut model = predictor.into_model();
    // What no model needs must not cost one: it is kept, and the report says what is missing.
    let found = unless_unsolvable(compared, "there is no comparison with the exact kernel method", &mut warnings)?;
    warnings.retain(|warning| !model.report.warnings.contains(warning));
    model.report.warnings.append(&mut warnings);
    let Some(found) = found else {
        let square = model.evidence.as_ref().and_then(|evidence| evidence.target_mean_square).unwrap_or(0.0);
        let norm = (model.report.training_rows as f64 * square).sqrt();
        model.measured = Measured { exact_krr_error: None, exact_krr: Some(solver::ExactEvidence::of_nothing(norm)) };
        return Ok(model);
    };
    if let Some(evidence) = &mut model.evidence {
        evidence.exact = found.exact;
        evidence.kernel = Some(found.kernel);
        evidence.certificate = found.certificate;
        evidence.estimates.fresh_features = found.fresh_features;
    }
    model.measured = found.measured;
    Ok(model)
}

/// What the exact method next to a model tells.
struct Comparison {
    exact: Option<ExactEvidence>,
    kernel: KernelEvidence,
    certificate: Option<CertificateEvidence>,
    fresh_features: Option<f64>,
    measured: Measured,
}

/// What was found; nothing, and a warning, where the arithmetic does not bear it.
fn unless_unsolvable<T>(
    found: Result<T, TrainError>,
    missing: &str,
    warnings: &mut Vec<String>,
) -> Result<Option<T>, TrainError> {
    match found {
        Ok(found) => Ok(Some(found)),
        Err(TrainError::Solve(cause)) => {
            warnings.push(format!("{missing}: {cause}"));
            Ok(None)
        }
        Err(other) => Err(other),
    }
}

fn compare(
    run: &Run,
    predictor: &Predictor,
    coding: &TargetCoding,
    resources: Resources,
    warnings: &mut Vec<String>,
) -> Result<Comparison, TrainError> {
    run.observer.progress(Stage::Certify, 0.0);
    let model = predictor.model();
    let (inputs, targets) = run.collect(&run.all_blocks(), &model.inputs, Part::Training)?;
    let targets = coding.in_own_units(targets);
    let ranges: Vec<(f64, f64)> = targets.columns().into_iter().map(range).collect();
    let centred = targets - row_of(&model.intercepts);
    let projector = model.map.projector::<f32>();
    let make = |inputs: ArrayView2<f64>| projector.transform(inputs);
    let problem = ExactProblem {
        kernel: model.map.kernel,
        inputs: inputs.view(),
        targets: centred.view(),
        ridge: model.report.lambda,
        tolerance: EXACT_TOLERANCE,
        features: Some(&FeatureSource { count: model.weights.nrows(), make: &make }),
        precision: Precision::Mixed,
        preconditioner: None,
        memory: resources.cache_bytes,
        threads: run.threads,
        progress: None,
    };
    let go_on = || !run.observer.should_stop();
    let part = |from: f64, to: f64| move |done: f64| run.observer.progress(Stage::Certify, from + (to - from) * done);
    // α = (y − f)/(nλ) for the exact f: the model's own is close.
    let shift = inputs.nrows() as f64 * model.report.lambda;
    let start = (&centred - &fitted(&make, inputs.view(), &model.weights)) / shift;
    let exact = ExactProblem { progress: Some(&part(0.0, 0.5)), ..problem }.solve(Some(start), &go_on)?;
    run.tick(Stage::Certify, 0.5)?;
    let dimension = ExactProblem { progress: Some(&part(0.5, 0.7)), ..problem }.dimension(&go_on)?;
    run.tick(Stage::Certify, 0.7)?;
    let fitted_form = ExactProblem { progress: Some(&part(0.7, 0.8)), ..problem }.fitted_form(&exact, &go_on)?;
    run.tick(Stage::Certify, 0.8)?;
    let (near, far) = run.held_out(&exact, predictor)?;
    let differences = &near - &far;
    // A solve that was cut short is not the exact method; the certificate allows for its residual.
    let trusted = exact.evidence.relative_residual <= TRUSTED_RESIDUAL;
    let error = (near.nrows() > 0 && trusted)
        .then(|| differences.iter().map(|gap| gap * gap).sum::<f64>() / near.nrows() as f64);
    let slack = exact.evidence.residual_norm * largest_norm(model.map.kernel, inputs.view()) / shift.sqrt();
    let delta = measured_delta(model, inputs.view(), run.threads);
    let kernel = KernelEvidence {
        dimension: Estimate { value: dimension.value, standard_error: dimension.standard_error },
        largest: None,
        spectral_delta: unless_unsolvable(delta, "there is no spectral distance to the exact kernel", warnings)?,
    };
    let mut gram =
        run.accumulate::<f64>(&run.all_blocks(), &model.inputs, &model.map, coding, |_| run.stop_if_asked())?;
    gram.centre_targets();
    let held_out = run.held_out_inputs(&model.inputs)?;
    let rows = (inputs.view(), centred.view());
    let fresh = fresh_feature_error(model, rows, held_out.view(), &gram.into_normal_equations(), run.threads);
    let fresh = unless_unsolvable(fresh.map_err(TrainError::from), "there is no fresh-feature estimate", warnings)?;
    // √k(x, x) of a new input is that of the training rows, unless it grows with the input.
    let bounded = model.map.kernel != Kernel::Linear;
    let certificate = (bounded && near.nrows() > 1).then(|| certificate(&near, &far, &ranges, slack));

    Ok(Comparison {
        exact: trusted.then_some(ExactEvidence {
            quadratic_form: exact.quadratic_form,
            fitted_square: Some(exact.fitted_square),
            fitted_form: Some(fitted_form),
            relative_residual: exact.evidence.relative_residual,
            held_out_error: error,
        }),
        kernel,
        certificate,
        fresh_features: fresh.flatten(),
        measured: Measured { exact_krr_error: error, exact_krr: Some(exact.evidence) },
    })
}

/// √k(x, x), the same for all x of a stationary kernel.
pub(crate) fn largest_norm(kernel: Kernel, inputs: ArrayView2<f64>) -> f64 {
    inputs.rows().into_iter().map(|row| kernel.evaluate(row, row).sqrt()).fold(0.0, f64::max)
}

/// Δ between the features' kernel and the kernel on a part of the rows.
fn measured_delta(model: &FittedModel, inputs: ArrayView2<f64>, threads: usize) -> Result<f64, TrainError> {
    let count = inputs.nrows().min(SPECTRAL_ROWS);
    let sample: Vec<usize> = (0..count).map(|index| index * inputs.nrows() / count).collect();
    let inputs = inputs.select(Axis(0), &sample);
    let features = model.map.projector::<f64>().transform(inputs.view());
    let shift = count as f64 * model.report.lambda;
    Ok(spectral_delta(model.map.kernel, inputs.view(), features.view(), shift, threads)?)
}

/// The smallest and the largest.
fn range(numbers: ArrayView1<f64>) -> (f64, f64) {
    numbers.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), number| (low.min(*number), high.max(*number)))
}

/// What the certificates read: differences as they are, and squared after clipping to the ranges of the training
/// targets; of several targets the Euclidean norm. Rows from all over the file where there are too many.
fn certificate(near: &Array2<f64>, far: &Array2<f64>, ranges: &[(f64, f64)], solver_slack: f64) -> CertificateEvidence {
    let step = near.nrows().div_ceil(KEPT_DIFFERENCES);
    let kept: Vec<usize> = (0..near.nrows()).step_by(step).collect();
    let square = |row: usize, clip: &dyn Fn(f64, (f64, f64)) -> f64| -> f64 {
        let pairs = near.row(row).into_iter().zip(far.row(row)).zip(ranges);
        pairs.map(|((near, far), range)| (clip(*near, *range) - clip(*far, *range)).powi(2)).sum()
    };
    let mut differences: Vec<f64> = kept.iter().map(|&row| square(row, &|value, _| value).sqrt()).collect();
    differences.sort_by(f64::total_cmp);
    let squares: Vec<f64> = kept.iter().map(|&row| square(row, &|value, (low, high)| value.clamp(low, high))).collect();
    let count = squares.len() as f64;
    let mean = squares.iter().sum::<f64>() / count;
    CertificateEvidence {
        differences,
        clipped_mean_square: mean,
        clipped_square_variance: squares.iter().map(|square| (square - mean).powi(2)).sum::<f64>() / (count - 1.0),
        clip_width: ranges.iter().map(|(low, high)| (high - low).powi(2)).sum::<f64>().sqrt(),
        solver_slack,
    }
}

/// Ψw of many rows, a block at a time.
pub(crate) fn fitted(
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
    /// Inputs of validation rows, as many as a few blocks hold.
    fn held_out_inputs(&self, pipeline: &InputPipeline) -> Result<Array2<f64>, TrainError> {
        Ok(self.collect(&self.sample_blocks(SPECTRAL_ROWS), pipeline, Part::Validation)?.0)
    }

    /// The model's and the exact predictions of the validation rows.
    fn held_out(&self, exact: &ExactKrr, predictor: &Predictor) -> Result<(Array2<f64>, Array2<f64>), TrainError> {
        let model = predictor.model();
        let mut block = RowBlock::default();
        let nothing = Array2::zeros((0, model.intercepts.len()));
        let (mut near, mut far) = (nothing.clone(), nothing);
        for index in 0..self.rows.block_count() {
            self.rows.read(index, Part::Validation, &mut block)?;
            let approximate = predictor.predict(&block.inputs().collect::<Vec<_>>());
            let exact = exact.predict(model.inputs.prepare(block.inputs()).view()) + row_of(&model.intercepts);
            near.append(Axis(0), approximate.view()).expect("as many targets");
            far.append(Axis(0), exact.view()).expect("as many targets");
            self.tick(Stage::Certify, 0.8 + 0.2 * (index + 1) as f64 / self.rows.block_count() as f64)?;
        }
        Ok((near, far))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::array;

    /// Two targets in [0, 2] and [0, 1]: differences (3, 4) and (0, 1), clipped (2, 1) and (0, 1).
    #[test]
    fn differences_of_several_targets_are_euclidean() {
        let (near, far) = (array![[3.0, 4.0], [1.0, 1.0]], array![[0.0, 0.0], [1.0, 0.0]]);
        let found = certificate(&near, &far, &[(0.0, 2.0), (0.0, 1.0)], 0.5);
        assert_eq!(found.differences, [1.0, 5.0]);
        assert_eq!((found.clipped_mean_square, found.clipped_square_variance), (3.0, 8.0));
        assert_eq!((found.clip_width, found.solver_slack), (5.0_f64.sqrt(), 0.5));
    }

    /// Of a file sorted by difference all sizes are kept, not the first rows.
    #[test]
    fn kept_differences_come_from_all_over_the_file() {
        let rows = 3 * KEPT_DIFFERENCES;
        let near = Array2::from_shape_fn((rows, 1), |(row, _)| row as f64);
        let found = certificate(&near, &Array2::zeros((rows, 1)), &[(0.0, 1.0)], 0.0);
        assert_eq!(found.differences.len(), KEPT_DIFFERENCES);
        assert_eq!(found.differences.last(), Some(&((rows - 3) as f64)));
    }
}
