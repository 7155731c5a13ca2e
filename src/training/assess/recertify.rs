//! What a model can be trusted for, measured later: the rows are read again, the weights stay.

use super::certify::certify;
use super::fit_evidence::of_own_draws;
use crate::dataset::{Rows, Schema, Task, split};
use crate::features::Precision;
use crate::model::{FittedModel, Predictor, TargetCoding};
use crate::solver::{Leverage, SolveError};
use crate::training::fit::ridge::leverages;
use crate::training::rows::parted_rows::{PartedRows, groups};
use crate::training::rows::passes::Run;
use crate::training::stage::{Clock, Observer, Stage, TrainError, Trained};
use crate::training::{Resources, TrainSpec};

/// The model with everything measured that training left out, from the rows it was trained on: `spec` says which
/// of them were held out.
pub fn recertify(
    mut model: FittedModel,
    spec: &TrainSpec,
    (rows, schema): (&dyn Rows, &Schema),
    resources: Resources,
    observer: &dyn Observer,
) -> Result<Trained, TrainError> {
    let mut clock = Clock::start();
    observer.progress(Stage::Scale, 0.0);
    let by_class = schema.task == Task::Classification;
    let roles = spec.roles(schema);
    let parts = split(&groups(rows, &roles, by_class)?, spec.held_out(schema.task), spec.seed);
    let rows = PartedRows::new(rows, roles, parts);
    let run = Run { rows, threads: resources.threads, observer, class_weights: None };
    let (_, targets) = run.moments(&model.inputs.encoding)?;
    let coding = match &model.head.labels() {
        Some(labels) => TargetCoding::Classes { count: labels.labels.len() },
        None => TargetCoding::of_numbers(&targets),
    };
    clock.lap(Stage::Scale);

    measure_spectrum(&run, &mut model, &coding)?;
    clock.lap(Stage::Accumulate);

    let model = certify(&run, Predictor::new(model), &coding, usize::MAX, resources)?;
    clock.lap(Stage::Certify);
    Ok(Trained { model, stage_seconds: clock.laps })
}

/// The eigenvalues of G and the leverages, whatever its order, where they are not known.
fn measure_spectrum(run: &Run, model: &mut FittedModel, coding: &TargetCoding) -> Result<(), TrainError> {
    let Some(evidence) = &mut model.evidence else { return Ok(()) };
    if evidence.spectrum.is_some() && evidence.pool.is_some() {
        return Ok(());
    }
    let (blocks, inputs, map) = (run.all_blocks(), &model.inputs, &model.map);
    let tick = |done| run.tick(Stage::Accumulate, done);
    let gram = match model.precision {
        Precision::Mixed => run.accumulate::<f32>(&blocks, inputs, map, coding, tick)?,
        Precision::Double => run.accumulate::<f64>(&blocks, inputs, map, coding, tick)?,
    };
    let leverage = Leverage::new(&gram.into_normal_equations()).map_err(SolveError::from)?;
    evidence.spectrum = Some(leverage.spectrum());
    let draws = model.map.draw_count();
    let largest = leverages(&leverage, evidence.ridge, draws);
    evidence.pool.get_or_insert_with(|| of_own_draws(largest, draws, evidence.sample_count));
    Ok(())
}
