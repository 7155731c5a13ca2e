//! Whether the parts of a model fit each other: what a file must show before anything computes with it.

use crate::features::{Frequencies, KernelShape, MapKind};
use crate::model::{ArtifactError, FittedModel, Head};
use crate::theory::ScoreUnit;

/// Refuses a model that would panic, never end, or say what it does not know.
pub(crate) fn check(model: &FittedModel) -> Result<(), ArtifactError> {
    check_numbers(model)?;
    check_map(model)?;
    check_outputs(model)?;
    check_extras(model)?;
    check_calibration(model)
}

/// Refuses a model that is larger than those that are trained here.
pub fn check_size(
    model: &FittedModel,
    most_features: usize,
    most_columns: usize,
    most_levels: usize,
) -> Result<(), ArtifactError> {
    let columns = &model.inputs.encoding.columns;
    // The features of an exact model are rows, of which there may be more.
    let features = if model.map.kind == MapKind::Points { 0 } else { model.map.feature_count() };
    let labels = model.head.labels().map_or(0, |labels| labels.labels.len());
    let levels = columns.iter().map(|column| column.levels.len()).fold(labels, usize::max);
    for (what, found, limit) in [
        ("features", features, most_features),
        ("columns", columns.len(), most_columns),
        ("values in a text column", levels, most_levels),
    ] {
        if found > limit {
            return Err(ArtifactError::Beyond { what, found, limit });
        }
    }
    Ok(())
}

fn check_numbers(model: &FittedModel) -> Result<(), ArtifactError> {
    let scaling = &model.inputs.scaling;
    let d = model.inputs.encoding.input_dim();
    if [&scaling.fill, &scaling.offset, &scaling.factor].iter().any(|list| list.len() != d) {
        return Err(ArtifactError::Shape("scaling and encoding"));
    }
    let frequencies = match &model.map.frequencies {
        Frequencies::Dense(values) => values.as_slice_memory_order().unwrap_or_default(),
        Frequencies::Structured(structured) => &structured.norms,
    };
    for (name, numbers) in [
        ("the scaling factors", scaling.factor.as_slice()),
        ("the scaling offsets", &scaling.offset),
        ("the fill values", &scaling.fill),
        ("the frequencies", frequencies),
        ("the phases", &model.map.phases),
        ("the weights", model.weights.as_slice_memory_order().unwrap_or_default()),
        ("the intercepts", &model.intercepts),
    ] {
        if !numbers.iter().all(|number| number.is_finite()) {
            return Err(ArtifactError::NotFinite(name));
        }
    }
    Ok(())
}

fn check_map(model: &FittedModel) -> Result<(), ArtifactError> {
    let map = &model.map;
    let shape = map.kernel.shape();
    if !map.kernel.is_valid() {
        return Err(ArtifactError::Kernel);
    }
    if matches!(shape, KernelShape::Spline { .. }) && map.input_dim() != 1 {
        return Err(ArtifactError::Shape("a spline has one input"));
    }
    let structured = matches!(map.frequencies, Frequencies::Structured(_));
    if !map.kind.goes_with(shape) || (map.kind == MapKind::Points && structured) {
        return Err(ArtifactError::Shape("map and kernel"));
    }
    if map.phases.len() != if map.kind == MapKind::Phase { map.draw_count() } else { 0 } {
        return Err(ArtifactError::Shape("phases and frequencies"));
    }
    Ok(())
}

fn check_outputs(model: &FittedModel) -> Result<(), ArtifactError> {
    if model.head.labels().is_some_and(|labels| !labels.is_consistent()) {
        return Err(ArtifactError::Shape("labels and their weights"));
    }
    let k = model.head.output_count();
    if model.map.draw_count() == 0 || k == 0 || model.intercepts.len() != k {
        return Err(ArtifactError::Shape("outputs and intercepts"));
    }
    Ok(())
}

fn check_extras(model: &FittedModel) -> Result<(), ArtifactError> {
    let (s, k) = model.weights.dim();
    if model.spread.as_ref().is_some_and(|spread| !spread.is_consistent(s, k)) {
        return Err(ArtifactError::Shape("spread and weights"));
    }
    if model.error_bars.as_ref().is_some_and(|bars| !bars.is_consistent(s, k)) {
        return Err(ArtifactError::Shape("error bars and weights"));
    }
    if model.statistics.as_ref().is_some_and(|statistics| !statistics.is_consistent(s, k)) {
        return Err(ArtifactError::Shape("statistics and weights"));
    }
    Ok(())
}

/// What intervals and label sets are read from.
fn check_calibration(model: &FittedModel) -> Result<(), ArtifactError> {
    if !(model.failure_probability > 0.0 && model.failure_probability < 1.0) {
        return Err(ArtifactError::Calibration("the failure probability is not between 0 and 1"));
    }
    let k = model.head.output_count();
    let positive = |scale: &f64| *scale > 0.0 && scale.is_finite();
    if ![0, k].contains(&model.interval_scales.len()) || !model.interval_scales.iter().all(positive) {
        return Err(ArtifactError::Shape("intervals and outputs"));
    }
    let Some(scores) = model.calibration_scores() else { return Ok(()) };
    // Infinite ones stand for rows that no interval holds.
    if !scores.iter().all(|score| *score >= 0.0) || !scores.is_sorted() {
        return Err(ArtifactError::Calibration("the scores are not ascending numbers from 0"));
    }
    let in_spreads = model.evidence.as_ref().is_some_and(|found| found.score_unit == ScoreUnit::Spread);
    match &model.head {
        Head::Numbers { .. } if model.interval_scales.len() != k => Err(ArtifactError::Shape("intervals and outputs")),
        Head::Numbers { .. } if in_spreads && model.spread.is_none() => {
            Err(ArtifactError::Calibration("the scores are in spreads, and there are none"))
        }
        Head::Numbers { .. } | Head::Labels(_) => Ok(()),
    }
}
