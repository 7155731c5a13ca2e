//! Classifiers with a convex loss: the solver at one λ, or a search over λ by validation loss.

use super::feature_cache::FeatureCache;
use super::lambda_choice::LambdaChoice;
use super::{Fit, Learned};
use crate::dataset::Part;
use crate::features::{FeatureMap, Precision, Wave};
use crate::model::{ClassifierReport, InputPipeline, Labels, LossPoint};
use crate::solver::{
    ClassifierError, ClassifierSettings, ClassifierSolution, ClassifierWeights, FeatureBlocks, Loss, solve_classifier,
};
use crate::training::Resources;
use crate::training::rows::classes::{Classes, check_total_weight};
use crate::training::rows::run::Run;
use crate::training::stage::{Clock, Stage, TrainError};
use ndarray::{Array2, ArrayView1, Axis};

/// Accuracy of the objective, relative: of the final fit, and of the tries of a search.
const TOLERANCE: f64 = 1e-5;
const SEARCH_TOLERANCE: f64 = 1e-3;

/// Passes after which the best so far is taken and reported as not converged: of the final fit, and of the tries
/// of a search, where a solution that is slow to reach is no better on unseen rows.
const PASS_LIMIT: usize = 1_000;
const SEARCH_PASS_LIMIT: usize = 100;

/// Below this λ, relative to the bound of the features, f32 features are too coarse.
const SMALLEST_MIXED_RATIO: f64 = 1e-9;

/// What a classifier is fitted on.
pub(crate) struct Classification<'a> {
    pub(crate) run: &'a Run<'a>,
    pub(crate) inputs: &'a InputPipeline,
    pub(crate) map: FeatureMap,
    pub(crate) labels: &'a Labels,
    pub(crate) loss: Loss,
    /// Of the training rows, with class weights.
    pub(crate) classes: &'a Classes,
    pub(crate) resources: Resources,
}

impl Classification<'_> {
    /// Fits at the λ that was chosen.
    pub(crate) fn fit(self, choice: LambdaChoice, clock: &mut Clock) -> Result<Fit, TrainError> {
        let smallest = SMALLEST_MIXED_RATIO * self.map.bound().unwrap_or(f64::INFINITY);
        if choice.lambda < smallest {
            self.fit_in::<f64>(choice, Precision::Double, clock)
        } else {
            self.fit_in::<f32>(choice, Precision::Mixed, clock)
        }
    }

    fn fit_in<T: Wave>(self, choice: LambdaChoice, precision: Precision, clock: &mut Clock) -> Result<Fit, TrainError> {
        let training =
            FeatureCache::<T>::new(self.run, Part::Training, self.inputs, &self.map, self.resources.cache_bytes);
        let LambdaChoice { lambda, best_is_smallest, losses, .. } = choice;
        self.run.tick(Stage::Solve, 0.0)?;
        let solution = self.solve(&training, lambda, (TOLERANCE, PASS_LIMIT), None)?;
        clock.lap(Stage::Solve);
        drop(training);
        Ok(Fit {
            map: self.map,
            weights: solution.function.weights,
            intercepts: solution.function.intercepts.to_vec(),
            lambda,
            precision,
            best_is_smallest,
            learned: Learned::Classifier(ClassifierReport { evidence: solution.evidence, lambda_path: losses }),
        })
    }

    fn solve<T: Wave>(
        &self,
        training: &FeatureCache<T>,
        ridge: f64,
        (tolerance, pass_limit): (f64, usize),
        start: Option<&ClassifierWeights>,
    ) -> Result<ClassifierSolution, TrainError> {
        let settings = ClassifierSettings {
            loss: self.loss,
            ridge,
            tolerance,
            pass_limit,
            preconditioner_rows: None,
            threads: self.resources.threads,
        };
        solve_classifier(training, self.classes.rows(), &settings, start).map_err(|error| match error {
            ClassifierError::Interrupted(interrupted) => interrupted.into(),
            ClassifierError::Factor(error) => TrainError::Solve(error.into()),
        })
    }

    /// The λ with the smallest loss on the validation rows: down from 0.1 in tenths, each started from the
    /// one before, until the loss rises; then once more between the best and its neighbours.
    pub(crate) fn search(&self) -> Result<LambdaChoice, TrainError> {
        const LARGEST: i32 = -1;
        const SMALLEST: i32 = -9;
        let training =
            &FeatureCache::<f32>::new(self.run, Part::Training, self.inputs, &self.map, self.resources.cache_bytes);
        let left = self.resources.cache_bytes.saturating_sub(training.cached_bytes());
        let validation = FeatureCache::<f32>::new(self.run, Part::Validation, self.inputs, &self.map, left);
        let mut classes = Classes::of(self.run, Part::Validation, self.classes.class_count)?;
        check_total_weight(classes.weights.iter().sum(), "validation")?;
        classes.weigh(&self.labels.log_weights.iter().map(|weight| weight.exp()).collect::<Vec<_>>());

        let mut tried: Vec<(LossPoint, ClassifierWeights)> = Vec::new();
        for exponent in (SMALLEST..=LARGEST).rev() {
            let start = tried.last().map(|(_, weights)| weights);
            let next = self.try_lambda(training, &validation, &classes, 10_f64.powi(exponent), start)?;
            let best = tried.iter().map(|(point, _)| point.validation_loss).fold(f64::INFINITY, f64::min);
            let rises = next.0.validation_loss >= best;
            tried.push(next);
            self.run.tick(Stage::Search, f64::from(LARGEST - exponent) / f64::from(LARGEST - SMALLEST + 1))?;
            if rises {
                break;
            }
        }
        let best = best_of(&tried);
        let (centre, start) = (tried[best].0.lambda, tried[best].1.clone());
        for factor in [10_f64.sqrt(), 10_f64.sqrt().recip()] {
            tried.push(self.try_lambda(training, &validation, &classes, centre * factor, Some(&start))?);
        }
        let best = best_of(&tried);
        let lambda = tried[best].0.lambda;
        let mut path: Vec<LossPoint> = tried.into_iter().map(|(point, _)| point).collect();
        path.sort_by(|left, right| f64::total_cmp(&right.lambda, &left.lambda));
        Ok(LambdaChoice::by_loss(lambda, path))
    }

    fn try_lambda<T: Wave>(
        &self,
        training: &FeatureCache<T>,
        validation: &FeatureCache<T>,
        classes: &Classes,
        lambda: f64,
        start: Option<&ClassifierWeights>,
    ) -> Result<(LossPoint, ClassifierWeights), TrainError> {
        let weights = self.solve(training, lambda, (SEARCH_TOLERANCE, SEARCH_PASS_LIMIT), start)?.function;
        let values = decision_values(validation, &weights)?;
        let (mut loss, mut right, mut total) = (0.0, 0.0, 0.0);
        for ((row, &class), weight) in values.rows().into_iter().zip(&classes.of_rows).zip(&classes.weights) {
            loss += weight * loss_of(self.loss, row, class);
            right += if self.labels.decide(&row.to_vec()) == class { *weight } else { 0.0 };
            total += weight;
        }
        let point = LossPoint { lambda, validation_loss: loss / total, validation_accuracy: right / total };
        Ok((point, weights))
    }
}

fn best_of(tried: &[(LossPoint, ClassifierWeights)]) -> usize {
    let loss = |index: &usize| tried[*index].0.validation_loss;
    (0..tried.len()).min_by(|left, right| f64::total_cmp(&loss(left), &loss(right))).unwrap_or(0)
}

/// Wᵀψ + b of every row.
fn decision_values<T: Wave>(source: &FeatureCache<T>, function: &ClassifierWeights) -> Result<Array2<f64>, TrainError> {
    let weights = function.weights.mapv(T::from_f64);
    let mut values = Array2::zeros((0, function.intercepts.len()));
    for block in 0..source.block_count() {
        source.visit(block, &mut |features| {
            let block = features.dot(&weights).mapv(T::to_f64) + function.intercepts.view().insert_axis(Axis(0));
            values.append(Axis(0), block.view()).expect("as many columns");
        })?;
    }
    Ok(values)
}

/// The loss of one row.
fn loss_of(loss: Loss, values: ArrayView1<f64>, class: usize) -> f64 {
    let margins = |loss: fn(f64) -> f64| -> f64 {
        if values.len() == 1 {
            return loss(if class == 1 { values[0] } else { -values[0] });
        }
        values.iter().enumerate().map(|(label, value)| loss(if label == class { *value } else { -value })).sum()
    };
    match loss {
        Loss::Hinge => margins(|m| (1.0 - m).max(0.0)),
        Loss::SquaredHinge => margins(|m| (1.0 - m).max(0.0).powi(2)),
        Loss::Logistic if values.len() == 1 => margins(|m| (-m).max(0.0) + (-m.abs()).exp().ln_1p()),
        Loss::Logistic => {
            let largest = values.fold(f64::NEG_INFINITY, |most, value| most.max(*value));
            let total: f64 = values.iter().map(|value| (value - largest).exp()).sum();
            largest + total.ln() - values[class]
        }
    }
}
