//! Scores of rows that took no part in the fit: the basis of intervals and label sets.

use super::scored_function::ScoredFunction;
use crate::dataset::Part;
use crate::model::Head;
use crate::theory::ScoreUnit;
use crate::training::rows::run::Run;
use crate::training::stage::TrainError;
use crate::training::{IntervalRule, LambdaRule, Learner, TrainSpec};

/// Scores kept at most: a part of exchangeable rows is as good.
const KEPT_SCORES: usize = 10_000;

/// |y − f| of numbers (of several targets the largest, each in units of its own training error; if asked for, in units
/// of the predictive spread), and for labels one minus the probability of the true one.
pub(crate) struct ConformalScores {
    /// Ascending.
    pub(crate) scores: Vec<f64>,
    pub(crate) unit: ScoreUnit,
    /// Of each target where it is the same for all rows; empty for labels.
    pub(crate) scales: Vec<f64>,
}

impl ConformalScores {
    /// None where every held-out row took part in a choice.
    pub(crate) fn measure(
        run: &Run,
        function: &ScoredFunction,
        (head, training_mse): (&Head, &[f64]),
        spec: &TrainSpec,
        learner: Learner,
    ) -> Result<Option<Self>, TrainError> {
        let Some(part) = untouched_part(run, head, spec, learner) else { return Ok(None) };
        let (unit, scales) = units(head, training_mse, spec.intervals);
        let predict = |rows: &[&[f64]]| function.predict(rows);
        let scores = run.evaluate(part, predict, Vec::new(), |scores: &mut Vec<f64>, block, predictions| {
            let spreads = match unit {
                ScoreUnit::Spread => function.spreads(&block.inputs().collect::<Vec<_>>()),
                ScoreUnit::Own | ScoreUnit::TrainingError => None,
            };
            for (row, (targets, values)) in block.targets().rows().into_iter().zip(predictions.rows()).enumerate() {
                match head {
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
        if scores.is_empty() {
            return Ok(None);
        }
        let step = scores.len().div_ceil(KEPT_SCORES);
        let mut scores: Vec<f64> = scores.into_iter().step_by(step).collect();
        scores.sort_by(f64::total_cmp);
        Ok(Some(Self { scores, unit, scales }))
    }
}

/// Calibration rows: a slope that was fitted on them changes no score. Without them validation rows, unless λ was chosen
/// on them. Weighted rows stand for others, so no part of them is exchangeable with new rows.
fn untouched_part(run: &Run, head: &Head, spec: &TrainSpec, learner: Learner) -> Option<Part> {
    let of_labels = head.labels().is_some();
    let chose_lambda = spec.lambda == LambdaRule::Search && spec.design_fraction == 0.0;
    let by_validation = of_labels && learner.loss().is_some() && chose_lambda;
    let free = |part: Part| part == Part::Calibration || !by_validation;
    if spec.sample_weight.is_some() {
        return None;
    }
    [Part::Calibration, Part::Validation].into_iter().find(|&part| free(part) && run.rows.count(part) > 0)
}

/// What scores are measured in, and the scale of each target where it is the same for all rows.
fn units(head: &Head, training_mse: &[f64], rule: IntervalRule) -> (ScoreUnit, Vec<f64>) {
    match (head, rule, training_mse) {
        (Head::Labels(_), ..) => (ScoreUnit::Own, Vec::new()),
        (Head::Numbers { .. }, IntervalRule::Scaled, targets) => (ScoreUnit::Spread, vec![1.0; targets.len()]),
        (Head::Numbers { .. }, IntervalRule::Constant, [_]) => (ScoreUnit::Own, vec![1.0]),
        (Head::Numbers { .. }, IntervalRule::Constant, several) => {
            let error = |mse: &f64| mse.sqrt().max(f64::MIN_POSITIVE);
            (ScoreUnit::TrainingError, several.iter().map(error).collect())
        }
    }
}
