//! The exact kernel method with what it leaves open chosen by its own leave-one-out errors, and whether it is kept instead
//! of random features: where their error is larger by more than chance.

use super::automatic::search_exact_kernel;
use super::choosing_rows::ChoosingRows;
use super::kernel_choice::KernelChoice;
use super::lambda_choice::LambdaChoice;
use super::metric::{Residuals, STANDARD_ERRORS, coded_rows, descend};
use super::search::Searched;
use crate::dataset::{Encoding, Part};
use crate::features::{FeatureMap, Kernel, Precision};
use crate::model::{InputPipeline, LearnerChoice};
use crate::solver::{DENSE_ROWS, KernelPath};
use crate::training::TrainSpec;
use crate::training::spec::grids::lambda_grid;
use crate::training::stage::{Stage, TrainError};

/// The share of the features' error by which the exact method has to be better, beside two standard errors: each method chose
/// among dozens of candidates by the same errors, which the standard error does not know of. On tables of a smooth function and
/// noise (480 rows, eight seeds) such a choice gained up to 3.1%, in two of them by more than two standard errors.
const LEAST_GAIN: f64 = 0.05;

/// The same as a share of the variance of the targets: below it both are as good as exact.
const LEAST_SHARE: f64 = 1e-4;

/// Steps of the grid between the λ that a search tries first: a factor of a hundred.
const COARSE_STEP: usize = 6;

/// The exact method with its best kernel and λ.
pub(crate) struct ExactAlternative {
    pub(crate) kernel: KernelChoice,
    pub(crate) lambda: LambdaChoice,
    /// Leave-one-out residuals of the training rows; none where a λ that the spec gives is too small for them.
    residuals: Option<Residuals>,
}

impl ChoosingRows<'_> {
    /// Whether all rows are at hand and can be factored at once.
    pub(crate) fn are_few(&self) -> bool {
        self.run.whole.is_none() && self.run.rows.count(Part::Training) <= DENSE_ROWS
    }

    /// Kernel and λ of the exact method, searched for where the spec leaves them open.
    pub(crate) fn exact_alternative(
        &self,
        encoding: &Encoding,
        spec: &TrainSpec,
    ) -> Result<ExactAlternative, TrainError> {
        let (run, coding) = (&self.run, &self.targets.coding);
        let kernel = match spec.search_size().filter(|_| spec.can_search_exactly()) {
            Some(size) => search_exact_kernel(run, (encoding, self.seen()), coding, spec, size)?,
            None => self.choose_kernel(encoding, spec)?,
        };
        let given = spec.resolve_lambda(run.total(Part::Training));
        if let (Some(lambda), true) = (given, spec.is_exact()) {
            return Ok(ExactAlternative { kernel, lambda: LambdaChoice::given(lambda), residuals: None });
        }
        let found = kernel.search.as_ref().map(|(report, _)| report.lambda());
        let path = self.kernel_path(&kernel.inputs, kernel.kernel)?;
        let grid = given.map_or_else(|| lambda_grid(Precision::Double, None), |lambda| vec![lambda]);
        let near = match found {
            None if given.is_none() => self.coarse_lambda(&path, &grid)?,
            found => found,
        };
        let (residuals, lambda) = match (descend(run, &path, &grid, near)?, given) {
            (Some((fit, _)), Some(lambda)) => (Some(Residuals::of(&fit.residuals)), LambdaChoice::given(lambda)),
            (Some((fit, points)), None) => {
                let searched = Searched::among(points, &fit.point, path.row_count());
                (Some(Residuals::of(&fit.residuals)), LambdaChoice::best_of(searched))
            }
            (None, Some(lambda)) => (None, LambdaChoice::given(lambda)),
            (None, None) => {
                let detail = "no lambda gives a finite leave-one-out error; set lambda to a number";
                return Err(TrainError::Data(detail.into()));
            }
        };
        Ok(ExactAlternative { kernel, lambda, residuals })
    }

    /// The best λ of a few over the whole grid.
    fn coarse_lambda(&self, path: &KernelPath, grid: &[f64]) -> Result<Option<f64>, TrainError> {
        let go_on = || !self.run.observer.should_stop();
        let mut best: Option<(f64, f64)> = None;
        for &lambda in grid.iter().step_by(COARSE_STEP) {
            let error = path.at(lambda, &go_on)?.and_then(|fit| fit.point.loo_mse).filter(|error| error.is_finite());
            best = match (error, best) {
                (Some(error), Some((_, smallest))) if error >= smallest => best,
                (Some(error), _) => Some((lambda, error)),
                (None, _) => best,
            };
        }
        Ok(best.map(|(lambda, _)| lambda))
    }

    /// K of the training rows.
    fn kernel_path(&self, inputs: &InputPipeline, kernel: Kernel) -> Result<KernelPath, TrainError> {
        let run = &self.run;
        let (points, targets) = coded_rows(run, &run.all_rows(), inputs, &self.targets.coding)?;
        let go_on = || !run.observer.should_stop();
        Ok(KernelPath::new(kernel, points.view(), targets.view(), run.threads, &go_on)?)
    }

    /// The exact method next to the features of a map at their λ, by leave-one-out errors of the same rows. None where λ is
    /// too small for one of them.
    pub(crate) fn weigh(
        &self,
        exact: &ExactAlternative,
        (inputs, map, lambda): (&InputPipeline, &FeatureMap, f64),
    ) -> Result<Option<LearnerChoice>, TrainError> {
        let run = &self.run;
        let Some(residuals) = &exact.residuals else { return Ok(None) };
        let (points, targets) = coded_rows(run, &run.all_rows(), inputs, &self.targets.coding)?;
        let features = map.projector::<f64>().transform(points.view());
        run.tick(Stage::Search, 0.95)?;
        let path = KernelPath::of_features(features.view(), targets.view(), run.threads);
        let Some((fit, _)) = descend(run, &path, &[lambda], None)? else { return Ok(None) };
        let features = Residuals::of(&fit.residuals);
        let (gain, gain_standard_error) = residuals.gain_over(&features);
        let variance = targets.iter().map(|target| target * target).sum::<f64>() / targets.len() as f64;
        let error = features.error();
        let by_chance = gain <= STANDARD_ERRORS * gain_standard_error;
        Ok(Some(LearnerChoice {
            exact: !by_chance && gain >= LEAST_GAIN * error && gain >= LEAST_SHARE * variance,
            features: map.feature_count(),
            rows: path.row_count(),
            features_loo_mse: error,
            exact_loo_mse: residuals.error(),
            gain_standard_error,
        }))
    }
}
