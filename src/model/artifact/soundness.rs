//! Checks that the parts of a decoded model agree in size and value before anything computes with them.

use crate::features::{DrawScales, Frequencies, KernelShape, MapKind};
use crate::model::{ArtifactError, ColumnRange, ColumnRanges, ExactScore, FeatureTrials, FittedModel, Head};
use crate::theory::{Choices, ScoreUnit};

/// Refuses a model with which a prediction could panic or not end, or whose evidence contradicts itself.
pub(crate) fn check(model: &FittedModel) -> Result<(), ArtifactError> {
    check_counts(model)?;
    check_numbers(model)?;
    check_map(model)?;
    check_outputs(model)?;
    check_extras(model)?;
    check_calibration(model)
}

/// Refuses a model that is larger than this service trains.
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

/// Counts of rows are added up and divided by. No table has more than 2^48 rows.
fn check_counts(model: &FittedModel) -> Result<(), ArtifactError> {
    let report = &model.report;
    for found in [report.training_rows, report.validation_rows, report.calibration_rows, report.unlabelled_rows] {
        if found > 1 << 48 {
            return Err(ArtifactError::Beyond { what: "rows", found, limit: 1 << 48 });
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
    let root = model.inputs.metric_root.as_ref();
    for (name, numbers) in [
        ("the scaling factors", scaling.factor.as_slice()),
        ("the scaling offsets", &scaling.offset),
        ("the fill values", &scaling.fill),
        ("the root of the metric", root.and_then(|root| root.as_slice()).unwrap_or_default()),
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
    if let Some(DrawScales { factors, largest }) = &map.scales {
        if factors.len() != map.draw_count() || map.kind == MapKind::Points {
            return Err(ArtifactError::Shape("column weights and frequencies"));
        }
        // A comparison with NaN fails.
        if !largest.is_finite() || !factors.iter().all(|factor| (0.0..=*largest).contains(factor)) {
            return Err(ArtifactError::NotFinite("the column weights"));
        }
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

/// Details of the distance to the exact method: sizes, and numbers that a distance can have.
fn check_distance(model: &FittedModel) -> Result<(), ArtifactError> {
    let sound = |numbers: &[f64]| numbers.iter().all(|number| *number >= 0.0 && number.is_finite());
    let evidence = model.evidence.as_ref();
    let detail = evidence.and_then(|evidence| evidence.certificate.as_ref()?.detail.as_ref());
    if let Some(scaled) = detail.and_then(|detail| detail.scaled.as_ref()) {
        let numbers = sound(&scaled.ratios) && scaled.ratios.is_sorted() && sound(&scaled.mean_squares);
        if !numbers || scaled.mean_squares.len() != model.head.output_count() {
            return Err(ArtifactError::Shape("certified error bars and outputs"));
        }
    }
    let interval = evidence.and_then(|evidence| evidence.estimates.jackknife_detail);
    let squares = detail.map_or(&[][..], |detail| &detail.clipped_squares);
    let interval = interval.is_none_or(|detail| sound(&[detail.low, detail.high]) && detail.low <= detail.high);
    if !(interval && sound(squares) && model.measured.training_error.is_none_or(|error| sound(&[error]))) {
        return Err(ArtifactError::Shape("distances to the exact method and numbers from 0"));
    }
    let of_its_kind = |score: ExactScore| match score {
        ExactScore::Mse(mse) => model.head.labels().is_none() && sound(&[mse]),
        ExactScore::Accuracy(share) => model.head.labels().is_some() && (0.0..=1.0).contains(&share),
    };
    if !model.measured.exact_score.is_none_or(of_its_kind) {
        return Err(ArtifactError::Shape("the error of the exact method and outputs"));
    }
    Ok(())
}

fn check_extras(model: &FittedModel) -> Result<(), ArtifactError> {
    let unsound = |trials: &FeatureTrials| !trials.is_consistent() || trials.feature_count != model.map.feature_count();
    if model.trials.as_ref().is_some_and(unsound) {
        return Err(ArtifactError::Shape("the trials of features"));
    }
    if model.learner_choice.is_some_and(|choice| !choice.is_consistent()) {
        return Err(ArtifactError::Shape("the choice of the learner"));
    }
    if model.search.as_ref().is_some_and(|search| !search.is_consistent()) {
        return Err(ArtifactError::Shape("the search for the kernel"));
    }
    let (s, k) = model.weights.dim();
    let columns = &model.inputs.encoding.columns;
    if model.explanations.as_ref().is_some_and(|found| !found.is_consistent(columns, k)) {
        return Err(ArtifactError::Shape("explanations and columns"));
    }
    if model.held_out.as_ref().is_some_and(|sample| !sample.is_consistent(&model.head)) {
        return Err(ArtifactError::Shape("held-out rows and outputs"));
    }
    let sound = |range: &ColumnRange| range.low.is_finite() && range.high.is_finite() && range.low <= range.high;
    let fit =
        |ranges: &ColumnRanges| ranges.columns.len() == columns.len() && ranges.columns.iter().flatten().all(sound);
    if !model.ranges.as_ref().is_none_or(fit) {
        return Err(ArtifactError::Shape("ranges and columns"));
    }
    if model.spread.as_ref().is_some_and(|spread| !spread.is_consistent(s, k)) {
        return Err(ArtifactError::Shape("spread and weights"));
    }
    if model.error_bars.as_ref().is_some_and(|bars| !bars.is_consistent(s, k)) {
        return Err(ArtifactError::Shape("error bars and weights"));
    }
    check_distance(model)?;
    let choices = model.evidence.as_ref().map(|evidence| evidence.choices);
    if let Some(Choices::FromList { kernels: 0, .. } | Choices::FromList { lambdas: 0, .. }) = choices {
        return Err(ArtifactError::Shape("a kernel and lambda from a list, and the length of that list"));
    }
    if model.statistics.as_ref().is_some_and(|statistics| !statistics.is_consistent(s, k)) {
        return Err(ArtifactError::Shape("statistics and weights"));
    }
    Ok(())
}

/// Checks what intervals and label sets are computed from.
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
