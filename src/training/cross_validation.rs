//! Cross-validation: the same training on all folds but one, tested on that one.

use super::assess::errors::errors;
use super::assess::scored_function::ScoredFunction;
use super::rows::parted_rows::PartedRows;
use super::rows::parting::SplitKeys;
use super::rows::run::Run;
use super::stage::{Clock, Observer, Stage, TrainError};
use super::train::{Repetitions, Resources, train_on};
use super::{LambdaRule, TrainSpec};
use crate::dataset::{Part, Rows, Schema, Task};
use crate::model::{CrossValidation, FittedModel, Fold};

/// Trains and tests once for each fold, if the spec asks for it. A row is never among those that its own prediction was
/// fitted, scaled or searched on.
pub(super) fn cross_validate(
    rows: &dyn Rows,
    schema: &Schema,
    spec: &TrainSpec,
    keys: &SplitKeys,
    resources: Resources,
    observer: &dyn Observer,
) -> Result<Option<CrossValidation>, TrainError> {
    let Some(count) = spec.cross_validation else { return Ok(None) };
    let fold_of = keys.folds(count, spec.seed)?;
    let spec = &of_a_fold(spec, schema.task);
    let first = u32::from(keys.is_chained());
    let mut folds = Vec::with_capacity(count);
    for number in 0..count {
        observer.progress(Stage::CrossValidate, number as f64 / count as f64);
        let tested = number as u32 + first;
        let later = |row: usize| keys.is_chained() && fold_of[row].is_some_and(|fold| fold > tested);
        let is_test = |row: usize| fold_of[row] == Some(tested);
        let left = keys.without(|row| is_test(row) || later(row));
        let mut parts = left.parts(spec.held_out(schema.task), spec.seed)?;
        for (row, part) in parts.iter_mut().enumerate().filter(|(row, _)| is_test(*row) || later(*row)) {
            debug_assert!(*part == Part::Unlabelled, "row {row} was split");
            *part = Part::Ignored; // rows without a target take part in scaling
        }
        left.check_labels(rows, (schema, spec), &parts)?;
        let within = Within { observer, stage: Stage::CrossValidate, start: number as f64 / count as f64 };
        let training = PartedRows::new(rows, spec.roles(schema), parts);
        let training = Run::new(training, resources.threads, &within);
        let model = train_on(training, (schema, ""), spec, Repetitions::default(), resources, Clock::start())?.model;
        let tests = |row| if is_test(row) { Part::Validation } else { Part::Ignored };
        let tests = (0..rows.row_count()).map(tests).collect();
        let rows = PartedRows::new(rows, spec.roles(schema), tests);
        folds.push(test(rows, &model, resources.threads, &within)?);
    }
    observer.progress(Stage::CrossValidate, 1.0);
    Ok(Some(CrossValidation { folds }))
}

/// The spec of the training on all folds but one. Validation rows are held out only where λ is searched on them.
fn of_a_fold(spec: &TrainSpec, task: Task) -> TrainSpec {
    let searched = spec.learner_for(task).loss().is_some() && spec.lambda == LambdaRule::Search;
    TrainSpec {
        validation_fraction: if searched { spec.validation_fraction } else { 0.0 },
        calibration_fraction: Some(match task {
            Task::Regression => 0.0,
            Task::Classification => spec.held_out(task).calibration,
        }),
        ..spec.of_a_repetition()
    }
}

/// The errors of a model on the validation rows, which it has not seen.
fn test(rows: PartedRows, model: &FittedModel, threads: usize, observer: &dyn Observer) -> Result<Fold, TrainError> {
    let run = Run::new(rows, threads, observer);
    let function = ScoredFunction::new(model.function());
    let unknown = vec![f64::NAN; model.intercepts.len()]; // of training errors, which are left out
    let scores = errors(&run, &function, &model.head, &unknown)?.scores();
    Ok(Fold { training_rows: model.report.training_rows, test_rows: run.rows.count(Part::Validation), scores })
}

/// One training of several, as part of the whole.
pub(super) struct Within<'a> {
    pub(super) observer: &'a dyn Observer,
    /// The stage that all of them are.
    pub(super) stage: Stage,
    pub(super) start: f64,
}

impl Observer for Within<'_> {
    fn progress(&self, _: Stage, _: f64) {
        self.observer.progress(self.stage, self.start);
    }

    fn should_stop(&self) -> bool {
        self.observer.should_stop()
    }
}
