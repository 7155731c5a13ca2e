//! One line per stage: split, scale, search, accumulate, solve, evaluate, certify.

use super::assess::calibration::calibrate;
use super::assess::certify::{NOTHING_MEASURED, certify};
use super::assess::conformal_scores::score;
use super::assess::evaluation::{errors_before, evaluate};
use super::assess::feature_jackknife::jackknife;
use super::assess::fit_evidence::evidence;
use super::fit::bandwidth::{mean_distance, median_distance};
use super::fit::classifier::Classification;
use super::fit::exact::fit_exactly;
use super::fit::ridge::{Fit, fit};
use super::fit::search::FitProblem;
use super::rows::classes::{ClassWeight, Classes, check_total_weight};
use super::rows::parted_rows::{PartedRows, groups};
use super::rows::passes::Run;
use super::stage::{Clock, Observer, Stage, TrainError, Trained};
use super::{BandwidthRule, TrainSpec};
use crate::dataset::{ColumnMoments, Encoding, Part, Rows, Scaling, ScalingRule, Schema, Task, split};
use crate::features::{Kernel, Precision};
use crate::model::{
    ExactReport, FitReport, FittedModel, Head, InputPipeline, Labels, Predictor, SolverReport, TargetCoding,
};
use ndarray::{Array2, Axis};

/// What a training run may use.
#[derive(Debug, Clone, Copy)]
pub struct Resources {
    /// Threads to work on. The model does not depend on it.
    pub threads: usize,
    /// Bytes of features that may be kept between passes; they are made anew beyond.
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
    let roles = spec.roles(schema);
    let all_alike = schema.task == Task::Regression && schema.target_columns().all(|target| target.missing == 0);
    let groups = if all_alike {
        vec![Some(0); rows.row_count()]
    } else {
        groups(rows, &roles, schema.task == Task::Classification)?
    };
    let parts = split(&groups, spec.held_out(schema.task), spec.seed);
    let encoding = Encoding::of(schema, &roles);
    let rows = PartedRows::new(rows, roles, parts);
    let mut run = Run { rows, threads: resources.threads, observer, class_weights: None };
    let (moments, targets) = run.moments(&encoding)?;
    check_learnable(&run, &encoding, &moments, schema, &targets)?;
    let outputs = Coded::of(schema, &targets, &mut run, spec.class_weight)?;
    let (run, coding) = (&run, &outputs.coding);
    clock.lap(Stage::Scale);

    let Chosen { scaling, inputs, kernel, .. } = choose(run, &encoding, &moments, coding, spec)?;
    let spec = &TrainSpec { scaling: Some(scaling), ..spec.clone() };
    let problem = FitProblem { run, inputs: &inputs, coding };
    clock.lap(Stage::Search);

    let map = spec.sample_map(kernel, spec.feature_count, inputs.input_dim());
    let (fit, map) = match (learner.loss(), &outputs.classes, outputs.head.labels()) {
        (Some(loss), Some(classes), Some(labels)) => {
            let classification = Classification { run, inputs: &inputs, map: &map, labels, loss, classes, resources };
            (classification.fit(spec, &mut clock)?, map)
        }
        _ if spec.is_exact() => fit_exactly(&problem, spec, &map, resources, &mut clock)?,
        _ => (fit(&problem, spec, &map, &mut clock)?, map),
    };

    let report = FitReport {
        filled_cells: moments.iter().map(ColumnMoments::missing).sum(),
        largest_input: inputs.scaling.largest_scaled(&moments),
        bandwidth: kernel.bandwidth(),
        warnings: warnings(&inputs.scaling, &moments, spec, kernel.bandwidth(), &fit),
        ..report(run, &inputs, &outputs.head, &fit)?
    };
    let rows_weighted = spec.sample_weight.is_some() || run.class_weights.is_some();
    let model = FittedModel {
        head: outputs.head,
        missing: spec.missing,
        precision: fit.precision,
        evidence: Some(evidence(spec, learner.loss_kind(), report.training_rows, (&map, &fit), rows_weighted)),
        weights: fit.weights,
        intercepts: fit.intercepts,
        spread: fit.spread,
        error_bars: fit.error_bars,
        interval_scales: Vec::new(),
        statistics: fit.statistics,
        spec: spec.clone().for_task(schema.task).to_json().to_string(),
        dataset: dataset.to_owned(),
        failure_probability: spec.guarantees.delta,
        measured: NOTHING_MEASURED,
        report,
        inputs: inputs.clone(),
        map,
    };

    let predictor = calibrated(run, model.with_whole_evidence(), learner.gives_log_odds())?;
    let predictor = evaluate(run, predictor)?;
    let predictor = score(run, predictor, spec, learner)?;
    let predictor = jackknife(run, predictor, Some((spec, coding)))?;
    clock.lap(Stage::Evaluate);

    let model = certify(run, predictor, coding, spec.guarantees.exact_rows, resources)?;
    clock.lap(Stage::Certify);
    Ok(Trained { model, stage_seconds: clock.laps })
}

/// What is predicted and how it is coded for the fit.
struct Coded {
    head: Head,
    coding: TargetCoding,
    /// Of the training rows of a classification, with class weights.
    classes: Option<Classes>,
}

impl Coded {
    fn of(schema: &Schema, targets: &[ColumnMoments], run: &mut Run, rule: ClassWeight) -> Result<Self, TrainError> {
        if schema.task == Task::Regression {
            let targets_named = schema.target_columns().map(|column| column.name.clone()).collect();
            let head = Head::Numbers { targets: targets_named };
            return Ok(Self { head, coding: TargetCoding::of_numbers(targets), classes: None });
        }
        let labels = schema.labels();
        let mut classes = Classes::of(run, Part::Training, labels.len())?;
        check_total_weight(classes.weights.iter().sum(), "training")?;
        let class_weights = classes.class_weights(rule);
        classes.weigh(&class_weights);
        let head = Head::Labels(Labels {
            target: schema.target_columns().map(|column| column.name.clone()).collect(),
            slope: None,
            log_weights: class_weights.iter().map(|weight| weight.ln()).collect(),
            labels,
        });
        let coding = TargetCoding::Classes { count: classes.class_count };
        run.class_weights = (rule != ClassWeight::None).then_some(class_weights);
        Ok(Self { head, coding, classes: Some(classes) })
    }
}

/// What a fit tells about itself before its errors on held-out rows are known.
pub(super) fn report(run: &Run, inputs: &InputPipeline, head: &Head, fit: &Fit) -> Result<FitReport, TrainError> {
    Ok(FitReport {
        training_rows: run.rows.count(Part::Training),
        base_version: None,
        added_rows: None,
        validation_rows: run.rows.count(Part::Validation),
        calibration_rows: run.rows.count(Part::Calibration),
        unlabelled_rows: run.rows.count(Part::Unlabelled),
        input_dim: inputs.input_dim(),
        constant_inputs: inputs.scaling.constant_count(),
        filled_cells: 0,
        largest_input: 0.0,
        feature_count: fit.weights.nrows(),
        lambda: fit.lambda,
        bandwidth: None,
        precision: fit.precision,
        solver: fit.solver.clone(),
        errors: errors_before(run, head, fit)?,
        warnings: Vec::new(),
    })
}

/// A classifier with the slope of its probabilities: 1 for log odds, fitted on the calibration rows for
/// other decision values.
fn calibrated(run: &Run, mut model: FittedModel, gives_log_odds: bool) -> Result<Predictor, TrainError> {
    let Head::Labels(labels) = &mut model.head else { return Ok(Predictor::new(model)) };
    if gives_log_odds {
        labels.slope = Some(1.0);
        return Ok(Predictor::new(model));
    }
    let labels = labels.clone();
    let predictor = Predictor::new(model);
    let nothing = Array2::zeros((0, labels.output_count()));
    let values = run.evaluate(&predictor, Part::Calibration, nothing, |values, _, predictions| {
        values.append(Axis(0), predictions).expect("as many columns");
    })?;
    let classes = Classes::of(run, Part::Calibration, labels.labels.len())?;
    let slope = calibrate(&labels, values.view(), &classes.of_rows, &classes.weights);
    let mut model = predictor.into_model();
    model.head = Head::Labels(Labels { slope, ..labels });
    Ok(Predictor::new(model))
}

/// How inputs are scaled and which kernel is fitted.
struct Chosen {
    scaling: ScalingRule,
    inputs: InputPipeline,
    kernel: Kernel,
    /// Of a search.
    error: f64,
}

/// As the spec says; where scaling is searched for, the one with the smaller error at its own best bandwidth.
fn choose(
    run: &Run,
    encoding: &Encoding,
    moments: &[ColumnMoments],
    coding: &TargetCoding,
    spec: &TrainSpec,
) -> Result<Chosen, TrainError> {
    let searched = [ScalingRule::Standard, ScalingRule::Minmax];
    let candidates = spec.scaling.as_ref().map_or(&searched[..], std::slice::from_ref);
    let mut best: Option<Chosen> = None;
    for &rule in candidates {
        let scaling = Scaling::fit(rule, moments);
        let variances = scaling.scaled_variances(moments);
        let inputs = InputPipeline { encoding: encoding.clone(), scaling };
        let (kernel, error) = resolve_kernel(&FitProblem { run, inputs: &inputs, coding }, spec, &variances)?;
        if best.as_ref().is_none_or(|best| error < best.error) {
            best = Some(Chosen { scaling: rule, inputs, kernel, error });
        }
    }
    Ok(best.expect("there is a candidate"))
}

/// The kernel with its bandwidth, and the error of a search for it.
fn resolve_kernel(problem: &FitProblem, spec: &TrainSpec, variances: &[f64]) -> Result<(Kernel, f64), TrainError> {
    let (run, inputs) = (problem.run, problem.inputs);
    let (bandwidth, error) = match spec.bandwidth {
        BandwidthRule::Fixed(value) => (value, 0.0),
        BandwidthRule::MeanDistance => (mean_distance(run, spec.kernel, inputs, variances)?, 0.0),
        BandwidthRule::Median => (median_distance(run, spec.kernel, inputs)?, 0.0),
        BandwidthRule::Search => problem.search_bandwidth(spec, mean_distance(run, spec.kernel, inputs, variances)?)?,
    };
    if bandwidth > 0.0 && bandwidth.is_finite() {
        Ok((spec.kernel.with_bandwidth(bandwidth), error))
    } else {
        Err(TrainError::Data(format!("the bandwidth rule gives {bandwidth}: most rows are equal; set a number")))
    }
}

/// What the validation share of the rows leaves must vary.
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
        return refuse(&format!("the values of column '{name}' are so large that their squares overflow; rescale it"));
    }
    let named = || schema.target_columns().map(|column| &column.name).zip(targets);
    if let Some((name, _)) = named().find(|(_, moments)| !moments.variance().is_finite()) {
        return refuse(&format!("the values of target '{name}' are so large that their squares overflow; rescale it"));
    }
    if run.rows.count(Part::Training) < 2 {
        return refuse("fewer than two rows are left for training");
    }
    if moments.iter().all(ColumnMoments::is_constant) {
        return refuse("no input varies over the training rows, so no input can tell anything about the target");
    }
    if let Some((name, _)) = named().find(|(_, moments)| moments.is_constant()) {
        return refuse(&format!("the target '{name}' is the same in every training row"));
    }
    Ok(())
}

fn warnings(
    scaling: &Scaling,
    moments: &[ColumnMoments],
    spec: &TrainSpec,
    bandwidth: Option<f64>,
    fit: &Fit,
) -> Vec<String> {
    const LARGE: f64 = 10.0;
    const FAR: f64 = 1e5; // bandwidths from zero: f32 has two digits left for what lies between neighbours
    let mut warnings = Vec::new();
    let largest = scaling.largest_scaled(moments);
    if largest > LARGE {
        warnings.push(format!(
            "the largest scaled input is {largest:.1}: an outlier or a long tail; consider its logarithm"
        ));
    }
    if fit.precision == Precision::Mixed && bandwidth.is_some_and(|bandwidth| largest > FAR * bandwidth) {
        warnings.push(
            "inputs lie so many bandwidths from zero that single precision hardly tells neighbours apart; scale them"
                .to_owned(),
        );
    }
    if spec.spread && fit.spread.is_none() {
        warnings.push("there is no spread: lambda is too small for the rounding of this Gram matrix".to_owned());
    }
    if scaling.constant_count() > 0 {
        let count = scaling.constant_count();
        warnings.push(format!("{count} inputs never vary over the training rows and have no effect"));
    }
    if let SolverReport::Classifier(classifier) = &fit.solver {
        if !classifier.evidence.converged {
            warnings.push("the solver stopped before it reached its tolerance: see certificate and passes".to_owned());
        }
        if !classifier.lambda_path.is_empty() {
            warnings.push("lambda was chosen on the validation rows: their errors are a little too good".to_owned());
        }
    }
    if let SolverReport::Exact(ExactReport { evidence, .. }) = &fit.solver
        && !evidence.converged
    {
        let residual = evidence.relative_residual;
        warnings.push(format!("the exact system is solved up to a residual of {residual:.1e} only: see solver_slack"));
    }
    if fit.best_is_smallest {
        warnings.push("the best lambda is the smallest that was tried: the data would bear a richer model".to_owned());
    }
    warnings
}
