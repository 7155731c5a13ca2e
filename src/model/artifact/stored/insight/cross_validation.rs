//! Errors over folds.

use crate::model::{CrossValidation, Fold, LearningCurve, Measure};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
pub(in crate::model::artifact) struct StoredCrossValidation {
    folds: Vec<StoredFold>,
}

#[derive(Serialize, Deserialize)]
struct StoredFold {
    training_rows: usize,
    test_rows: usize,
    scores: Vec<(StoredMeasure, Option<f64>)>,
}

#[derive(Serialize, Deserialize)]
enum StoredMeasure {
    Mse,
    R2,
    Mae,
    Accuracy,
    BalancedAccuracy,
    LogLoss,
}

impl From<&CrossValidation> for StoredCrossValidation {
    fn from(found: &CrossValidation) -> Self {
        let fold = |fold: &Fold| StoredFold {
            training_rows: fold.training_rows,
            test_rows: fold.test_rows,
            scores: fold.scores.iter().map(|(measure, score)| ((*measure).into(), *score)).collect(),
        };
        Self { folds: found.folds.iter().map(fold).collect() }
    }
}

impl From<StoredCrossValidation> for CrossValidation {
    fn from(stored: StoredCrossValidation) -> Self {
        let fold = |fold: StoredFold| Fold {
            training_rows: fold.training_rows,
            test_rows: fold.test_rows,
            scores: fold.scores.into_iter().map(|(measure, score)| (measure.into(), score)).collect(),
        };
        Self { folds: stored.folds.into_iter().map(fold).collect() }
    }
}

/// The points of a learning curve are stored as folds are.
impl From<&LearningCurve> for StoredCrossValidation {
    fn from(found: &LearningCurve) -> Self {
        Self::from(&CrossValidation { folds: found.points.clone() })
    }
}

impl From<StoredCrossValidation> for LearningCurve {
    fn from(stored: StoredCrossValidation) -> Self {
        Self { points: CrossValidation::from(stored).folds }
    }
}

impl From<Measure> for StoredMeasure {
    fn from(measure: Measure) -> Self {
        match measure {
            Measure::Mse => Self::Mse,
            Measure::R2 => Self::R2,
            Measure::Mae => Self::Mae,
            Measure::Accuracy => Self::Accuracy,
            Measure::BalancedAccuracy => Self::BalancedAccuracy,
            Measure::LogLoss => Self::LogLoss,
        }
    }
}

impl From<StoredMeasure> for Measure {
    fn from(stored: StoredMeasure) -> Self {
        match stored {
            StoredMeasure::Mse => Self::Mse,
            StoredMeasure::R2 => Self::R2,
            StoredMeasure::Mae => Self::Mae,
            StoredMeasure::Accuracy => Self::Accuracy,
            StoredMeasure::BalancedAccuracy => Self::BalancedAccuracy,
            StoredMeasure::LogLoss => Self::LogLoss,
        }
    }
}
