//! Scores of rows that took no part in the fit: what intervals and label sets rest on.

use crate::dataset::Part;
use crate::model::{FittedModel, Head, Predictor, TargetErrors};
use crate::theory::ScoreUnit;
use crate::training::rows::passes::Run;
use crate::training::stage::TrainError;
use crate::training::{IntervalRule, LambdaRule, Learner, TrainSpec};

/// Scores kept at most: a part of exchangeable rows is as good.
const KEPT_SCORES: usize = 10_000;

/// Notes the scores: |y − f| of numbers (of several targets the largest, each in units of its own training
/// error; if asked for, in units of the predictive spread), and of the true label how little supports it.
pub(crate) fn score(
    run: &Run,
    predictor: Predictor,
    spec: &TrainSpec,
    learner: Learner,
) -> Result<Predictor, TrainError> {
    let Some(part) = untouched_part(run, predictor.model(), spec, learner) else { return Ok(predictor) };
    let model = predictor.model();
    let (unit, scales) = units(model, spec.intervals);
    let scores = run.evaluate(&predictor, part, Vec::new(), |scores, block, predictions| {
        let spreads = match unit {
            ScoreUnit::Spread => predictor.spreads(&block.inputs().collect::<Vec<_>>()),
            ScoreUnit::Own | ScoreUnit::TrainingError => None,
        };
        for (row, (targets, values)) in block.targets().rows().into_iter().zip(predictions.rows()).enumerate() {
            match &model.head {
                Head::Numbers { .. } => {
                    let spreads = spreads.as_ref().map(|spreads| spreads.row(row).to_vec());
                    let scales = spreads.as_ref().unwrap_or(&scales);
                    let scale = |scale: &f64| scale.max(f64::MIN_POSITIVE);
                    let errors = targets.iter().zip(values).zip(scales).map(|((y, f), s)| (y - f).abs() / scale(s));
                    scores.push(errors.fold(0.0, f64::max));
                }
                Head::Labels(labels) => scores.push(labels.conformal_scores(&values.to_vec())[targets[0] as usize]),
            }
        }
    })?;
    let mut model = predictor.into_model();
    if let Some(evidence) = model.evidence.as_mut().filter(|_| !scores.is_empty()) {
        let step = scores.len().div_ceil(KEPT_SCORES);
        let mut kept: Vec<f64> = scores.into_iter().step_by(step).collect();
        kept.sort_by(f64::total_cmp);
        evidence.calibration_scores = Some(kept);
        evidence.score_unit = unit;
        model.interval_scales = scales;
    }
    Ok(Predictor::new(model))
}

/// Calibration rows: a slope that was fitted on them changes no score. Without them validation rows, unless λ was chosen
/// on them. Weighted rows stand for others, so no part of them is exchangeable with what comes.
fn untouched_part(run: &Run, model: &FittedModel, spec: &TrainSpec, learner: Learner) -> Option<Part> {
    let of_labels = model.head.labels().is_some();
    let free = |part: Part| match part {
        Part::Calibration => true,
        _ => !of_labels || learner.loss().is_none() || spec.lambda != LambdaRule::Search,
    };
    if spec.sample_weight.is_some() {
        return None;
    }
    [Part::Calibration, Part::Validation].into_iter().find(|&part| free(part) && run.rows.count(part) > 0)
}

/// What scores are measured in, and the scale of each target where it is the same for all rows.
fn units(model: &FittedModel, rule: IntervalRule) -> (ScoreUnit, Vec<f64>) {
    let targets = model.report.numbers().map_or(&[][..], |errors| &errors.targets);
    match (rule, targets) {
        (_, []) => (ScoreUnit::Own, Vec::new()),
        (IntervalRule::Scaled, _) => (ScoreUnit::Spread, vec![1.0; targets.len()]),
        (IntervalRule::Constant, [_]) => (ScoreUnit::Own, vec![1.0]),
        (IntervalRule::Constant, several) => {
            let error = |target: &TargetErrors| target.training_mse.sqrt().max(f64::MIN_POSITIVE);
            (ScoreUnit::TrainingError, several.iter().map(error).collect())
        }
    }
}
