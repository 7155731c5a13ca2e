//! Feature counts and samplings tried on a sample of rows: fitted on three quarters of it, measured on the rest, which no
//! choice of features has seen. The draws are not those of the model.

use super::choose_features;
use crate::dataset::Part;
use crate::features::{FeatureMap, Kernel, Precision};
use crate::model::{FeatureTrial, FeatureTrials, InputPipeline, TargetCoding};
use crate::solver::{RidgePath, solve_ridge};
use crate::theory::papers::rudi_rosasco::worst_case_rate;
use crate::training::TrainSpec;
use crate::training::fit::search::CodedRows;
use crate::training::rows::parted_rows::RowBlock;
use crate::training::rows::row_selection::RowSelection;
use crate::training::rows::run::Run;
use crate::training::spec::grids::lambda_grid;
use crate::training::spec::open_choices::CANDIDATES;
use crate::training::stage::{Stage, TrainError};
use ndarray::{Array1, Array2, Axis};

/// Rows of the sample.
const SAMPLE_ROWS: usize = 16_384;

/// A count is enough if its error is at most this many times that of the largest count tried. [R, §4]
const CLOSE: f64 = 1.05;

/// Settles what the spec leaves open. The trials belong in the report.
pub(crate) fn settle(
    rows: &CodedRows,
    spec: &TrainSpec,
    kernel: Kernel,
    training_rows: usize,
) -> Result<(TrainSpec, Option<FeatureTrials>), TrainError> {
    if !spec.open.any() {
        return Ok((spec.clone(), None));
    }
    let tries = Tries::new(rows, kernel, training_rows)?;
    let mut found = FeatureTrials {
        fitted_rows: tries.fitted_rows,
        tested_rows: tries.tested_rows,
        counts: Vec::new(),
        samplings: Vec::new(),
        feature_count: spec.feature_count,
        sampling: spec.sampling.name().to_owned(),
        enough: None,
    };
    let mut settled = spec.clone();
    if spec.open.count {
        let ladder = spec.ladder(tries.fitted_rows);
        for (index, count) in ladder.iter().enumerate() {
            found.counts.push(tries.trial(&spec.with_count(*count))?);
            rows.run.tick(Stage::Choose, 0.7 * (index + 1) as f64 / ladder.len() as f64)?;
        }
        let enough = smallest_close(&found.counts);
        found.enough = Some(enough);
        found.feature_count = tries.for_all_rows(enough, spec);
        settled = settled.with_count(found.feature_count);
    }
    if spec.open.sampling {
        for (index, sampling) in CANDIDATES.into_iter().enumerate() {
            found.samplings.push(tries.trial(&settled.with_sampling(sampling))?);
            rows.run.tick(Stage::Choose, 0.7 + 0.3 * (index + 1) as f64 / CANDIDATES.len() as f64)?;
        }
        let best = found.samplings.iter().enumerate().min_by(|(_, a), (_, b)| f64::total_cmp(&a.error, &b.error));
        let sampling = CANDIDATES[best.map_or(0, |(index, _)| index)];
        sampling.name().clone_into(&mut found.sampling);
        settled = settled.with_sampling(sampling);
    }
    Ok((settled, Some(found)))
}

/// The smallest count whose error is close to that of the largest.
fn smallest_close(counts: &[FeatureTrial]) -> usize {
    let last = counts.last().map_or(f64::INFINITY, |trial| trial.error);
    let close = counts.iter().find(|trial| trial.error <= CLOSE * last);
    close.or(counts.last()).map_or(0, |trial| trial.features)
}

/// The rows that trials are fitted and measured on.
struct Tries<'a> {
    run: Run<'a>,
    inputs: &'a InputPipeline,
    coding: &'a TargetCoding,
    kernel: Kernel,
    selection: RowSelection,
    fitted_rows: usize,
    tested_rows: usize,
    /// Of the fit that the trials are for.
    training_rows: usize,
}

impl<'a> Tries<'a> {
    fn new(rows: &CodedRows<'a>, kernel: Kernel, training_rows: usize) -> Result<Self, TrainError> {
        let selection = rows.run.sample(SAMPLE_ROWS);
        let tried = rows.run.rows.for_trials(selection.iter().flatten().cloned());
        let run = Run::new(tried, rows.run.threads, rows.run.observer).weighing(rows.run.class_weights.clone());
        let (fitted_rows, tested_rows) = (run.rows.count(Part::Training), run.rows.count(Part::Validation));
        if fitted_rows < 2 || tested_rows < 1 {
            let detail =
                "too few training rows to try feature counts or samplings on; set features.count and features.sampling";
            return Err(TrainError::Data(detail.into()));
        }
        let (inputs, coding) = (rows.inputs, rows.coding);
        Ok(Self { run, inputs, coding, kernel, selection, fitted_rows, tested_rows, training_rows })
    }

    /// As many times the count of the trials as the features of R's Theorem 1 grow with the rows, within the cap.
    fn for_all_rows(&self, enough: usize, spec: &TrainSpec) -> usize {
        let (bound, delta) = (spec.map.bound(spec.kernel), spec.guarantees.delta);
        let draws = |rows: usize| bound.map(|b| worst_case_rate(b, rows, delta).draws);
        let growth = draws(self.training_rows).zip(draws(self.fitted_rows)).map_or(1.0, |(all, tried)| all / tried);
        let per_draw = spec.map.columns_per_draw();
        let count = (enough as f64 * growth.max(1.0)).ceil() as usize;
        count.next_multiple_of(per_draw).min(spec.feature_count)
    }

    /// One fit, measured on the rows that it has not seen.
    fn trial(&self, spec: &TrainSpec) -> Result<FeatureTrial, TrainError> {
        let (run, inputs, coding) = (&self.run, self.inputs, self.coding);
        let rows = CodedRows { run, inputs, coding };
        let own = TrainSpec { seed: FeatureMap::seed_for_searches(spec.seed), ..spec.clone() };
        let map = choose_features(&rows, &own, self.kernel)?.map;
        let stop = |_| run.stop_if_asked();
        let mut gram = run.accumulate(&self.selection, inputs, (&map, Precision::Double), coding, stop)?;
        let mean = gram.centre_targets();
        let equations = gram.into_normal_equations();
        let weights = if let Some(lambda) = spec.resolve_lambda(self.training_rows) {
            solve_ridge(&equations, lambda, run.threads)?.weights
        } else {
            let path = RidgePath::new(&equations, run.threads);
            let grid = lambda_grid(Precision::Double, None);
            let found = rows.search_lambda::<f64>(&map, &path, (&self.selection, &mean), &grid)?;
            path.solution(&equations, found.best().lambda, run.threads)?.weights
        };
        let error = self.error(&map, &weights, &mean)?;
        Ok(FeatureTrial { sampling: spec.sampling.name().to_owned(), features: map.feature_count(), error })
    }

    /// Squared error on the rows that were not fitted, over that of the mean of the fitted targets.
    fn error(&self, map: &FeatureMap, weights: &Array2<f64>, mean: &Array1<f64>) -> Result<f64, TrainError> {
        let projector = map.projector::<f64>();
        let mut block = RowBlock::default();
        let (mut sum, mut total) = (0.0, 0.0);
        for stretches in self.selection.iter() {
            self.run.rows.read_stretches(stretches, Part::Validation, &mut block)?;
            let features = projector.transform(self.inputs.prepare(block.inputs()).view());
            let values = features.dot(weights) + mean.view().insert_axis(Axis(0));
            let targets = self.coding.code(block.targets());
            let squares =
                |differences: Array2<f64>| differences.mapv(|difference| difference * difference).sum_axis(Axis(1));
            let errors = squares(&targets - &values);
            let deviations = squares(&targets - &mean.view().insert_axis(Axis(0)));
            for (row, (error, deviation)) in errors.iter().zip(&deviations).enumerate() {
                sum += block.weight(row) * error;
                total += block.weight(row) * deviation;
            }
            self.run.stop_if_asked()?;
        }
        let error = sum / total;
        if error.is_finite() {
            return Ok(error);
        }
        let detail = "a trial of features has no finite error; set features.count and features.sampling";
        Err(TrainError::Data(detail.into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_count_within_five_percent_of_the_largest_is_enough() {
        let trial = |features, error| FeatureTrial { sampling: "plain".into(), features, error };
        let errors = [trial(32, 2.0), trial(64, 1.06), trial(128, 1.04), trial(256, 1.01), trial(512, 1.0)];
        assert_eq!(smallest_close(&errors), 128);
        assert_eq!(smallest_close(&errors[..1]), 32);
        assert_eq!(smallest_close(&[trial(32, 0.5), trial(64, 1.0)]), 32, "fewer features may be better");
    }
}
