//! One line per stage: split, scale, search, accumulate, solve, evaluate, certify.

use super::bandwidth::{mean_distance, median_distance};
use super::certify::{NOTHING_MEASURED, certify, evidence};
use super::passes::Run;
use super::rows::{PartedRows, labelled};
use super::search::{Problem, Searched, lambda_grid};
use super::{BandwidthRule, TrainSpec};
use crate::dataset::{ColumnMoments, Encoding, Part, Rows, Scaling, Schema, split};
use crate::features::{FeatureMap, Kernel, Precision};
use crate::model::{FitReport, FittedModel, InputPipeline, Predictor, Spread};
use crate::solver::{Interrupted, NormalEquations, RidgePath, RidgeSolution, SolveError, solve_ridge};
use std::time::Instant;

/// What training is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// Means, variances and the split.
    Scale,
    /// The bandwidth.
    Search,
    /// Features and the Gram matrix.
    Accumulate,
    /// The linear system.
    Solve,
    /// Errors on training and validation rows.
    Evaluate,
    /// The exact kernel solution.
    Certify,
}

impl Stage {
    /// Its name in progress, reports and metrics.
    pub fn name(self) -> &'static str {
        match self {
            Self::Scale => "scale",
            Self::Search => "search",
            Self::Accumulate => "accumulate",
            Self::Solve => "solve",
            Self::Evaluate => "evaluate",
            Self::Certify => "certify",
        }
    }
}

/// Watches training and may stop it between blocks.
pub trait Observer: Sync {
    /// Told as work goes on; `fraction` is of this stage.
    fn progress(&self, stage: Stage, fraction: f64);

    /// Asked between blocks.
    fn should_stop(&self) -> bool;
}

/// Why training ended without a model.
#[derive(Debug, thiserror::Error)]
pub enum TrainError {
    /// The observer asked for it.
    #[error("stopped on request")]
    Stopped,
    /// The rows could not be read.
    #[error("the rows could not be read: {0}")]
    Rows(#[from] std::io::Error),
    /// The system could not be solved.
    #[error(transparent)]
    Solve(#[from] SolveError),
    /// The data holds nothing to learn.
    #[error("{0}")]
    Data(String),
    /// A worker thread panicked.
    #[error("a worker thread panicked")]
    Panicked,
}

impl From<Interrupted<TrainError>> for TrainError {
    fn from(interrupted: Interrupted<TrainError>) -> Self {
        match interrupted {
            Interrupted::Failed(error) => error,
            Interrupted::Panicked => Self::Panicked,
        }
    }
}

/// A model, and how long each stage took (which is not part of the model).
pub struct Trained {
    /// The model.
    pub model: FittedModel,
    /// Seconds by stage, in order.
    pub stage_seconds: Vec<(Stage, f64)>,
}

/// Trains on `rows`. The model depends on the rows, the spec and the seed alone, not on `threads`.
pub fn train(
    rows: &dyn Rows,
    schema: &Schema,
    dataset: &str,
    spec: &TrainSpec,
    threads: usize,
    observer: &dyn Observer,
) -> Result<Trained, TrainError> {
    let mut clock = Clock::start();
    observer.progress(Stage::Scale, 0.0);
    let parts = split(&labelled(rows, schema.target)?, spec.validation_fraction, spec.seed);
    let run = Run { rows: PartedRows::new(rows, schema.target, parts), threads, observer };
    let encoding = Encoding::of(schema);
    let (moments, targets) = run.moments(&encoding)?;
    let scaling = Scaling::fit(spec.scaling, &moments);
    let variances = scaling.scaled_variances(&moments);
    check_learnable(&run, &encoding, &variances, &targets)?;
    let inputs = InputPipeline { encoding, scaling };
    clock.lap(Stage::Scale);

    let problem = Problem { run: &run, inputs: &inputs, target_mean: targets.mean() };
    let kernel = resolve_kernel(&problem, spec, &variances)?;
    clock.lap(Stage::Search);

    let map = spec.sample_map(kernel, spec.feature_count, inputs.input_dim());
    let fit = fit(&problem, spec, &map, &mut clock)?;

    let report = FitReport {
        training_rows: run.rows.count(Part::Training),
        validation_rows: run.rows.count(Part::Validation),
        unlabelled_rows: run.rows.count(Part::Unlabelled),
        input_dim: inputs.input_dim(),
        constant_inputs: inputs.scaling.constant_count(),
        filled_cells: moments.iter().map(ColumnMoments::missing).sum(),
        largest_input: inputs.scaling.largest_scaled(&moments),
        feature_count: spec.feature_count,
        lambda: fit.lambda,
        bandwidth: kernel.bandwidth(),
        precision: fit.precision,
        method: fit.solution.method,
        relative_residual: fit.solution.relative_residual,
        condition: fit.solution.condition,
        training_mse: fit.training_mse,
        validation_mse: None,
        validation_r2: None,
        validation_mae: None,
        loo_mse: fit.searched.as_ref().and_then(|searched| searched.best().loo_mse),
        loo_rows: fit.searched.as_ref().map_or(0, |searched| searched.loo_rows),
        effective_dimension: fit.searched.as_ref().map(|searched| searched.best().effective_dimension),
        lambda_path: fit.searched.as_ref().map_or(Vec::new(), |searched| searched.points.clone()),
        warnings: warnings(&inputs.scaling, &moments, fit.searched.as_ref()),
    };
    let model = FittedModel {
        target: schema.target_column().name.clone(),
        missing: spec.missing,
        precision: fit.precision,
        weights: fit.solution.weights,
        intercept: targets.mean(),
        spread: fit.spread,
        spec: spec.to_json().to_string(),
        dataset: dataset.to_owned(),
        failure_probability: spec.guarantees.delta,
        evidence: evidence(spec, report.training_rows, fit.lambda, fit.target_mean_square),
        measured: NOTHING_MEASURED,
        report,
        inputs: inputs.clone(),
        map,
    };

    let predictor = Predictor::new(model);
    let validation = run.evaluate(&predictor, Part::Validation, |done| run.tick(Stage::Evaluate, done))?;
    clock.lap(Stage::Evaluate);

    let exact = certify(&run, &predictor, spec)?;
    clock.lap(Stage::Certify);

    let mut model = predictor.into_model();
    if validation.count > 0.0 {
        model.report.validation_mse = Some(validation.mean_square());
        model.report.validation_mae = Some(validation.mean_absolute());
        model.report.validation_r2 = validation.r2();
    }
    if let Some(exact) = exact {
        model.evidence.quadratic_form = Some(exact.quadratic_form);
        model.measured = exact.measured;
    }
    Ok(Trained { model, stage_seconds: clock.laps })
}

fn resolve_kernel(problem: &Problem, spec: &TrainSpec, variances: &[f64]) -> Result<Kernel, TrainError> {
    let (run, inputs) = (problem.run, problem.inputs);
    let bandwidth = match spec.bandwidth {
        BandwidthRule::Fixed(value) => value,
        BandwidthRule::MeanDistance => mean_distance(run, spec.kernel, inputs, variances)?,
        BandwidthRule::Median => median_distance(run, spec.kernel, inputs)?,
        BandwidthRule::Search => problem.search_bandwidth(spec, mean_distance(run, spec.kernel, inputs, variances)?)?,
    };
    if bandwidth > 0.0 && bandwidth.is_finite() {
        Ok(spec.kernel.with_bandwidth(bandwidth))
    } else {
        Err(TrainError::Data(format!("the bandwidth rule gives {bandwidth}: most rows are equal; set a number")))
    }
}

/// Weights, and how λ and the precision were chosen.
struct Fit {
    solution: RidgeSolution,
    lambda: f64,
    precision: Precision,
    target_mean_square: f64,
    training_mse: f64,
    spread: Option<Spread>,
    searched: Option<Searched>,
}

/// Accumulates and solves: once at a given λ; where λ is searched for, in mixed precision first, and
/// in f64 if the best λ is too small for that.
fn fit(problem: &Problem, spec: &TrainSpec, map: &FeatureMap, clock: &mut Clock) -> Result<Fit, TrainError> {
    let bound = spec.map.bound(spec.kernel);
    let given = spec.resolve_lambda(problem.run.rows.count(Part::Training));
    let mut precision = Precision::for_ridge(given.unwrap_or(1.0), bound);
    loop {
        let equations = accumulate(problem, map, precision)?;
        clock.lap(Stage::Accumulate);
        problem.run.tick(Stage::Solve, 0.0)?;
        let searched = match given {
            Some(_) => None,
            None => Some(search(problem, map, precision, &equations)?),
        };
        if precision == Precision::Mixed && searched.as_ref().is_some_and(Searched::is_at_the_small_end) {
            precision = Precision::Double;
            clock.lap(Stage::Solve);
            continue;
        }
        let lambda = given.or(searched.as_ref().map(|searched| searched.best().lambda)).unwrap_or(1.0);
        let solution = solve_ridge(&equations, lambda)?;
        let training_mse = equations.mean_squared_error(&solution.weights);
        let spread = if spec.spread { Some(spread(&equations, lambda, training_mse)?) } else { None };
        clock.lap(Stage::Solve);
        return Ok(Fit {
            training_mse,
            spread,
            target_mean_square: equations.target_mean_square,
            solution,
            lambda,
            precision,
            searched,
        });
    }
}

/// What the predictive spread needs: tr H = s − λ·tr(G+λI)⁻¹, σ̂² = n·MSE/(n − tr H), and the factor.
fn spread(equations: &NormalEquations, lambda: f64, training_mse: f64) -> Result<Spread, TrainError> {
    let factor = equations.factor(lambda).map_err(SolveError::from)?;
    let (n, s) = (equations.sample_count as f64, equations.right_side.len() as f64);
    let effective_dimension = s - lambda * factor.inverse_trace().map_err(SolveError::from)?;
    Ok(Spread {
        noise_variance: training_mse * n / (n - effective_dimension).max(1.0),
        sample_count: equations.sample_count,
        factor: factor.lower_rows(),
    })
}

fn accumulate(problem: &Problem, map: &FeatureMap, precision: Precision) -> Result<NormalEquations, TrainError> {
    let Problem { run, inputs, target_mean } = *problem;
    let blocks = run.all_blocks();
    let tick = |done| run.tick(Stage::Accumulate, done);
    let gram = match precision {
        Precision::Mixed => run.accumulate::<f32>(&blocks, inputs, map, target_mean, tick)?,
        Precision::Double => run.accumulate::<f64>(&blocks, inputs, map, target_mean, tick)?,
    };
    Ok(gram.into_normal_equations())
}

fn search(
    problem: &Problem,
    map: &FeatureMap,
    precision: Precision,
    equations: &NormalEquations,
) -> Result<Searched, TrainError> {
    let path = RidgePath::new(equations)?;
    let lambdas = lambda_grid(precision, map.kind.bound(map.kernel.shape()));
    match precision {
        Precision::Mixed => problem.search_lambda::<f32>(map, &path, &lambdas),
        Precision::Double => problem.search_lambda::<f64>(map, &path, &lambdas),
    }
}

/// What the validation share of the rows leaves must vary.
fn check_learnable(
    run: &Run,
    encoding: &Encoding,
    variances: &[f64],
    targets: &ColumnMoments,
) -> Result<(), TrainError> {
    let refuse = |detail: &str| Err(TrainError::Data(detail.to_owned()));
    if let Some(input) = variances.iter().position(|variance| !variance.is_finite()) {
        let name = encoding.column_of(input).map_or("?", |column| column.name.as_str());
        return refuse(&format!("the values of column '{name}' are so large that their squares overflow; rescale it"));
    }
    if !targets.variance().is_finite() {
        return refuse("the values of the target are so large that their squares overflow; rescale it");
    }
    if run.rows.count(Part::Training) < 2 {
        return refuse("fewer than two rows are left for training");
    }
    if variances.iter().all(|variance| *variance == 0.0) {
        return refuse("no input varies over the training rows, so no input can tell anything about the target");
    }
    if targets.is_constant() {
        return refuse("the target is the same in every training row");
    }
    Ok(())
}

fn warnings(scaling: &Scaling, moments: &[ColumnMoments], searched: Option<&Searched>) -> Vec<String> {
    const LARGE: f64 = 10.0;
    let mut warnings = Vec::new();
    let largest = scaling.largest_scaled(moments);
    if largest > LARGE {
        warnings.push(format!(
            "the largest scaled input is {largest:.1}: an outlier or a long tail; consider its logarithm"
        ));
    }
    if scaling.constant_count() > 0 {
        let count = scaling.constant_count();
        warnings.push(format!("{count} inputs never vary over the training rows and have no effect"));
    }
    if searched.is_some_and(Searched::is_at_the_small_end) {
        warnings.push("the best lambda is the smallest that was tried: the data would bear a richer model".to_owned());
    }
    warnings
}

/// Measures stages.
struct Clock {
    last: Instant,
    laps: Vec<(Stage, f64)>,
}

impl Clock {
    fn start() -> Self {
        Self { last: Instant::now(), laps: Vec::new() }
    }

    fn lap(&mut self, stage: Stage) {
        let seconds = self.last.elapsed().as_secs_f64();
        match self.laps.iter_mut().find(|(known, _)| *known == stage) {
            Some((_, total)) => *total += seconds,
            None => self.laps.push((stage, seconds)),
        }
        self.last = Instant::now();
    }
}
