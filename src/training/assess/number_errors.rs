//! Errors of predicted numbers.

use crate::model::{NumberErrors, TargetErrors};
use crate::training::rows::whole_passes::TargetMoments;
use ndarray::ArrayView2;

/// Running sums of the prediction errors of each target; weighted rows count by their weight.
pub(crate) struct NumberErrorSums {
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

impl NumberErrorSums {
    pub(crate) fn new(target_count: usize) -> Self {
        Self { targets: vec![ErrorSums::default(); target_count] }
    }

    /// The sums of rows that count the same, from the moments of their errors.
    pub(crate) fn of_moments(targets: &[TargetMoments]) -> Self {
        let sums = |TargetMoments { errors, values }: &TargetMoments| {
            let weight = errors.count();
            ErrorSums {
                weight,
                square: weight * (errors.variance() + errors.mean() * errors.mean()),
                absolute: weight * errors.mean(),
                mean: values.mean(),
                spread: weight * values.variance(),
            }
        };
        Self { targets: targets.iter().map(sums).collect() }
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

    /// The errors of the named targets and their means, next to the errors on the training rows.
    pub(crate) fn errors(&self, names: &[String], training_mse: &[f64]) -> NumberErrors {
        let named = names.iter().zip(training_mse).zip(&self.targets);
        let targets: Vec<TargetErrors> = named.map(|((name, mse), sums)| sums.errors(name, *mse)).collect();
        let mean = |value: fn(&TargetErrors) -> Option<f64>| {
            let values: Option<Vec<f64>> = targets.iter().map(value).collect();
            values.map(|values| values.iter().sum::<f64>() / values.len() as f64)
        };
        NumberErrors {
            training_mse: training_mse.iter().sum::<f64>() / training_mse.len() as f64,
            validation_mse: mean(|target| target.validation_mse),
            validation_r2: mean(|target| target.validation_r2),
            validation_mae: mean(|target| target.validation_mae),
            targets,
        }
    }
}

impl ErrorSums {
    fn errors(&self, name: &str, training_mse: f64) -> TargetErrors {
        let seen = self.weight > 0.0;
        TargetErrors {
            name: name.to_owned(),
            training_mse,
            validation_mse: seen.then(|| self.square / self.weight),
            validation_r2: (self.spread > 0.0).then(|| 1.0 - self.square / self.spread),
            validation_mae: seen.then(|| self.absolute / self.weight),
        }
    }

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
