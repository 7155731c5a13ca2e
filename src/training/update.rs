//! Rows added to a model from its kept statistics: equal, to rounding, to fitting all rows at once with
//! the same inputs and features.

use super::TrainSpec;
use super::assess::certify::NOTHING_MEASURED;
use super::assess::conformal_scores::score;
use super::assess::evaluation::evaluate;
use super::assess::feature_jackknife::jackknife;
use super::assess::fit_evidence::evidence;
use super::fit::ridge::refit;
use super::fit::search::FitProblem;
use super::rows::parted_rows::{PartedRows, groups};
use super::rows::passes::Run;
use super::spec::check_dataset::check_weight;
use super::stage::{Clock, Observer, Stage, TrainError, Trained};
use super::train::report;
use crate::dataset::{Alignment, ColumnMoments, Part, Rows, Schema, Task, split};
use crate::model::{FitReport, FittedModel, MissingRule, Predictor};
use crate::theory::LossKind;

/// How the columns of a data set become those of a model; refused with all that stands in the way.
pub fn alignment(model: &FittedModel, spec: &TrainSpec, schema: &Schema) -> Result<Alignment, Vec<String>> {
    let inputs = &model.inputs.encoding.columns;
    let alignment = Alignment::new(schema, inputs, model.head.targets(), spec.sample_weight.as_deref())?;
    let mut problems = Vec::new();
    let is_input = |name: &str| inputs.iter().any(|input| input.name == name);
    for column in schema.columns.iter().filter(|column| column.missing > 0) {
        let (name, missing) = (&column.name, column.missing);
        if spec.missing == MissingRule::Refuse && is_input(name) {
            problems.push(format!("column '{name}' has {missing} missing cells, which the model was told to refuse"));
        }
    }
    if let Some(name) = &spec.sample_weight {
        check_weight(schema, name, &mut |problem| problems.push(problem));
    }
    if problems.is_empty() { Ok(alignment) } else { Err(problems) }
}

/// What nobody checks: the sums of an earlier fit do not tell which rows are in them.
const NEW_ROWS: &str = "the held-out rows are those of this update: if an earlier version was fitted on some of them, \
     errors and intervals are too small; the added rows must be new";

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
    let statistics = statistics.ok_or_else(|| TrainError::Data("the model keeps no statistics to add to".into()))?;
    let alignment = alignment(&model, spec, schema).map_err(|problems| TrainError::Data(problems.join("; ")))?;
    let aligned = alignment.read_as(rows);
    let learner = spec.learner_for(Task::Regression);
    let parts = split(&groups(&aligned, alignment.roles(), false)?, spec.held_out(Task::Regression), spec.seed);
    let rows = PartedRows::new(&aligned, alignment.roles().clone(), parts);
    let run = Run { rows, threads, observer, class_weights: None };
    let (moments, _) = run.moments(&model.inputs.encoding)?;
    clock.lap(Stage::Scale);

    let problem = FitProblem { run: &run, inputs: &model.inputs, coding: &statistics.coding };
    let fit = refit(&problem, spec, &model.map, &statistics.gram, model.precision, &mut clock)?;

    let added = run.rows.count(Part::Training);
    let report = FitReport {
        training_rows: statistics.gram.sample_count() + added,
        base_version: Some(base_version),
        added_rows: Some(added),
        filled_cells: moments.iter().map(ColumnMoments::missing).sum(),
        largest_input: model.inputs.scaling.largest_scaled(&moments),
        bandwidth: model.report.bandwidth,
        warnings: vec![NEW_ROWS.to_owned()],
        ..report(&run, &model.inputs, &model.head, &fit)?
    };
    let updated = FittedModel {
        evidence: Some(evidence(
            spec,
            LossKind::Squared,
            report.training_rows,
            (&model.map, &fit),
            spec.sample_weight.is_some(),
        )),
        weights: fit.weights,
        intercepts: fit.intercepts,
        spread: fit.spread,
        error_bars: fit.error_bars,
        interval_scales: Vec::new(),
        statistics: fit.statistics,
        dataset: dataset.to_owned(),
        measured: NOTHING_MEASURED,
        report,
        ..model.clone()
    };
    let updated = evaluate(&run, Predictor::new(updated.with_whole_evidence()))?;
    // The earlier rows are not there to tell what more draws would make of them.
    let updated = jackknife(&run, score(&run, updated, spec, learner)?, None)?;
    clock.lap(Stage::Evaluate);
    Ok(Trained { model: updated.into_model(), stage_seconds: clock.laps })
}
