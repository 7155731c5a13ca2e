//! Errors on validation rows, of numbers and of labels.

use super::label_scores::LabelScores;
use super::number_errors::NumberErrorSums;
use super::scored_function::ScoredFunction;
use crate::dataset::Part;
use crate::model::{ClassRowCounts, ErrorReport, Head};
use crate::training::rows::classes::Classes;
use crate::training::rows::parted_rows::RowBlock;
use crate::training::rows::run::Run;
use crate::training::stage::{Stage, TrainError};
use ndarray::ArrayView2;

/// Predicts the validation rows and sums up the errors.
pub(crate) fn errors(
    run: &Run,
    function: &ScoredFunction,
    head: &Head,
    training_mse: &[f64],
) -> Result<ErrorReport, TrainError> {
    let predict = |rows: &[&[f64]]| function.predict(rows);
    match head {
        Head::Labels(labels) => {
            let add = |scores: &mut LabelScores, block: &RowBlock, values: ArrayView2<f64>| {
                for (row, (values, class)) in values.rows().into_iter().zip(block.targets().column(0)).enumerate() {
                    scores.add(*class as usize, values, block.weight(row));
                }
            };
            let scores = run.evaluate(Part::Validation, predict, LabelScores::new(labels), add)?;
            Ok(ErrorReport::Labels(scores.errors(class_rows(run, &labels.labels)?)))
        }
        Head::Numbers { targets } => {
            if let Some(whole) = run.whole {
                let found = whole.errors(function.parts, &|done| run.tick(Stage::Evaluate, done))?;
                return Ok(ErrorReport::Numbers(NumberErrorSums::of_moments(&found).errors(targets, training_mse)));
            }
            let add = |sums: &mut NumberErrorSums, block: &RowBlock, values: ArrayView2<f64>| {
                sums.add(block.targets(), values, block.weights());
            };
            let sums = run.evaluate(Part::Validation, predict, NumberErrorSums::new(targets.len()), add)?;
            Ok(ErrorReport::Numbers(sums.errors(targets, training_mse)))
        }
    }
}

/// Every label with its training and validation rows.
fn class_rows(run: &Run, labels: &[String]) -> Result<Vec<ClassRowCounts>, TrainError> {
    let training = Classes::of(run, Part::Training, labels.len())?.counts();
    let validation = Classes::of(run, Part::Validation, labels.len())?.counts();
    let counts = |(label, (training_rows, validation_rows)): (&String, (usize, usize))| ClassRowCounts {
        label: label.clone(),
        training_rows,
        validation_rows,
    };
    Ok(labels.iter().zip(training.into_iter().zip(validation)).map(counts).collect())
}
