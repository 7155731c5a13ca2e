//! Errors of models that were trained in the same way on fewer rows.

use super::cross_validation::{Fold, Measure};
use crate::model::{ErrorReport, FittedModel};
use serde_json::{Value, json};

/// What training on shares of the training rows gave, on the validation rows of the model.
#[derive(Debug, Clone, PartialEq)]
pub struct LearningCurve {
    /// From the fewest rows to the most; the model itself is not among them.
    pub points: Vec<Fold>,
}

impl LearningCurve {
    /// As reports show it, with the model itself at the end.
    pub(crate) fn to_json(&self, model: &FittedModel) -> Value {
        let point = |fold: &Fold| {
            let mut shown = json!({"training_rows": fold.training_rows, "validation_rows": fold.test_rows});
            for (measure, score) in &fold.scores {
                shown[measure.name()] = json!(score);
            }
            shown
        };
        let own = Fold {
            training_rows: model.report.training_rows,
            test_rows: model.report.validation_rows,
            scores: model.report.errors.scores(),
        };
        json!({"points": self.points.iter().chain([&own]).map(point).collect::<Vec<_>>()})
    }
}

impl ErrorReport {
    /// The measures by which trainings are compared.
    pub fn scores(&self) -> Vec<(Measure, Option<f64>)> {
        match self {
            Self::Numbers(found) => vec![
                (Measure::Mse, found.validation_mse),
                (Measure::R2, found.validation_r2),
                (Measure::Mae, found.validation_mae),
            ],
            Self::Labels(found) => vec![
                (Measure::Accuracy, found.validation_accuracy),
                (Measure::BalancedAccuracy, found.validation_balanced_accuracy),
                (Measure::LogLoss, found.validation_log_loss),
            ],
        }
    }
}
