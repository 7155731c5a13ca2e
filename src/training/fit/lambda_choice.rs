//! λ: as the spec gives it, or by a search on features that the model does not use. A theorem on the feature draws then
//! holds at the λ that was found.

use super::search::{BANDWIDTH_SHARE, CodedRows, Searched};
use crate::dataset::Part;
use crate::features::{FeatureMap, Precision};
use crate::model::LossPoint;
use crate::solver::RidgePath;
use crate::training::TrainSpec;
use crate::training::rows::classes::check_total_weight;
use crate::training::spec::grids::lambda_grid;
use crate::training::stage::{Stage, TrainError};
use ndarray::Array2;

/// Rows that λ is searched on, some for every feature: beyond, the best λ changes slowly and the search would take as long
/// as the fit.
const SEARCH_ROWS: usize = 65_536;
const FEWEST_ROWS: usize = 16_384;
const ROWS_PER_FEATURE: usize = 8;

/// A λ that was found on a sample is off by no more than this factor: within it of the limit of mixed precision, the search
/// starts in f64, instead of making the Gram matrix a second time.
const NEAR: f64 = 10.0;

/// Where there are so many times more rows than the search uses, it starts in f64 too: its Gram matrix takes little of the
/// time, and one reduction of it takes less than two.
const FEW: usize = 4;

/// λ, and the search that chose it.
pub(crate) struct LambdaChoice {
    pub(crate) lambda: f64,
    /// Whether it was searched for and the best is the smallest that was tried.
    pub(crate) best_is_smallest: bool,
    /// By leave-one-out error or GCV.
    pub(crate) searched: Option<Searched>,
    /// By validation loss.
    pub(crate) losses: Vec<LossPoint>,
    /// The features of the search and the weights found on them, to start the exact method from.
    pub(crate) near: Option<(FeatureMap, Array2<f64>)>,
}

impl LambdaChoice {
    pub(crate) fn given(lambda: f64) -> Self {
        Self { lambda, best_is_smallest: false, searched: None, losses: Vec::new(), near: None }
    }

    pub(crate) fn best_of(searched: Searched) -> Self {
        let (lambda, best_is_smallest) = (searched.best().lambda, searched.is_at_the_small_end());
        Self { best_is_smallest, searched: Some(searched), ..Self::given(lambda) }
    }

    /// The one of smallest validation loss; `path` is in descending order.
    pub(crate) fn by_loss(lambda: f64, path: Vec<LossPoint>) -> Self {
        let best_is_smallest = path.last().is_some_and(|last| last.lambda == lambda);
        Self { best_is_smallest, losses: path, ..Self::given(lambda) }
    }

    /// The one of smallest leave-one-out error on the features of `map`: near one that was found on a sample by the system of
    /// the rows, where features outnumber them; otherwise in mixed precision first, and in f64 if the best λ is too small
    /// for that, or the one of the sample is nearly so.
    pub(crate) fn by_leave_one_out(
        rows: &CodedRows,
        spec: &TrainSpec,
        map: FeatureMap,
        found: Option<f64>,
    ) -> Result<Self, TrainError> {
        let (run, bound) = (rows.run, map.bound());
        let by_rows = found.filter(|_| !spec.is_exact() && run.has_fewer_rows_than(map.feature_count()));
        if let Some(searched) = by_rows.map(|near| rows.search_lambda_by_rows(&map, near)).transpose()?.flatten() {
            return Ok(Self::best_of(searched));
        }
        let from = if spec.bandwidth.is_searched() { BANDWIDTH_SHARE } else { 0.0 };
        let wanted = (ROWS_PER_FEATURE * spec.feature_count).clamp(FEWEST_ROWS, SEARCH_ROWS);
        let selection = run.sample(wanted);
        let few = run.rows.count(Part::Training) >= FEW * wanted;
        let expected = found.filter(|_| !spec.is_exact()).map_or(1.0, |lambda| lambda / NEAR);
        let mut precision =
            if few && !spec.is_exact() { Precision::Double } else { Precision::for_ridge(expected, bound) };
        loop {
            let tick = |done: f64| run.tick(Stage::Search, from + 0.9 * (1.0 - from) * done);
            let mut gram = run.accumulate(&selection, rows.inputs, (&map, precision), rows.coding, tick)?;
            check_total_weight(gram.weight(), "training")?;
            let target_mean = gram.centre_targets();
            let equations = gram.into_normal_equations();
            let path = RidgePath::new(&equations, run.threads);
            let (fitted, lambdas) = ((&selection, &target_mean), lambda_grid(precision, bound));
            let found = match precision {
                Precision::Mixed => rows.search_lambda::<f32>(&map, &path, fitted, &lambdas)?,
                Precision::Double => rows.search_lambda::<f64>(&map, &path, fitted, &lambdas)?,
            };
            // The exact learner's λ stays above what mixed precision can resolve.
            if precision == Precision::Mixed && !spec.is_exact() && found.is_at_the_small_end() {
                precision = Precision::Double;
                continue;
            }
            let choice = Self::best_of(found);
            if !spec.is_exact() {
                return Ok(choice);
            }
            let weights = path.solution(&equations, choice.lambda, run.threads)?.weights;
            return Ok(Self { near: Some((map, rows.coding.decode_weights(&weights))), ..choice });
        }
    }
}
