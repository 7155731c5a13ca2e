//! A fit, its assessment and its comparison become the fitted model.

use super::assess::assessment::Assessment;
use super::assess::comparison::Comparison;
use super::assess::evidence::{FittedRows, evidence};
use super::fit::{Fit, Learned};
use super::rows::run::Run;
use super::train::Repetitions;
use super::{Learner, TrainSpec};
use crate::dataset::{ColumnMoments, Part};
use crate::model::{
    ColumnRanges, FeatureTrials, FitReport, FittedModel, InputPipeline, LearnerChoice, MetricReport, SearchReport,
    Selection,
};
use crate::theory::{Evidence, PoolEvidence};

/// The version that rows were added to.
pub(super) struct BaseVersion {
    pub(super) version: u32,
    /// Rows that were added to its fit.
    pub(super) added_rows: usize,
    /// Rows that were kept apart when it was first trained.
    pub(super) design_rows: usize,
}

/// Everything a model is made of but its inputs.
pub(super) struct ModelParts<'a> {
    pub(super) run: &'a Run<'a>,
    pub(super) learner: Learner,
    /// Checked, and as JSON.
    pub(super) spec: (&'a TrainSpec, String),
    /// Id of the dataset.
    pub(super) dataset: &'a str,
    pub(super) metric: Option<MetricReport>,
    pub(super) learner_choice: Option<LearnerChoice>,
    pub(super) search: Option<SearchReport>,
    /// Of the inputs over the training rows.
    pub(super) moments: &'a [ColumnMoments],
    /// Of the input columns over all fitted rows, if they are known.
    pub(super) ranges: Option<ColumnRanges>,
    pub(super) fit: Fit,
    pub(super) fitted: FittedRows,
    pub(super) assessment: Assessment,
    /// None where no exact system was to be solved.
    pub(super) comparison: Option<Comparison>,
    /// Of an update.
    pub(super) base: Option<BaseVersion>,
    /// How rows chose the features, if they did, and what their pool tells.
    pub(super) chosen: (Option<Selection>, Option<PoolEvidence>),
    /// How rows settled the count or the sampling, if they did.
    pub(super) trials: Option<FeatureTrials>,
    pub(super) repetitions: Repetitions,
    pub(super) warnings: Vec<String>,
}

impl ModelParts<'_> {
    pub(super) fn build(self, inputs: InputPipeline) -> FittedModel {
        let Self { run, learner, spec: (spec, json), fit, fitted, assessment, comparison, base, .. } = self;
        let ((selection, pool), mut warnings) = (self.chosen, self.warnings);
        let evidence = evidence(spec, learner.loss_kind(), &fit, &fitted, &assessment, comparison.as_ref());
        let pool_degrees = selection.as_ref().map_or_else(Vec::new, |selection| selection.degrees.clone());
        let enough_features =
            self.trials.as_ref().and_then(|trials| trials.enough_draws(fit.map.kind.columns_per_draw()));
        let evidence = Evidence { pool: pool.or(evidence.pool), pool_degrees, enough_features, ..evidence };
        let (measured, missing) = comparison.map_or_else(Default::default, |found| (found.measured, found.warnings));
        warnings.extend(missing);
        let report = FitReport {
            training_rows: fitted.count,
            base_version: base.as_ref().map(|base| base.version),
            added_rows: base.as_ref().map(|base| base.added_rows),
            validation_rows: run.total(Part::Validation),
            calibration_rows: run.total(Part::Calibration),
            unlabelled_rows: run.total(Part::Unlabelled),
            design_rows: base.map_or(run.total(Part::Design), |base| base.design_rows),
            input_dim: inputs.input_dim(),
            constant_inputs: inputs.scaling.constant_count(),
            filled_cells: self.moments.iter().map(ColumnMoments::missing).sum(),
            largest_input: inputs.scaling.largest_scaled(self.moments),
            feature_count: fit.weights.nrows(),
            lambda: fit.lambda,
            bandwidth: fit.map.kernel.bandwidth(),
            precision: fit.precision,
            solver: fit.solver_report(),
            errors: assessment.errors,
            warnings,
        };
        let (spread, error_bars, statistics) = match fit.learned {
            Learned::Ridge(ridge) => (ridge.spread, ridge.error_bars, ridge.statistics),
            Learned::Exact(_) | Learned::Classifier(_) => (None, None, None),
        };
        FittedModel {
            // Decision values have no unit that error bars could be given in.
            error_bars: error_bars.filter(|_| assessment.head.labels().is_none()),
            head: assessment.head,
            inputs,
            ranges: self.ranges,
            missing: spec.missing,
            map: fit.map,
            selection,
            trials: self.trials,
            precision: fit.precision,
            weights: fit.weights,
            intercepts: fit.intercepts,
            spread,
            interval_scales: assessment.scores.map_or_else(Vec::new, |scores| scores.scales),
            statistics,
            spec: json,
            dataset: self.dataset.to_owned(),
            report,
            metric: self.metric,
            learner_choice: self.learner_choice,
            search: self.search,
            explanations: assessment.explanations,
            held_out: assessment.held_out,
            cross_validation: self.repetitions.cross_validation,
            learning_curve: self.repetitions.learning_curve,
            failure_probability: spec.guarantees.delta,
            evidence: Some(evidence),
            measured,
        }
    }
}
