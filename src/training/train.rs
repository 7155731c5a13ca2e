//! One line per stage: split, scale, search, accumulate, solve, evaluate, certify.

use super::assess::assessment::Assessment;
use super::assess::comparison::{Compared, Comparison};
use super::assess::evidence::FittedRows;
use super::assess::scored_function::ScoredFunction;
use super::build::ModelParts;
use super::choose::Chosen;
use super::cross_validation::cross_validate;
use super::fit::Fit;
use super::fit::choosing_rows::ChoosingRows;
use super::fit::classifier::Classification;
use super::fit::exact::fit_exactly;
use super::fit::kernel_choice::KernelChoice;
use super::fit::lambda_choice::LambdaChoice;
use super::fit::predicted_targets::PredictedTargets;
use super::fit::ridge::fit;
use super::fit::search::CodedRows;
use super::learning_curve::learning_curve;
use super::model_choice::{ChoiceRows, ModelChoice};
use super::rows::parted_rows::PartedRows;
use super::rows::parting::SplitKeys;
use super::rows::run::Run;
use super::stage::{Clock, Observer, Stage, TrainError, Trained};
use super::warnings::warnings;
use super::{Learner, TrainSpec};
use crate::dataset::{ColumnMoments, Encoding, Part, Rows, Schema};
use crate::features::{ChosenBy, FeatureMap};
use crate::model::{ColumnRanges, CrossValidation, LearnerChoice, LearningCurve};

/// What a training run may use.
#[derive(Debug, Clone, Copy)]
pub struct Resources {
    /// Threads to work on. The model does not depend on it.
    pub threads: usize,
    /// Bytes for features kept between passes and for factors of the exact kernel matrix, on top of what training
    /// needs anyway. With less, features are made again for each pass.
    pub cache_bytes: u64,
}

/// Trains on `rows`. The model depends on the rows, the spec and the seed alone.
///
/// ```
/// use bochner::dataset::{Column, ColumnKind, RowsInMemory, Schema, Task};
/// use bochner::training::{Resources, SpecLimits, TrainSpec, Unwatched, train};
///
/// // y = x² at 100 points; the target is the last column.
/// let points = (0..100).map(|row| f64::from(row) / 50.0 - 1.0);
/// let parabola = RowsInMemory { cells: points.flat_map(|x| [x, x * x]).collect(), columns: 2 };
/// let column = |name: &str| Column::unprofiled(name, ColumnKind::Numeric, vec![]);
/// let columns = vec![column("x"), column("y")];
/// let schema = Schema { columns, targets: vec![1], task: Task::Regression, row_count: 100, findings: vec![] };
/// let spec = TrainSpec::check("", None, SpecLimits { feature_count: 4096 }).unwrap();
/// let resources = Resources { threads: 1, cache_bytes: 1 << 20 };
/// let trained = train(&parabola, &schema, "parabola", &spec, resources, &Unwatched).unwrap();
/// assert_eq!((trained.model.report.training_rows, trained.model.report.validation_rows), (80, 20));
/// ```
pub fn train(
    rows: &dyn Rows,
    schema: &Schema,
    dataset: &str,
    spec: &TrainSpec,
    resources: Resources,
    observer: &dyn Observer,
) -> Result<Trained, TrainError> {
    let mut clock = Clock::start();
    observer.progress(Stage::Scale, 0.0);
    let spec = &spec.for_rows(schema);
    let keys = SplitKeys::read(rows, schema, spec)?;
    let parts = keys.parts(spec.held_out(schema.task), spec.seed)?;
    keys.check_labels(rows, (schema, spec), &parts)?;
    clock.lap(Stage::Scale);
    let cross_validation = cross_validate(rows, schema, spec, &keys, resources, observer)?;
    if cross_validation.is_some() {
        clock.lap(Stage::CrossValidate);
    }
    let learning_curve = learning_curve(rows, schema, spec, (&keys, &parts), resources, observer)?;
    if learning_curve.is_some() {
        clock.lap(Stage::LearningCurve);
    }
    drop(keys);
    let rows = PartedRows::new(rows, spec.roles(schema), parts);
    let repetitions = Repetitions { cross_validation, learning_curve };
    let run = Run::new(rows, resources.threads, observer);
    train_on(run, (schema, dataset), spec, repetitions, resources, clock)
}

/// What the same training on other rows told, where the spec asks for it.
#[derive(Default)]
pub(super) struct Repetitions {
    pub(super) cross_validation: Option<CrossValidation>,
    pub(super) learning_curve: Option<LearningCurve>,
}

/// Trains on rows that are split already.
pub(super) fn train_on(
    run: Run,
    (schema, dataset): (&Schema, &str),
    spec: &TrainSpec,
    repetitions: Repetitions,
    resources: Resources,
    mut clock: Clock,
) -> Result<Trained, TrainError> {
    run.observer.progress(Stage::Scale, 0.0);
    let encoding = run.join_rare(Encoding::of(schema, &spec.roles(schema)))?;
    let columns = (schema, &encoding);
    let design = ChoosingRows::design(&run, columns, spec)?;
    let training = ChoosingRows::of(run, columns, spec, "training")?;
    clock.lap(Stage::Scale);

    let rows = ChoiceRows { training: &training, design: design.as_ref(), schema, encoding: &encoding };
    let chosen = ModelChoice::make(&rows, spec, resources, &mut clock)?;
    let ModelChoice { spec, learner, kernel, features, lambda, learner_choice, trials } = chosen;
    let KernelChoice { inputs, kernel, metric, unweighted, search, .. } = kernel;
    let Chosen { map, selection, pool } = features;
    let (search, candidate_seconds) = search.unzip();
    let spec = &spec;
    drop(design);

    let ChoosingRows { run, moments, targets, .. } = &training;
    let coding = &targets.coding;
    let count = run.total(Part::Training);
    let coded = CodedRows { run, inputs: &inputs, coding };
    let fit = fit_weights(&coded, (targets, learner), spec, (map, lambda), resources, &mut clock)?;

    let function = ScoredFunction::new(fit.function(&inputs));
    let assessment = Assessment::make(run, &function, (&fit, targets.head.clone()), (spec, learner), Some(coding))?;
    clock.lap(Stage::Evaluate);

    let weighted = spec.sample_weight.is_some() || run.class_weights.is_some();
    let levels = encoding.columns.iter().any(|column| !column.levels.is_empty());
    let filled_cells = moments.iter().map(ColumnMoments::missing).sum::<u64>() + missing_cells(schema, spec);
    let fitted = FittedRows { count, weighted, added: false, choices: spec.choices(filled_cells, levels) };
    // The exact method is that of all fitted rows; of a table in files only a sample may be at hand.
    let at_hand = run.rows.count(Part::Training) == count;
    let comparable = fit.ridge().is_some() && !weighted && at_hand && count <= spec.guarantees.exact_rows;
    let unlabelled = fitted.choices.spares_unlabelled_rows() && spec.sampling.chosen_by() == ChosenBy::Nothing;
    let lambda = fit.lambda;
    let compared = Compared { run, function: &function, coding, lambda, unlabelled, resources };
    let comparison: Option<Comparison> = if comparable { Some(compared.compare()?) } else { None };
    clock.lap(Stage::Certify);

    let calibrated = assessment.scores.is_some();
    let inputs_seen = (&unweighted, moments.as_slice(), &encoding);
    let mut warnings = warnings(schema, inputs_seen, spec, kernel.bandwidth(), (&fit, count, calibrated));
    warnings.extend(learner_choice.as_ref().and_then(LearnerChoice::note));
    let spec_json = spec.clone().for_task(schema.task).to_json().to_string();
    let parts = ModelParts {
        run,
        learner,
        spec: (spec, spec_json),
        dataset,
        metric,
        learner_choice,
        search,
        moments,
        ranges: Some(ColumnRanges::of(&encoding, moments)),
        fit,
        fitted,
        assessment,
        comparison,
        base: None,
        chosen: (selection, pool),
        trials,
        repetitions,
        warnings,
    };
    Ok(Trained {
        model: parts.build(inputs),
        stage_seconds: clock.laps,
        candidate_seconds: candidate_seconds.unwrap_or_default(),
    })
}

/// Missing cells of the inputs in all rows. Where there are some, new inputs have some too, and what fills them comes from rows.
fn missing_cells(schema: &Schema, spec: &TrainSpec) -> u64 {
    spec.roles(schema).inputs.iter().map(|&input| schema.columns[input].missing).sum()
}

/// Weights for the features of a map at the λ that was chosen, by a learner.
pub(super) fn fit_weights(
    rows: &CodedRows,
    (targets, learner): (&PredictedTargets, Learner),
    spec: &TrainSpec,
    (map, lambda): (FeatureMap, LambdaChoice),
    resources: Resources,
    clock: &mut Clock,
) -> Result<Fit, TrainError> {
    let (run, inputs) = (rows.run, rows.inputs);
    match (learner.loss(), &targets.classes, targets.head.labels()) {
        (Some(loss), Some(classes), Some(labels)) => {
            Classification { run, inputs, map, labels, loss, classes, resources }.fit(lambda, clock)
        }
        _ if spec.is_exact() => fit_exactly(rows, spec, (map, lambda), resources, clock),
        _ => fit(rows, spec, map, lambda, clock),
    }
}
