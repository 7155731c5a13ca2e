//! The error on held-out rows by the number of training rows: the same training again on fewer of them.

use super::TrainSpec;
use super::cross_validation::Within;
use super::rows::parted_rows::PartedRows;
use super::rows::parting::SplitKeys;
use super::rows::run::Run;
use super::stage::{Clock, Observer, Stage, TrainError};
use super::train::{Repetitions, Resources, train_on};
use crate::dataset::{Part, Rows, Schema, thin};
use crate::model::{Fold, LearningCurve};

/// Shares of the training rows, beside all of them: together about one more training.
const SHARES: [f64; 4] = [1.0 / 16.0, 1.0 / 8.0, 1.0 / 4.0, 1.0 / 2.0];

/// Fewer training rows are not tried.
const FEWEST_ROWS: usize = 20;

/// Trains on shares of the training rows, if the spec asks for it, and tests on the validation rows of the model. Every
/// share is one random draw, of each label as many. Kernel and λ are chosen again unless the spec gives them.
pub(super) fn learning_curve(
    rows: &dyn Rows,
    schema: &Schema,
    spec: &TrainSpec,
    (keys, parts): (&SplitKeys, &[Part]),
    resources: Resources,
    observer: &dyn Observer,
) -> Result<Option<LearningCurve>, TrainError> {
    if !spec.learning_curve {
        return Ok(None);
    }
    let spec = &spec.of_a_repetition();
    let groups: Vec<Option<u32>> = match keys {
        SplitKeys::Classes(classes) => {
            classes.iter().zip(parts).map(|(class, part)| class.filter(|_| fits(*part))).collect()
        }
        SplitKeys::Values { .. } => parts.iter().map(|part| fits(*part).then_some(0)).collect(),
    };
    let mut points = Vec::new();
    for (number, share) in SHARES.into_iter().enumerate() {
        let within = Within { observer, stage: Stage::LearningCurve, start: number as f64 / SHARES.len() as f64 };
        within.progress(Stage::LearningCurve, 0.0);
        let kept = thin(&groups, share, spec.seed);
        if kept.iter().filter(|kept| **kept).count() < FEWEST_ROWS {
            continue;
        }
        let part = |(part, kept): (&Part, bool)| if fits(*part) && !kept { Part::Ignored } else { *part };
        let fewer = PartedRows::new(rows, spec.roles(schema), parts.iter().zip(kept).map(part).collect());
        let fewer = Run::new(fewer, resources.threads, &within);
        match train_on(fewer, (schema, ""), spec, Repetitions::default(), resources, Clock::start()) {
            Ok(trained) => points.push(Fold {
                training_rows: trained.model.report.training_rows,
                test_rows: trained.model.report.validation_rows,
                scores: trained.model.report.errors.scores(),
            }),
            // So few rows may hold nothing to learn, where all of them do.
            Err(TrainError::Data(_) | TrainError::Solve(_)) => {}
            Err(error) => return Err(error),
        }
    }
    observer.progress(Stage::LearningCurve, 1.0);
    Ok(Some(LearningCurve { points }))
}

fn fits(part: Part) -> bool {
    part == Part::Training
}
