//! Errors on held-out rows, of numbers and of labels.

use super::label_scores::LabelScores;
use super::number_errors::Errors;
use crate::dataset::Part;
use crate::model::{ClassRowCounts, ErrorReport, Head, LabelErrors, NumberErrors, Predictor, TargetErrors};
use crate::training::fit::ridge::Fit;
use crate::training::rows::classes::Classes;
use crate::training::rows::parted_rows::RowBlock;
use crate::training::rows::passes::Run;
use crate::training::stage::TrainError;
use ndarray::ArrayView2;

/// What is known before any row was predicted.
pub(crate) fn errors_before(run: &Run, head: &Head, fit: &Fit) -> Result<ErrorReport, TrainError> {
    let labels = match head {
        Head::Labels(labels) => &labels.labels,
        Head::Numbers { targets } => return Ok(ErrorReport::Numbers(number_errors(targets, &fit.training_mse))),
    };
    let training = Classes::of(run, Part::Training, labels.len())?.counts();
    let validation = Classes::of(run, Part::Validation, labels.len())?.counts();
    let counts = |(label, (training_rows, validation_rows)): (&String, (usize, usize))| ClassRowCounts {
        label: label.clone(),
        training_rows,
        validation_rows,
    };
    let classes = labels.iter().zip(training.into_iter().zip(validation)).map(counts).collect();
    Ok(ErrorReport::Labels(LabelErrors::unknown(classes)))
}

fn number_errors(targets: &[String], training_mse: &[f64]) -> NumberErrors {
    let errors = |(name, &training_mse): (&String, &f64)| TargetErrors {
        name: name.clone(),
        training_mse,
        validation_mse: None,
        validation_r2: None,
        validation_mae: None,
    };
    NumberErrors {
        training_mse: training_mse.iter().sum::<f64>() / training_mse.len() as f64,
        validation_mse: None,
        validation_r2: None,
        validation_mae: None,
        targets: targets.iter().zip(training_mse).map(errors).collect(),
    }
}

/// Predicts the validation rows and writes the errors into the report.
pub(crate) fn evaluate(run: &Run, predictor: Predictor) -> Result<Predictor, TrainError> {
    let head = predictor.model().head.clone();
    let mut errors = predictor.model().report.errors.clone();
    match (&head, &mut errors) {
        (Head::Labels(labels), ErrorReport::Labels(errors)) => {
            let add = |scores: &mut LabelScores, block: &RowBlock, values: ArrayView2<f64>| {
                for (row, (values, class)) in values.rows().into_iter().zip(block.targets().column(0)).enumerate() {
                    scores.add(*class as usize, values, block.weight(row));
                }
            };
            run.evaluate(&predictor, Part::Validation, LabelScores::new(labels), add)?.write(errors);
        }
        (_, ErrorReport::Numbers(errors)) => {
            let add = |sums: &mut Errors, block: &RowBlock, values: ArrayView2<f64>| {
                sums.add(block.targets(), values, block.weights());
            };
            run.evaluate(&predictor, Part::Validation, Errors::new(head.output_count()), add)?.write(errors);
        }
        (Head::Numbers { .. }, ErrorReport::Labels(_)) => {}
    }
    let mut model = predictor.into_model();
    model.report.errors = errors;
    Ok(Predictor::new(model))
}
