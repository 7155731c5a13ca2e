//! One line per stage: split, scale, search, accumulate, solve, evaluate, certify.

use super::TrainSpec;
use super::assess::assessment::Assessment;
use super::assess::comparison::{Compared, Comparison};
use super::assess::evidence::FittedRows;
use super::assess::scored_function::ScoredFunction;
use super::build::ModelParts;
use super::fit::classifier::Classification;
use super::fit::exact::fit_exactly;
use super::fit::kernel_choice::KernelChoice;
use super::fit::predicted_targets::PredictedTargets;
use super::fit::ridge::fit;
use super::fit::search::CodedRows;
use super::rows::parted_rows::{PartedRows, groups};
use super::rows::run::Run;
use super::stage::{Clock, Observer, Stage, TrainError, Trained};
use super::warnings::warnings;
use crate::dataset::{ColumnMoments, Encoding, Part, Rows, Schema, Task, split};

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
/// use bochner::dataset::{Column, ColumnKind, Rows, Schema, Task};
/// use bochner::training::{Observer, Resources, SpecLimits, Stage, TrainSpec, train};
///
/// /// y = x² at 100 points; the target is the last column.
/// struct Parabola;
///
/// impl Rows for Parabola {
///     fn row_count(&self) -> usize {
///         100
///     }
///     fn column_count(&self) -> usize {
///         2
///     }
///     fn read(&self, first: usize, cells: &mut [f64]) -> std::io::Result<()> {
///         for (row, cells) in cells.chunks_exact_mut(2).enumerate() {
///             let x = (first + row) as f64 / 50.0 - 1.0;
///             cells.copy_from_slice(&[x, x * x]);
///         }
///         Ok(())
///     }
/// }
///
/// struct Silent;
///
/// impl Observer for Silent {
///     fn progress(&self, _: Stage, _: f64) {}
///     fn should_stop(&self) -> bool {
///         false
///     }
/// }
///
/// let column = |name: &str| Column {
///     name: name.into(),
///     kind: ColumnKind::Numeric,
///     levels: vec![],
///     missing: 0,
///     distinct: 2,
///     distinct_is_lower_bound: true,
///     min: None,
///     max: None,
///     mean: None,
///     std: None,
/// };
/// let columns = vec![column("x"), column("y")];
/// let schema = Schema { columns, targets: vec![1], task: Task::Regression, row_count: 100 };
/// let spec = TrainSpec::check("", None, SpecLimits { feature_count: 4096 }).unwrap();
/// let resources = Resources { threads: 1, cache_bytes: 1 << 20 };
/// let trained = train(&Parabola, &schema, "parabola", &spec, resources, &Silent).unwrap();
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
    let learner = spec.learner_for(schema.task);
    let encoding = Encoding::of(schema, &spec.roles(schema));
    let run = Run { rows: parted(rows, schema, spec)?, threads: resources.threads, observer, class_weights: None };
    let (moments, targets) = run.moments(&encoding)?;
    check_learnable(&run, &encoding, &moments, schema, &targets)?;
    let PredictedTargets { head, coding, classes, class_weights } =
        PredictedTargets::of(schema, &targets, &run, spec.class_weight)?;
    let run = &Run { class_weights, ..run };
    clock.lap(Stage::Scale);

    let KernelChoice { scaling, inputs, kernel } = KernelChoice::make(run, &encoding, &moments, &coding, spec)?;
    let spec = &TrainSpec { scaling: Some(scaling), ..spec.clone() };
    clock.lap(Stage::Search);

    let map = spec.sample_map(kernel, spec.feature_count, inputs.input_dim());
    let coded = CodedRows { run, inputs: &inputs, coding: &coding };
    let fit = match (learner.loss(), &classes, head.labels()) {
        (Some(loss), Some(classes), Some(labels)) => {
            Classification { run, inputs: &inputs, map, labels, loss, classes, resources }.fit(spec, &mut clock)?
        }
        _ if spec.is_exact() => fit_exactly(&coded, spec, map, resources, &mut clock)?,
        _ => fit(&coded, spec, map, &mut clock)?,
    };

    let function = ScoredFunction::new(fit.function(&inputs));
    let assessment = Assessment::make(run, &function, (&fit, head), (spec, learner), Some(&coding))?;
    clock.lap(Stage::Evaluate);

    let weighted = spec.sample_weight.is_some() || run.class_weights.is_some();
    let fitted = FittedRows { count: run.rows.count(Part::Training), weighted, added: false };
    let comparable = fit.ridge().is_some() && !weighted && fitted.count <= spec.guarantees.exact_rows;
    let compared = Compared { run, function: &function, coding: &coding, lambda: fit.lambda, resources };
    let comparison: Option<Comparison> = if comparable { Some(compared.compare()?) } else { None };
    clock.lap(Stage::Certify);

    let warnings = warnings(&inputs.scaling, &moments, spec, kernel.bandwidth(), &fit);
    let spec_json = spec.clone().for_task(schema.task).to_json().to_string();
    let parts = ModelParts {
        run,
        learner,
        spec: (spec, spec_json),
        dataset,
        moments: &moments,
        fit,
        fitted,
        assessment,
        comparison,
        base: None,
        warnings,
    };
    Ok(Trained { model: parts.build(inputs), stage_seconds: clock.laps })
}

/// The rows with the part each belongs to.
fn parted<'a>(rows: &'a dyn Rows, schema: &Schema, spec: &TrainSpec) -> Result<PartedRows<'a>, TrainError> {
    let roles = spec.roles(schema);
    let all_alike = schema.task == Task::Regression && schema.target_columns().all(|target| target.missing == 0);
    let groups = if all_alike {
        vec![Some(0); rows.row_count()]
    } else {
        groups(rows, &roles, schema.task == Task::Classification)?
    };
    let parts = split(&groups, spec.held_out(schema.task), spec.seed);
    Ok(PartedRows::new(rows, roles, parts))
}

/// Refuses rows that hold nothing to learn.
fn check_learnable(
    run: &Run,
    encoding: &Encoding,
    moments: &[ColumnMoments],
    schema: &Schema,
    targets: &[ColumnMoments],
) -> Result<(), TrainError> {
    let refuse = |detail: &str| Err(TrainError::Data(detail.to_owned()));
    if let Some(input) = moments.iter().position(|moments| !moments.variance().is_finite()) {
        let name = encoding.column_of(input).map_or("?", |column| column.name.as_str());
        return refuse(&format!(
            "the values of column '{name}' are so large that their squares overflow; divide them by a constant"
        ));
    }
    let named = || schema.target_columns().map(|column| &column.name).zip(targets);
    if let Some((name, _)) = named().find(|(_, moments)| !moments.variance().is_finite()) {
        return refuse(&format!(
            "the values of target '{name}' are so large that their squares overflow; divide them by a constant"
        ));
    }
    if run.rows.count(Part::Training) < 2 {
        return refuse("fewer than two rows are left to train on; upload more rows or hold out fewer");
    }
    if moments.iter().all(ColumnMoments::is_constant) {
        return refuse("no input varies over the training rows; upload columns that vary");
    }
    if let Some((name, _)) = named().find(|(_, moments)| moments.is_constant()) {
        return refuse(&format!(
            "the target '{name}' is the same in every training row; choose another target or upload more rows"
        ));
    }
    Ok(())
}
