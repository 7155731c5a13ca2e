//! Errors of predicted numbers.

use crate::model::{NumberErrors, TargetErrors};
use ndarray::ArrayView2;

/// Running sums of the prediction errors of each target; weighted rows count by their weight.
pub(crate) struct Errors {
    targets: Vec<ErrorSums>,
}

#[derive(Clone, Default)]
struct ErrorSums {
    weight: f64,
    square: f64,
    absolute: f64,
    mean: f64,
    /// Σ c(y − ȳ)².
    spread: f64,
}

impl Errors {
    pub(crate) fn new(target_count: usize) -> Self {
        Self { targets: vec![ErrorSums::default(); target_count] }
    }

    /// Takes in rows of targets and of predictions for them.
    pub(crate) fn add(&mut self, targets: ArrayView2<f64>, predictions: ArrayView2<f64>, weights: Option<&[f64]>) {
        for (sums, (targets, predictions)) in
            self.targets.iter_mut().zip(targets.columns().into_iter().zip(predictions.columns()))
        {
            for (i, (target, prediction)) in targets.iter().zip(predictions).enumerate() {
                sums.add(*target, *prediction, weights.map_or(1.0, |weights| weights[i]));
            }
        }
    }

    /// Writes the errors of all targets, and their means, into those of a report.
    pub(crate) fn write(&self, errors: &mut NumberErrors) {
        for (target, sums) in errors.targets.iter_mut().zip(&self.targets).filter(|(_, sums)| sums.weight > 0.0) {
            target.validation_mse = Some(sums.square / sums.weight);
            target.validation_mae = Some(sums.absolute / sums.weight);
            target.validation_r2 = (sums.spread > 0.0).then(|| 1.0 - sums.square / sums.spread);
        }
        let mean = |value: fn(&TargetErrors) -> Option<f64>| {
            let values: Option<Vec<f64>> = errors.targets.iter().map(value).collect();
            values.map(|values| values.iter().sum::<f64>() / values.len() as f64)
        };
        let (mse, mae) = (mean(|target| target.validation_mse), mean(|target| target.validation_mae));
        let r2 = mean(|target| target.validation_r2);
        (errors.validation_mse, errors.validation_mae, errors.validation_r2) = (mse, mae, r2);
    }
}

impl ErrorSums {
    fn add(&mut self, target: f64, prediction: f64, weight: f64) {
        if weight == 0.0 {
            return;
        }
        let error = target - prediction;
        self.square += weight * error * error;
        self.absolute += weight * error.abs();
        self.weight += weight;
        let step = target - self.mean;
        self.mean += step * weight / self.weight;
        self.spread += weight * step * (target - self.mean);
    }
}
