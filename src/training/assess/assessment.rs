//! What the rows tell about a fit.

use super::calibration::calibrated;
use super::conformal_scores::ConformalScores;
use super::errors::errors;
use super::explain::{explain, sample_held_out};
use super::feature_jackknife::jackknife;
use super::scored_function::ScoredFunction;
use crate::model::{ErrorReport, Explanations, Head, HeldOutSample, TargetCoding};
use crate::theory::{ErrorEstimates, ScoreUnit};
use crate::training::fit::Fit;
use crate::training::rows::run::Run;
use crate::training::stage::TrainError;
use crate::training::{Learner, TrainSpec};

/// Errors, probabilities, scores of intervals, and how much the draw of the features matters.
pub(crate) struct Assessment {
    /// With calibrated probabilities.
    pub(crate) head: Head,
    pub(crate) errors: ErrorReport,
    pub(crate) scores: Option<ConformalScores>,
    /// Estimated mean squared distance to the exact kernel method.
    pub(crate) estimates: ErrorEstimates,
    /// If asked for.
    pub(crate) explanations: Option<Explanations>,
    /// If rows were held out.
    pub(crate) held_out: Option<HeldOutSample>,
}

impl Assessment {
    /// `pooled` is the coding of all fitted rows, where they are those of the run.
    pub(crate) fn make(
        run: &Run,
        function: &ScoredFunction,
        (fit, head): (&Fit, Head),
        (spec, learner): (&TrainSpec, Learner),
        pooled: Option<&TargetCoding>,
    ) -> Result<Self, TrainError> {
        let head = calibrated(run, function, head, learner)?;
        let errors = errors(run, function, &head, fit.training_mse())?;
        let scores = ConformalScores::measure(run, function, (&head, fit.training_mse()), spec, learner)?;
        let in_spreads = scores.as_ref().is_some_and(|scores| scores.unit == ScoreUnit::Spread);
        Ok(Self {
            held_out: sample_held_out(run, function, &head, in_spreads)?,
            scores,
            estimates: jackknife(run, function, fit, pooled.map(|coding| (spec, coding)))?,
            explanations: if spec.explanations { Some(explain(run, function, &head, spec.seed)?) } else { None },
            errors,
            head,
        })
    }
}
