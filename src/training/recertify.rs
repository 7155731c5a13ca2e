//! What a model can be trusted for, measured later: the rows are read again, the weights stay.

use super::certify::certify;
use super::passes::Run;
use super::rows::{PartedRows, groups};
use super::stage::{Clock, Observer, Stage, TrainError, Trained};
use super::{Resources, TrainSpec};
use crate::dataset::{Rows, Schema, Task, split};
use crate::features::Precision;
use crate::model::{FittedModel, Predictor, TargetCoding};
use crate::solver::SolveError;

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

    let spectrum = spectrum(&run, &model, &coding)?;
    if let Some(evidence) = &mut model.evidence {
        evidence.spectrum = Some(spectrum);
    }
    clock.lap(Stage::Accumulate);

    let model = certify(&run, Predictor::new(model), &coding, usize::MAX, resources)?;
    clock.lap(Stage::Certify);
    Ok(Trained { model, stage_seconds: clock.laps })
}

/// Of G, whatever its order.
fn spectrum(run: &Run, model: &FittedModel, coding: &TargetCoding) -> Result<Vec<f64>, TrainError> {
    if let Some(known) = model.evidence.as_ref().and_then(|evidence| evidence.spectrum.clone()) {
        return Ok(known);
    }
    let (blocks, inputs, map) = (run.all_blocks(), &model.inputs, &model.map);
    let tick = |done| run.tick(Stage::Accumulate, done);
    let gram = match model.precision {
        Precision::Mixed => run.accumulate::<f32>(&blocks, inputs, map, coding, tick)?,
        Precision::Double => run.accumulate::<f64>(&blocks, inputs, map, coding, tick)?,
    };
    Ok(gram.into_normal_equations().spectrum().map_err(SolveError::from)?)
}
