//! Errors of models that were trained in the same way on other folds of the rows than they were tested on.

use serde_json::{Map, Value, json};

/// What a score measures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Measure {
    /// Mean squared error; with several targets the mean over them.
    Mse,
    /// 1 − MSE/variance.
    R2,
    /// Mean absolute error.
    Mae,
    /// Share of correct labels.
    Accuracy,
    /// Mean recall over the labels that occur.
    BalancedAccuracy,
    /// Mean of −log of the probability of the true label.
    LogLoss,
}

impl Measure {
    /// As in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Mse => "mse",
            Self::R2 => "r2",
            Self::Mae => "mae",
            Self::Accuracy => "accuracy",
            Self::BalancedAccuracy => "balanced_accuracy",
            Self::LogLoss => "log_loss",
        }
    }
}

/// One fold: a model fitted on others and tested on it.
#[derive(Debug, Clone, PartialEq)]
pub struct Fold {
    /// Rows that the model of this fold was fitted on.
    pub training_rows: usize,
    /// Rows of the fold.
    pub test_rows: usize,
    /// None where the rows do not define it.
    pub scores: Vec<(Measure, Option<f64>)>,
}

/// All folds. The final model is none of theirs.
#[derive(Debug, Clone, PartialEq)]
pub struct CrossValidation {
    /// In order; of a split by time, from the earliest to the latest.
    pub folds: Vec<Fold>,
}

impl CrossValidation {
    /// The mean of a score over the folds, and its standard error as if folds were independent; they share training rows, so
    /// that it is an estimate. None unless every fold has the score.
    pub fn mean(&self, measure: Measure) -> Option<(f64, f64)> {
        let score = |fold: &Fold| fold.scores.iter().find(|(own, _)| *own == measure).and_then(|(_, score)| *score);
        let scores: Vec<f64> = self.folds.iter().map(score).collect::<Option<_>>()?;
        let count = scores.len() as f64;
        let mean = scores.iter().sum::<f64>() / count;
        let squares: f64 = scores.iter().map(|score| (score - mean).powi(2)).sum();
        Some((mean, (squares / (count - 1.0) / count).sqrt()))
    }

    /// As reports show it.
    pub fn to_json(&self) -> Value {
        let fold = |fold: &Fold| {
            let mut shown = json!({"training_rows": fold.training_rows, "test_rows": fold.test_rows});
            for (measure, score) in &fold.scores {
                shown[measure.name()] = json!(score);
            }
            shown
        };
        let measures = self.folds.first().map_or(&[][..], |fold| &fold.scores).iter().map(|(measure, _)| *measure);
        let means = measures.map(|measure| {
            let found = self.mean(measure);
            let mean = json!({"mean": found.map(|found| found.0), "standard_error": found.map(|found| found.1)});
            (measure.name().to_owned(), mean)
        });
        json!({
            "folds": self.folds.iter().map(fold).collect::<Vec<_>>(),
            "scores": means.collect::<Map<_, _>>(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_has_the_standard_error_of_its_folds() {
        let fold =
            |mse, r2| Fold { training_rows: 8, test_rows: 2, scores: vec![(Measure::Mse, mse), (Measure::R2, r2)] };
        let folds = vec![fold(Some(1.0), Some(0.5)), fold(Some(2.0), None), fold(Some(6.0), Some(0.1))];
        let found = CrossValidation { folds };
        // 1, 2, 6: mean 3, variance 7, standard error √(7/3).
        let (mean, error) = found.mean(Measure::Mse).unwrap();
        assert!((mean - 3.0).abs() < 1e-12 && (error - (7.0_f64 / 3.0).sqrt()).abs() < 1e-12);
        assert_eq!((found.mean(Measure::R2), found.mean(Measure::Accuracy)), (None, None));
        let shown = found.to_json();
        assert_eq!(shown["folds"][1], json!({"training_rows": 8, "test_rows": 2, "mse": 2.0, "r2": null}));
        assert_eq!(shown["scores"]["r2"], json!({"mean": null, "standard_error": null}));
    }
}
