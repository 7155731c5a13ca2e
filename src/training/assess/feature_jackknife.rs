//! An estimate of the distance to the exact kernel method, by leaving out features, on inputs that were not fitted.

use super::scored_function::ScoredFunction;
use crate::dataset::Part;
use crate::model::{Function, TargetCoding};
use crate::solver::{
    ComparedRows, DrawError, FittedTargets, PoolPredictions, compared_rows, pool_multiple, pool_predictions,
};
use crate::theory::ours::jackknife::{LARGEST_BIAS, LARGEST_LEVERAGE, LARGEST_VARIANCE, interval_of_one_draw};
use crate::theory::{ErrorEstimates, JACKKNIFE_ROWS, JackknifeDetail};
use crate::training::TrainSpec;
use crate::training::fit::Fit;
use crate::training::rows::picked_rows::PickedRows;
use crate::training::rows::run::Run;
use crate::training::stage::TrainError;
use ndarray::Axis;

/// The estimate of the mean squared distance, summed over the targets: from a pool of more draws where `pooled` has the
/// spec and the coding of all fitted rows and the pool is affordable, otherwise from groups of the model's own draws.
/// It looks at inputs that were not fitted; where there are too few, at fitted ones that are left out in turn, which
/// takes a pool. No estimate where a few of them or the bias decide it, from groups where features have large leverages,
/// for a fit without error bars, and where neither is possible.
pub(crate) fn jackknife(
    run: &Run,
    function: &ScoredFunction,
    fit: &Fit,
    pooled: Option<(&TrainSpec, &TargetCoding)>,
) -> Result<ErrorEstimates, TrainError> {
    let nothing = ErrorEstimates::default();
    let Some(bars) = function.parts.error_bars else { return Ok(nothing) };
    let by_pool = match pooled {
        Some((spec, coding)) => of_pool(run, function.parts, fit.lambda, spec, coding)?,
        None => None,
    };
    let (error, detail) = if let Some((error, rows, left_out)) = by_pool {
        (error, (rows, left_out, true))
    } else {
        let rows = run.unfitted_rows(compared_rows(function.parts.map.feature_count()), true)?;
        let leverage = fit.ridge().and_then(|ridge| ridge.feature_leverage);
        if rows.count() < JACKKNIFE_ROWS || leverage.is_none_or(|leverage| leverage > LARGEST_LEVERAGE) {
            return Ok(nothing);
        }
        let without = bars.predictions(function.features(&rows.inputs()).view());
        let Some(error) = DrawError::from_groups(&without) else { return Ok(nothing) };
        (error, (rows.count(), false, false))
    };
    let (rows, left_out, pooled) = detail;
    let noisy = error.draw_variance + error.row_variance > LARGEST_VARIANCE;
    if noisy || (pooled && error.bias_share > LARGEST_BIAS) {
        return Ok(nothing);
    }
    let (low, high) = interval_of_one_draw(error.own, error.draw_variance, error.row_variance);
    let jackknife_detail = Some(JackknifeDetail { low, high, rows, left_out, pooled });
    Ok(ErrorEstimates { jackknife: Some(error.own), jackknife_detail, ..nothing })
}

/// From the draws of the model and more of the same kind: the estimate, the number of rows, and whether these were
/// fitted. None where it would cost too much, where draws depend on each other, and where rounding leaves nothing to
/// factor.
fn of_pool(
    run: &Run,
    function: Function,
    lambda: f64,
    spec: &TrainSpec,
    coding: &TargetCoding,
) -> Result<Option<(DrawError, usize, bool)>, TrainError> {
    let map = function.map;
    let affordable = pool_multiple(run.total(Part::Training), map.feature_count(), coding.width());
    let Some(multiple) = affordable.filter(|_| spec.sampling.draws_are_independent()) else { return Ok(None) };
    // Draw j depends on the seed and on j alone: the model's own are the first of them.
    let wide = spec.sample_map(map.kernel, multiple * map.feature_count(), map.input_dim());
    let features = (&wide, function.precision);
    let mut gram = run.accumulate(&run.all_rows(), function.inputs, features, coding, |_| run.stop_if_asked())?;
    let target_mean = gram.centre_targets();
    let equations = gram.into_normal_equations();

    let most = compared_rows(wide.feature_count());
    let unfitted = run.unfitted_rows(most, true)?;
    let left_out = unfitted.count() < JACKKNIFE_ROWS;
    let rows: PickedRows = if left_out { run.fitted_rows(most)? } else { unfitted };
    if rows.count() < JACKKNIFE_ROWS {
        return Ok(None);
    }
    let features = wide.projector::<f64>().transform(function.inputs.prepare(rows.inputs().into_iter()).view());
    let targets = coding.code(rows.targets()?.view()) - target_mean.view().insert_axis(Axis(0));
    let shares: Vec<f64> = rows.weights.iter().map(|weight| weight / equations.weight).collect();
    let fitted = left_out.then_some(FittedTargets { targets: targets.view(), shares: &shares });
    let compared = ComparedRows { features: features.view(), fitted };
    let counts = (wide.draw_count(), map.draw_count());
    let Ok(Some(found)) = pool_predictions(&equations, lambda, counts, &compared, run.threads) else {
        return Ok(None);
    };
    let found = PoolPredictions {
        whole: coding.decode_weights(&found.whole),
        rounds: found
            .rounds
            .iter()
            .map(|round| round.iter().map(|part| coding.decode_weights(part)).collect())
            .collect(),
    };
    let finite = found.rounds.iter().flatten().flatten().chain(&found.whole).all(|value| value.is_finite());
    Ok(DrawError::from_pool(&found).filter(|_| finite).map(|error| (error, rows.count(), left_out)))
}
