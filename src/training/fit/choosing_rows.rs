//! The rows that choose scaling, kernel and λ: those that were kept apart for it, otherwise the training rows.

use super::classifier::Classification;
use super::kernel_choice::KernelChoice;
use super::lambda_choice::LambdaChoice;
use super::predicted_targets::PredictedTargets;
use super::search::CodedRows;
use crate::dataset::{ColumnMoments, Encoding, Part, Schema};
use crate::features::FeatureMap;
use crate::model::InputPipeline;
use crate::training::rows::run::Run;
use crate::training::stage::TrainError;
use crate::training::{Learner, Resources, TrainSpec};

/// Rows with what was found of their columns and targets.
pub(crate) struct ChoosingRows<'a> {
    pub(crate) run: Run<'a>,
    /// Of the inputs over these rows.
    pub(crate) moments: Vec<ColumnMoments>,
    /// The same with the rows that have no target: what inputs are scaled and filled in by.
    seen: Vec<ColumnMoments>,
    pub(crate) targets: PredictedTargets,
}

impl<'a> ChoosingRows<'a> {
    /// The training rows of a run, called `name` in refusals.
    pub(crate) fn of(
        run: Run<'a>,
        (schema, encoding): (&Schema, &Encoding),
        spec: &TrainSpec,
        name: &str,
    ) -> Result<Self, TrainError> {
        let (moments, targets) = run.moments(encoding, Part::Training)?;
        let seen = run.with_unlabelled(encoding, &moments)?;
        check_learnable(&run, (schema, encoding), (&moments, &seen, &targets), name)?;
        let targets = PredictedTargets::of(schema, &targets, &run, spec.class_weight)?;
        let run = run.weighing(targets.class_weights.clone());
        Ok(Self { run, moments, seen, targets })
    }

    /// The design rows of a run, if there are any.
    pub(crate) fn design(
        run: &Run<'a>,
        (schema, encoding): (&Schema, &Encoding),
        spec: &TrainSpec,
    ) -> Result<Option<Self>, TrainError> {
        if run.rows.count(Part::Design) == 0 {
            return Ok(None);
        }
        // A classifier's λ is that of the smallest loss on rows that were not fitted.
        let validated = spec.learner_for(schema.task).loss().is_some();
        let rows = run.rows.design(validated);
        let run = Run::new(rows, run.threads, run.observer);
        Self::of(run, (schema, encoding), spec, "design").map(Some)
    }

    /// Of the inputs over these rows and those without a target.
    pub(super) fn seen(&self) -> &[ColumnMoments] {
        &self.seen
    }

    /// Scaling and kernel.
    pub(crate) fn choose_kernel(&self, encoding: &Encoding, spec: &TrainSpec) -> Result<KernelChoice, TrainError> {
        KernelChoice::make(&self.run, encoding, &self.seen, &self.targets.coding, spec)
    }

    /// λ for a fit of `training_rows`: given, or searched for on the features of `map`; `found` is that of a sample.
    pub(crate) fn choose_lambda(
        &self,
        (inputs, map, found): (&InputPipeline, FeatureMap, Option<f64>),
        (spec, learner): (&TrainSpec, Learner),
        training_rows: usize,
        resources: Resources,
    ) -> Result<LambdaChoice, TrainError> {
        if let Some(lambda) = spec.resolve_lambda(training_rows) {
            return Ok(LambdaChoice::given(lambda));
        }
        let PredictedTargets { head, coding, classes, .. } = &self.targets;
        match (learner.loss(), classes, head.labels()) {
            (Some(loss), Some(classes), Some(labels)) => {
                Classification { run: &self.run, inputs, map, labels, loss, classes, resources }.search()
            }
            _ => LambdaChoice::by_leave_one_out(&CodedRows { run: &self.run, inputs, coding }, spec, map, found),
        }
    }
}

/// Refuses rows that hold nothing to learn.
fn check_learnable(
    run: &Run,
    (schema, encoding): (&Schema, &Encoding),
    (moments, seen, targets): (&[ColumnMoments], &[ColumnMoments], &[ColumnMoments]),
    rows: &str,
) -> Result<(), TrainError> {
    let refuse = |detail: String| Err(TrainError::Data(detail));
    if let Some(input) = seen.iter().position(|moments| !moments.variance().is_finite()) {
        let name = encoding.column_of(input).map_or("?", |column| column.name.as_str());
        return refuse(format!(
            "the values of column '{name}' are so large that their squares overflow; divide them by a constant"
        ));
    }
    let named = || schema.target_columns().map(|column| &column.name).zip(targets);
    if let Some((name, _)) = named().find(|(_, moments)| !moments.variance().is_finite()) {
        return refuse(format!(
            "the values of target '{name}' are so large that their squares overflow; divide them by a constant"
        ));
    }
    let of_design = rows == "design";
    if run.total(Part::Training) < 2 {
        return refuse(if of_design {
            "fewer than two design rows choose scaling, bandwidth and lambda; use a larger design_fraction".into()
        } else {
            "fewer than two rows are left to train on; upload more rows or hold out fewer".into()
        });
    }
    let remedy = |other: &str| if of_design { "use a larger design_fraction".to_owned() } else { other.to_owned() };
    if moments.iter().all(ColumnMoments::is_constant) {
        let remedy = remedy("upload columns that vary");
        return refuse(format!("no input varies over the {rows} rows; {remedy}"));
    }
    if let Some((name, _)) = named().find(|(_, moments)| moments.is_constant()) {
        let remedy = remedy("choose another target or upload more rows");
        return refuse(format!("the target '{name}' is the same in every {rows} row; {remedy}"));
    }
    Ok(())
}
