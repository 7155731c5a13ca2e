//! Rows added to a model from its kept statistics: equal, to rounding, to fitting all rows at once with
//! the same inputs and features.

use super::assess::assessment::Assessment;
use super::assess::evidence::FittedRows;
use super::assess::scored_function::ScoredFunction;
use super::build::{BaseVersion, ModelParts};
use super::fit::ridge::refit;
use super::fit::search::CodedRows;
use super::rows::parted_rows::{PartedRows, groups};
use super::rows::run::Run;
use super::spec::check_dataset::check_weight;
use super::stage::{Clock, Observer, Stage, TrainError, Trained};
use super::train::Repetitions;
use super::{LambdaRule, TrainSpec};
use crate::dataset::{Alignment, Column, ColumnMoments, HeldOut, Part, Rows, Schema, Task, split};
use crate::model::{ColumnRanges, FittedModel, MissingRule};
use crate::theory::Choices;

/// How the columns of a dataset become those of a model; an error lists every reason why they cannot.
pub fn alignment(model: &FittedModel, spec: &TrainSpec, schema: &Schema) -> Result<Alignment, Vec<String>> {
    let inputs = &model.inputs.encoding.columns;
    let alignment = Alignment::new(schema, inputs, model.head.targets(), spec.sample_weight.as_deref())?;
    let mut problems = Vec::new();
    let is_input = |name: &str| inputs.iter().any(|input| input.name == name);
    for column in schema.columns.iter().filter(|column| column.missing > 0) {
        let (name, missing) = (&column.name, column.missing);
        if spec.missing == MissingRule::Refuse && is_input(name) {
            problems.push(format!("column '{name}' has {missing} missing cells and the model was trained with missing 'refuse'; fill them in"));
        }
    }
    if let Some(name) = &spec.sample_weight {
        check_weight(schema, name, &mut |problem| problems.push(problem));
    }
    if problems.is_empty() { Ok(alignment) } else { Err(problems) }
}

/// The sums of an earlier fit do not say which rows are in them, so this cannot be checked.
const NEW_ROWS: &str = "Errors and intervals are measured on rows of this update, and are too small if an earlier version was \
     fitted on some of them: add only new rows.";

/// A new version of `model`, which is version `base_version` and was trained by `spec`, with the rows of
/// a data set added. Scaling, bandwidth and features stay as they are; λ follows the spec at the new
/// number of rows. A share of the added rows is held out, as the spec says, and measures the error and
/// the scores of intervals.
pub fn update(
    model: FittedModel,
    base_version: u32,
    spec: &TrainSpec,
    (rows, schema, dataset): (&dyn Rows, &Schema, &str),
    threads: usize,
    observer: &dyn Observer,
) -> Result<Trained, TrainError> {
    let mut clock = Clock::start();
    observer.progress(Stage::Scale, 0.0);
    let statistics = model.statistics.as_ref();
    let statistics = statistics.ok_or_else(|| {
        TrainError::Data("the model keeps no statistics to add rows to; train it with updatable: true".into())
    })?;
    let spec = &TrainSpec { kernel: model.map.kernel.shape(), ..spec.settled(model.trials.as_ref()) };
    let alignment = alignment(&model, spec, schema).map_err(|problems| TrainError::Data(problems.join("; ")))?;
    let aligned = alignment.read_as(rows);
    let learner = spec.learner_for(Task::Regression);
    // Nothing is left to choose, so no row is kept apart for it.
    let held_out = HeldOut { design: 0.0, ..spec.held_out(Task::Regression) };
    let parts = split(&groups(&aligned, alignment.roles(), false)?, held_out, spec.seed);
    let rows = PartedRows::new(&aligned, alignment.roles().clone(), parts);
    let run = Run::new(rows, threads, observer);
    let (moments, _) = run.moments(&model.inputs.encoding, Part::Training)?;
    clock.lap(Stage::Scale);

    let base_rows = statistics.gram.sample_count();
    let FittedModel { map, inputs, head, precision, .. } = &model;
    let coded = CodedRows { run: &run, inputs, coding: &statistics.coding };
    // A λ that design rows chose stays: they chose it before any row of the fit was seen.
    let kept = (spec.design_fraction > 0.0).then_some(model.report.lambda);
    let given = |rows| spec.resolve_lambda(rows).or(kept);
    let fit = refit(&coded, spec, (map.clone(), *precision), &statistics.gram, given, &mut clock)?;

    // The earlier rows are not at hand, so there is no pool of more draws on all of them.
    let function = ScoredFunction::new(fit.function(inputs));
    let assessment = Assessment::make(&run, &function, (&fit, head.clone()), (spec, learner), None)?;
    clock.lap(Stage::Evaluate);

    // The pool that the features were chosen from has not changed.
    let pool = model.evidence.as_ref().filter(|_| model.selection.is_some()).and_then(|known| known.pool.clone());
    let added_rows = run.rows.count(Part::Training);
    let weighted = spec.sample_weight.is_some();
    let is_input = |column: &&Column| inputs.encoding.columns.iter().any(|input| input.name == column.name);
    let missing_cells: u64 = schema.columns.iter().filter(is_input).map(|column| column.missing).sum();
    let filled_cells = moments.iter().map(ColumnMoments::missing).sum::<u64>() + missing_cells;
    let choices = model.evidence.as_ref().map_or(Choices::FromDraws, |evidence| evidence.choices);
    let choices = choices_after_update(choices, spec.lambda == LambdaRule::Search, filled_cells > 0);
    // The ranges of earlier rows are kept with the model, or not known.
    let added = ColumnRanges::of(&inputs.encoding, &moments);
    let ranges = model.ranges.as_ref().map(|earlier| earlier.with(&added));
    let parts = ModelParts {
        run: &run,
        learner,
        spec: (spec, model.spec.clone()),
        dataset,
        metric: model.metric.clone(),
        learner_choice: model.learner_choice,
        search: model.search.clone(),
        moments: &moments,
        ranges,
        fit,
        fitted: FittedRows { count: base_rows + added_rows, weighted, added: true, choices },
        assessment,
        comparison: None,
        base: Some(BaseVersion { version: base_version, added_rows, design_rows: model.report.design_rows }),
        chosen: (model.selection.clone(), pool),
        trials: model.trials.clone(),
        repetitions: Repetitions::default(),
        warnings: vec![NEW_ROWS.to_owned()],
    };
    Ok(Trained { model: parts.build(inputs.clone()), stage_seconds: clock.laps, candidate_seconds: Vec::new() })
}

/// What kernel and λ were chosen from once rows are added. A λ that is searched for is that of the smallest GCV on the
/// sums of the model's own features; missing cells are filled with means of rows of the first fit.
fn choices_after_update(base: Choices, lambda_searched: bool, filled: bool) -> Choices {
    match base {
        Choices::FromDesignRows => base,
        _ if lambda_searched => Choices::FromDraws,
        Choices::FixedInAdvance if filled => Choices::FromInputs,
        Choices::FromList { .. } if filled => Choices::FromTargets,
        Choices::FixedInAdvance
        | Choices::FromList { .. }
        | Choices::FromInputs
        | Choices::FromTargets
        | Choices::FromDraws => base,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_update_never_makes_a_choice_better_than_it_was() {
        let listed = Choices::FromList { kernels: 81, lambdas: 1 };
        for (base, searched, filled, expected) in [
            (Choices::FromDesignRows, true, true, Choices::FromDesignRows),
            (Choices::FixedInAdvance, false, false, Choices::FixedInAdvance),
            (Choices::FixedInAdvance, true, false, Choices::FromDraws),
            (Choices::FixedInAdvance, false, true, Choices::FromInputs),
            (listed, false, false, listed),
            (listed, false, true, Choices::FromTargets),
            (listed, true, false, Choices::FromDraws),
            (Choices::FromTargets, false, false, Choices::FromTargets),
        ] {
            assert_eq!(choices_after_update(base, searched, filled), expected);
        }
    }
}
