//! One line per stage: split, scale, search, accumulate, solve, evaluate, certify.

use super::bandwidth::{mean_distance, median_distance};
use super::certify::{NOTHING_MEASURED, certify, evidence};
use super::fit::{Fit, fit};
use super::passes::Run;
use super::rows::{PartedRows, labelled};
use super::search::{Problem, Searched};
use super::stage::{Clock, Observer, Stage, TrainError, Trained};
use super::{BandwidthRule, TrainSpec};
use crate::dataset::{ColumnMoments, Encoding, Part, Rows, Scaling, Schema, split};
use crate::features::Kernel;
use crate::model::{FitReport, FittedModel, Head, InputPipeline, Predictor, TargetCoding, TargetErrors};

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
    let roles = spec.roles(schema);
    let parts = split(&labelled(rows, &roles)?, spec.validation_fraction, spec.seed);
    let encoding = Encoding::of(schema, &roles);
    let run = Run { rows: PartedRows::new(rows, roles, parts), threads, observer };
    let (moments, targets) = run.moments(&encoding)?;
    let scaling = Scaling::fit(spec.scaling, &moments);
    let variances = scaling.scaled_variances(&moments);
    let head = Head::Numbers { targets: schema.target_columns().map(|column| column.name.clone()).collect() };
    check_learnable(&run, &encoding, &variances, &head, &targets)?;
    let inputs = InputPipeline { encoding, scaling };
    let coding = TargetCoding::of_numbers(&targets);
    clock.lap(Stage::Scale);

    let problem = Problem { run: &run, inputs: &inputs, coding: &coding };
    let kernel = resolve_kernel(&problem, spec, &variances)?;
    clock.lap(Stage::Search);

    let map = spec.sample_map(kernel, spec.feature_count, inputs.input_dim());
    let fit = fit(&problem, spec, &map, &mut clock)?;

    let report = FitReport {
        filled_cells: moments.iter().map(ColumnMoments::missing).sum(),
        largest_input: inputs.scaling.largest_scaled(&moments),
        bandwidth: kernel.bandwidth(),
        warnings: warnings(&inputs.scaling, &moments, fit.searched.as_ref()),
        ..report(&run, &inputs, &head, &fit)
    };
    let model = FittedModel {
        head,
        missing: spec.missing,
        precision: fit.precision,
        weights: fit.weights,
        intercepts: fit.intercepts,
        spread: fit.spread,
        statistics: fit.statistics,
        spec: spec.to_json().to_string(),
        dataset: dataset.to_owned(),
        failure_probability: spec.guarantees.delta,
        evidence: evidence(spec, &report, fit.target_mean_square),
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
    validation.write(&mut model.report);
    if let Some(exact) = exact {
        model.evidence.quadratic_form = Some(exact.quadratic_form);
        model.measured = exact.measured;
    }
    Ok(Trained { model, stage_seconds: clock.laps })
}

/// What a fit tells about itself before its errors on held-out rows are known.
pub(super) fn report(run: &Run, inputs: &InputPipeline, head: &Head, fit: &Fit) -> FitReport {
    let errors = |(name, &training_mse): (&String, &f64)| TargetErrors {
        name: name.clone(),
        training_mse,
        validation_mse: None,
        validation_r2: None,
        validation_mae: None,
    };
    let best = fit.searched.as_ref().map(Searched::best);
    FitReport {
        training_rows: run.rows.count(Part::Training),
        base_version: None,
        added_rows: None,
        validation_rows: run.rows.count(Part::Validation),
        unlabelled_rows: run.rows.count(Part::Unlabelled),
        input_dim: inputs.input_dim(),
        constant_inputs: inputs.scaling.constant_count(),
        filled_cells: 0,
        largest_input: 0.0,
        feature_count: fit.weights.nrows(),
        lambda: fit.lambda,
        bandwidth: None,
        precision: fit.precision,
        method: fit.method,
        relative_residual: fit.relative_residual,
        condition: fit.condition,
        training_mse: fit.training_mse.iter().sum::<f64>() / fit.training_mse.len() as f64,
        validation_mse: None,
        validation_r2: None,
        validation_mae: None,
        targets: head.targets().iter().zip(&fit.training_mse).map(errors).collect(),
        loo_mse: best.and_then(|best| best.loo_mse),
        loo_rows: fit.searched.as_ref().map_or(0, |searched| searched.loo_rows),
        effective_dimension: best.map(|best| best.effective_dimension),
        lambda_path: fit.searched.as_ref().map_or(Vec::new(), |searched| searched.points.clone()),
        warnings: Vec::new(),
    }
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

/// What the validation share of the rows leaves must vary.
fn check_learnable(
    run: &Run,
    encoding: &Encoding,
    variances: &[f64],
    head: &Head,
    targets: &[ColumnMoments],
) -> Result<(), TrainError> {
    let refuse = |detail: &str| Err(TrainError::Data(detail.to_owned()));
    if let Some(input) = variances.iter().position(|variance| !variance.is_finite()) {
        let name = encoding.column_of(input).map_or("?", |column| column.name.as_str());
        return refuse(&format!("the values of column '{name}' are so large that their squares overflow; rescale it"));
    }
    if let Some((name, _)) = head.targets().iter().zip(targets).find(|(_, moments)| !moments.variance().is_finite()) {
        return refuse(&format!("the values of target '{name}' are so large that their squares overflow; rescale it"));
    }
    if run.rows.count(Part::Training) < 2 {
        return refuse("fewer than two rows are left for training");
    }
    if variances.iter().all(|variance| *variance == 0.0) {
        return refuse("no input varies over the training rows, so no input can tell anything about the target");
    }
    if let Some((name, _)) = head.targets().iter().zip(targets).find(|(_, moments)| moments.is_constant()) {
        return refuse(&format!("the target '{name}' is the same in every training row"));
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
