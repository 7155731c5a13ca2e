//! One line per stage: split, scale, sample, accumulate, solve, evaluate, certify.

use super::TrainSpec;
use super::certify::certify;
use super::rows::{PartedRows, RowBlock, labelled};
use crate::dataset::{ColumnMoments, Encoding, Part, Rows, Scaling, Schema, split};
use crate::features::{FeatureMap, Kernel, Precision, Wave};
use crate::model::{FitReport, FittedModel, InputPipeline, Predictor};
use crate::solver::{BlockGram, Gram, Interrupted, SolveError, in_order, solve_ridge};
use ndarray::ArrayView1;
use std::time::Instant;

/// What training is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// Means, variances and the split.
    Scale,
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

/// What one training run works on.
pub(super) struct Run<'a> {
    pub(super) rows: PartedRows<'a>,
    pub(super) threads: usize,
    pub(super) observer: &'a dyn Observer,
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
    let (moments, targets) = run.moments(&Encoding::of(schema))?;
    let scaling = Scaling::fit(spec.scaling, &moments);
    let variances = scaling.scaled_variances(&moments);
    let inputs = InputPipeline { encoding: Encoding::of(schema), scaling };
    check_learnable(&run, &inputs.encoding, &variances, &targets)?;
    clock.lap(Stage::Scale);

    let n = run.rows.count(Part::Training);
    let lambda = spec.resolve_lambda(n);
    let kernel = Kernel::resolve(spec.kernel, spec.bandwidth, &variances);
    let map = FeatureMap::sample(kernel, spec.map, spec.sampling, spec.seed, spec.feature_count, inputs.input_dim());
    let precision = Precision::for_ridge(lambda, spec.map.bound());
    let gram = match precision {
        Precision::Mixed => run.accumulate::<f32>(&inputs, &map, targets.mean())?,
        Precision::Double => run.accumulate::<f64>(&inputs, &map, targets.mean())?,
    };
    clock.lap(Stage::Accumulate);

    observer.progress(Stage::Solve, 0.0);
    let target_mean_square = gram.target_mean_square();
    let solution = solve_ridge(gram, lambda)?;
    clock.lap(Stage::Solve);

    let Kernel::Gaussian { bandwidth } = kernel;
    let largest_input = inputs.scaling.largest_scaled(&moments);
    let report = FitReport {
        training_rows: n,
        validation_rows: run.rows.count(Part::Validation),
        unlabelled_rows: run.rows.count(Part::Unlabelled),
        input_dim: inputs.input_dim(),
        constant_inputs: inputs.scaling.constant_count(),
        filled_cells: moments.iter().map(ColumnMoments::missing).sum(),
        largest_input,
        feature_count: spec.feature_count,
        lambda,
        bandwidth,
        precision,
        method: solution.method,
        relative_residual: solution.relative_residual,
        condition: solution.condition,
        training_mse: f64::NAN,
        validation_mse: None,
        validation_r2: None,
        validation_mae: None,
        warnings: warnings(largest_input, &inputs.scaling),
    };
    let model = FittedModel {
        target: schema.target_column().name.clone(),
        inputs,
        missing: spec.missing,
        kernel,
        map,
        precision,
        weights: solution.weights,
        intercept: targets.mean(),
        spec: spec.to_json().to_string(),
        dataset: dataset.to_owned(),
        failure_probability: spec.guarantees.delta,
        evidence: super::certify::evidence(spec, n, lambda, target_mean_square),
        measured: super::certify::NOTHING_MEASURED,
        report,
    };

    let predictor = Predictor::new(model);
    let training = run.evaluate(&predictor, Part::Training, 0.0)?;
    let validation = run.evaluate(&predictor, Part::Validation, 0.8)?;
    clock.lap(Stage::Evaluate);

    let exact = certify(&run, &predictor, spec)?;
    clock.lap(Stage::Certify);

    let mut model = predictor.into_model();
    model.report.training_mse = training.mean_square();
    if validation.count > 0.0 {
        model.report.validation_mse = Some(validation.mean_square());
        model.report.validation_mae = Some(validation.absolute / validation.count);
        model.report.validation_r2 = validation.r2();
    }
    if let Some(exact) = exact {
        model.evidence.quadratic_form = Some(exact.quadratic_form);
        model.measured = exact.measured;
    }
    Ok(Trained { model, stage_seconds: clock.laps })
}

impl Run<'_> {
    /// Moments of every encoded input and of the target over the training rows.
    fn moments(&self, encoding: &Encoding) -> Result<(Vec<ColumnMoments>, ColumnMoments), TrainError> {
        let mut moments = vec![ColumnMoments::EMPTY; encoding.input_dim()];
        let mut targets = ColumnMoments::EMPTY;
        let mut block = RowBlock::default();
        let mut inputs = vec![0.0; encoding.input_dim()];
        for index in 0..self.rows.block_count() {
            self.rows.read(index, Part::Training, &mut block)?;
            for (codes, &target) in block.inputs().zip(&block.targets) {
                encoding.encode(codes.iter().copied(), &mut inputs);
                moments.iter_mut().zip(&inputs).for_each(|(moments, &value)| moments.observe(value));
                targets.observe(target);
            }
            self.tick(Stage::Scale, index, 0.0, 1.0)?;
        }
        Ok((moments, targets))
    }

    /// ΨᵀΨ and Ψᵀ(y − ȳ) over the training rows: block → project → cos → rank-k update.
    fn accumulate<T: Wave>(
        &self,
        inputs: &InputPipeline,
        map: &FeatureMap,
        target_mean: f64,
    ) -> Result<Gram, TrainError> {
        let projector = map.projector::<T>();
        let s = projector.feature_count();
        let gram = in_order(
            self.threads,
            self.rows.block_count(),
            || (RowBlock::default(), BlockGram::<T>::new(s)),
            |index, (block, statistics)| -> Result<(), TrainError> {
                self.rows.read(index, Part::Training, block)?;
                block.targets.iter_mut().for_each(|target| *target -= target_mean);
                let features = projector.transform(inputs.prepare(block.inputs()).view());
                statistics.fill(features.view(), ArrayView1::from(&block.targets));
                Ok(())
            },
            Gram::new(s),
            |index, (_, statistics), gram| {
                gram.add(statistics);
                self.tick(Stage::Accumulate, index, 0.0, 1.0)
            },
        )?;
        Ok(gram)
    }

    /// Errors of the model on one part.
    fn evaluate(&self, predictor: &Predictor, part: Part, start: f64) -> Result<Errors, TrainError> {
        let errors = in_order(
            self.threads,
            self.rows.block_count(),
            || (RowBlock::default(), Vec::new()),
            |index, (block, predictions)| -> Result<(), TrainError> {
                self.rows.read(index, part, block)?;
                *predictions = predictor.predict(&block.inputs().collect::<Vec<_>>());
                Ok(())
            },
            Errors::default(),
            |index, (block, predictions), errors| {
                errors.add(&block.targets, predictions);
                self.tick(Stage::Evaluate, index, start, if part == Part::Training { 0.8 } else { 1.0 })
            },
        )?;
        Ok(errors)
    }

    /// Tells of one more block, and stops if that is wanted. The stage goes from `start` to `end`.
    pub(super) fn tick(&self, stage: Stage, block: usize, start: f64, end: f64) -> Result<(), TrainError> {
        let done = (block + 1) as f64 / self.rows.block_count() as f64;
        self.observer.progress(stage, start + (end - start) * done);
        if self.observer.should_stop() { Err(TrainError::Stopped) } else { Ok(()) }
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

fn warnings(largest_input: f64, scaling: &Scaling) -> Vec<String> {
    const LARGE: f64 = 10.0;
    let mut warnings = Vec::new();
    if largest_input > LARGE {
        warnings.push(format!(
            "the largest scaled input is {largest_input:.1}: an outlier or a long tail; consider its logarithm"
        ));
    }
    if scaling.constant_count() > 0 {
        warnings
            .push(format!("{} inputs never vary over the training rows and have no effect", scaling.constant_count()));
    }
    warnings
}

/// Running sums of prediction errors.
#[derive(Default)]
struct Errors {
    count: f64,
    square: f64,
    absolute: f64,
    mean: f64,
    /// Σ(y − ȳ)².
    spread: f64,
}

impl Errors {
    fn add(&mut self, targets: &[f64], predictions: &[f64]) {
        for (target, prediction) in targets.iter().zip(predictions) {
            let error = target - prediction;
            self.square += error * error;
            self.absolute += error.abs();
            self.count += 1.0;
            let step = target - self.mean;
            self.mean += step / self.count;
            self.spread += step * (target - self.mean);
        }
    }

    fn mean_square(&self) -> f64 {
        self.square / self.count
    }

    fn r2(&self) -> Option<f64> {
        (self.spread > 0.0).then(|| 1.0 - self.square / self.spread)
    }
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
        self.laps.push((stage, self.last.elapsed().as_secs_f64()));
        self.last = Instant::now();
    }
}
