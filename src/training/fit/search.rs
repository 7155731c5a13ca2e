//! λ and bandwidth by leave-one-out error.

use crate::dataset::Part;
use crate::features::{FeatureMap, Precision, Wave};
use crate::model::{InputPipeline, TargetCoding};
use crate::solver::{PathPoint, RidgePath};
use crate::training::TrainSpec;
use crate::training::rows::row_selection::RowSelection;
use crate::training::rows::run::Run;
use crate::training::spec::grids::{bandwidth_at, between_octaves, octaves};
use crate::training::stage::{Stage, TrainError};
use ndarray::Array1;

/// Leave-one-out residuals are exact; their mean is taken over about this many rows, which gives it to within
/// about 2%, and its change with λ, over the same rows, much better.
pub(crate) const LOO_ROWS: usize = 4_096;

/// Rows, features and steps of a bandwidth search.
const SEARCH_ROWS: usize = 16_384;
const COARSE_FEATURES: usize = 512;
const FINE_FEATURES: usize = 2_048;

/// The share of the stage's progress that a bandwidth search takes; a search for λ takes the rest.
pub(crate) const BANDWIDTH_SHARE: f64 = 0.8;

/// The rows of a run, and how their cells become inputs and targets of a least-squares fit.
pub(crate) struct CodedRows<'a> {
    pub(crate) run: &'a Run<'a>,
    pub(crate) inputs: &'a InputPipeline,
    pub(crate) coding: &'a TargetCoding,
}

/// The path with leave-one-out errors, and which of its points is best.
pub(crate) struct Searched {
    pub(crate) points: Vec<PathPoint>,
    pub(crate) best: usize,
    pub(crate) loo_rows: usize,
}

impl Searched {
    /// The path without leave-one-out errors: the best point is that of the smallest GCV.
    pub(crate) fn by_gcv(path: &RidgePath, lambdas: &[f64]) -> Result<Self, TrainError> {
        let points: Vec<PathPoint> = lambdas.iter().filter_map(|&lambda| path.point(lambda)).collect();
        let best = best_of(&points.iter().map(|point| point.gcv).collect::<Vec<_>>())?;
        Ok(Self { points, best, loo_rows: 0 })
    }

    /// Points in descending order of λ, one of them the best, with errors over so many rows.
    pub(crate) fn among(points: Vec<PathPoint>, best: &PathPoint, loo_rows: usize) -> Self {
        let best = points.iter().position(|point| point == best).unwrap_or(0);
        Self { points, best, loo_rows }
    }

    pub(crate) fn best(&self) -> &PathPoint {
        &self.points[self.best]
    }

    /// Whether the best λ is the smallest that was tried, so that smaller ones might be better.
    pub(crate) fn is_at_the_small_end(&self) -> bool {
        self.best + 1 == self.points.len()
    }

    fn best_loo(&self) -> f64 {
        self.best().loo_mse.unwrap_or(f64::INFINITY)
    }
}

impl CodedRows<'_> {
    /// Leave-one-out error at every λ of the grid, over some of the `fitted` rows; the closed form is of these alone.
    pub(crate) fn search_lambda<T: Wave>(
        &self,
        map: &FeatureMap,
        path: &RidgePath,
        (fitted, target_mean): (&RowSelection, &Array1<f64>),
        lambdas: &[f64],
    ) -> Result<Searched, TrainError> {
        let selection = self.run.sample_of(fitted, LOO_ROWS);
        let coding = (self.coding, target_mean);
        let mut points: Vec<PathPoint> = lambdas.iter().filter_map(|&lambda| path.point(lambda)).collect();
        let lambdas: Vec<f64> = points.iter().map(|point| point.lambda).collect();
        let (errors, loo_rows) = self.run.leave_one_out::<T>(&selection, self.inputs, map, coding, path, &lambdas)?;
        points.iter_mut().zip(&errors).for_each(|(point, error)| point.loo_mse = Some(*error));
        let best = best_of(&errors.to_vec())?;
        Ok(Searched { points, best, loo_rows })
    }

    /// The bandwidth, between 1/16 and twice `rule`, whose leave-one-out error at its own best λ is
    /// smallest: coarsely on few features, then once more around the best on twice as many. All
    /// candidates share their random directions. With it comes that error, in the units of the coded targets.
    pub(crate) fn search_bandwidth(&self, spec: &TrainSpec, rule: f64) -> Result<(f64, f64), TrainError> {
        let (coarse, _) = self.search_coarsely(spec, rule)?;
        self.refine_bandwidth(spec, coarse)
    }

    /// The first step of that search, on few features.
    pub(crate) fn search_coarsely(&self, spec: &TrainSpec, rule: f64) -> Result<(f64, f64), TrainError> {
        const COARSE: [f64; 11] = [2.0, 1.414, 1.0, 0.707, 0.5, 0.354, 0.25, 0.177, 0.125, 0.088, 0.0625];
        let coarse: Vec<f64> = COARSE.iter().map(|factor| rule * factor).collect();
        self.best_bandwidth(spec, &coarse, COARSE_FEATURES, (0.0, 0.6))
    }

    /// The best bandwidth around one that was found on few features.
    pub(crate) fn refine_bandwidth(&self, spec: &TrainSpec, coarse: f64) -> Result<(f64, f64), TrainError> {
        const FINE: [f64; 5] = [1.189, 1.0, 0.841, 0.707, 0.595];
        let fine: Vec<f64> = FINE.iter().map(|factor| coarse * factor).collect();
        self.best_bandwidth(spec, &fine, FINE_FEATURES, (0.6, BANDWIDTH_SHARE))
    }

    /// The same over the list that is fixed in advance: powers of two, then what lies between.
    pub(crate) fn search_grid(&self, spec: &TrainSpec) -> Result<(f64, f64), TrainError> {
        let coarse: Vec<f64> = octaves().map(bandwidth_at).collect();
        let (coarse, _) = self.best_bandwidth(spec, &coarse, COARSE_FEATURES, (0.0, 0.6))?;
        let step = octaves().find(|step| bandwidth_at(*step) == coarse).unwrap_or(0);
        let fine: Vec<f64> = [step].into_iter().chain(between_octaves(step)).map(bandwidth_at).collect();
        self.best_bandwidth(spec, &fine, FINE_FEATURES, (0.6, BANDWIDTH_SHARE))
    }

    /// The best of some bandwidths with its error, from one share of the stage's progress to another.
    fn best_bandwidth(
        &self,
        spec: &TrainSpec,
        candidates: &[f64],
        feature_count: usize,
        (from, to): (f64, f64),
    ) -> Result<(f64, f64), TrainError> {
        let mut best = (candidates[0], f64::INFINITY);
        for (tried, &bandwidth) in candidates.iter().enumerate() {
            let error = self.error_at(spec, bandwidth, feature_count.min(spec.feature_count))?;
            if error < best.1 {
                best = (bandwidth, error);
            }
            self.run.tick(Stage::Search, from + (to - from) * (tried + 1) as f64 / candidates.len() as f64)?;
        }
        Ok(best)
    }

    /// Leave-one-out error of one bandwidth at the λ of the spec or else its best one, on a sample of rows, in f64.
    fn error_at(&self, spec: &TrainSpec, bandwidth: f64, feature_count: usize) -> Result<f64, TrainError> {
        let kernel = spec.kernel.with_bandwidth(bandwidth);
        let map = spec.sample_search_map(kernel, feature_count, self.inputs.input_dim());
        let selection = self.run.sample(SEARCH_ROWS);
        let features = (&map, Precision::Double);
        let mut gram =
            self.run.accumulate(&selection, self.inputs, features, self.coding, |_| self.run.stop_if_asked())?;
        let target_mean = gram.centre_targets();
        let path = RidgePath::new(&gram.into_normal_equations(), self.run.threads);
        let lambdas = spec.compared_lambdas(self.run.total(Part::Training), 1);
        Ok(self.search_lambda::<f64>(&map, &path, (&selection, &target_mean), &lambdas)?.best_loo())
    }
}

/// The place of the smallest finite error.
pub(crate) fn best_of(errors: &[f64]) -> Result<usize, TrainError> {
    let finite = (0..errors.len()).filter(|&index| errors[index].is_finite());
    let best = finite.min_by(|&left, &right| errors[left].total_cmp(&errors[right]));
    best.ok_or_else(|| TrainError::Data("no lambda gives a finite leave-one-out error; set lambda to a number".into()))
}
