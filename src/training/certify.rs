//! The exact kernel solution next to the model: what Theorem 1 needs, and the error it speaks of.

use super::TrainSpec;
use super::rows::RowBlock;
use super::train::{Run, Stage, TrainError};
use crate::dataset::{Part, ScalingRule};
use crate::features::Bandwidth;
use crate::model::{Measured, Predictor};
use crate::solver::ExactKrr;
use crate::theory::wang::Evidence;
use ndarray::{Array1, Array2, Axis};

/// Before anything was measured.
pub(super) const NOTHING_MEASURED: Measured = Measured { exact_krr_error: None, exact_krr_relative_residual: None };

/// What the exact solution tells.
pub(super) struct Exact {
    pub(super) quadratic_form: f64,
    pub(super) measured: Measured,
}

/// What is known for the bounds without an exact solution.
pub(super) fn evidence(spec: &TrainSpec, sample_count: usize, ridge: f64, target_mean_square: f64) -> Evidence {
    Evidence {
        sample_count,
        feature_count: spec.feature_count,
        draw_count: spec.map.draw_count(spec.feature_count),
        feature_bound: spec.map.bound(),
        ridge,
        target_mean_square,
        quadratic_form: None,
        kernel_fixed_in_advance: matches!(spec.bandwidth, Bandwidth::Fixed(_)) && spec.scaling == ScalingRule::None,
    }
}

/// Solves the exact kernel system where the training rows are few enough.
pub(super) fn certify(run: &Run, predictor: &Predictor, spec: &TrainSpec) -> Result<Option<Exact>, TrainError> {
    let model = predictor.model();
    if model.report.training_rows > spec.guarantees.exact_rows {
        return Ok(None);
    }
    run.observer.progress(Stage::Certify, 0.0);
    let (inputs, targets) = run.collect(predictor, Part::Training)?;
    let centred = targets - model.intercept;
    let exact = ExactKrr::solve(model.kernel, inputs, centred.view(), model.report.lambda)?;
    run.observer.progress(Stage::Certify, 0.9);
    Ok(Some(Exact {
        quadratic_form: exact.quadratic_form,
        measured: Measured {
            exact_krr_error: run.distance_to(&exact, predictor)?,
            exact_krr_relative_residual: Some(exact.relative_residual),
        },
    }))
}

impl Run<'_> {
    /// All scaled inputs and targets of a part, in f64.
    fn collect(&self, predictor: &Predictor, part: Part) -> Result<(Array2<f64>, Array1<f64>), TrainError> {
        let pipeline = &predictor.model().inputs;
        let mut inputs = Array2::zeros((0, pipeline.input_dim()));
        let mut targets = Vec::new();
        let mut block = RowBlock::default();
        for index in 0..self.rows.block_count() {
            self.rows.read(index, part, &mut block)?;
            let prepared = pipeline.prepare::<f64>(block.inputs());
            inputs.append(Axis(0), prepared.view()).map_err(|error| TrainError::Data(error.to_string()))?;
            targets.extend_from_slice(&block.targets);
        }
        Ok((inputs, Array1::from_vec(targets)))
    }

    /// Mean of (f_s − f)² over the validation rows.
    fn distance_to(&self, exact: &ExactKrr, predictor: &Predictor) -> Result<Option<f64>, TrainError> {
        let model = predictor.model();
        let mut block = RowBlock::default();
        let (mut square, mut count) = (0.0, 0);
        for index in 0..self.rows.block_count() {
            self.rows.read(index, Part::Validation, &mut block)?;
            let approximate = predictor.predict(&block.inputs().collect::<Vec<_>>());
            let exact = exact.predict(model.inputs.prepare::<f64>(block.inputs()).view()) + model.intercept;
            square += approximate.iter().zip(&exact).map(|(a, b)| (a - b) * (a - b)).sum::<f64>();
            count += approximate.len();
            self.tick(Stage::Certify, index, 0.9, 1.0)?;
        }
        Ok((count > 0).then(|| square / f64::from(u32::try_from(count).unwrap_or(u32::MAX))))
    }
}
