//! The fresh-feature estimate: how much features that were not drawn would change.

use crate::features::{FeatureMap, Sampling};
use crate::model::Function;
use crate::solver::{FreshSums, NormalEquations, SolveError};
use crate::theory::ours::fresh_features::influence_variance;
use crate::training::spec::memory::BLOCK_ROWS;
use ndarray::{ArrayView2, Axis};

/// Fresh draws.
const DRAWS: usize = 64;

/// Seed of the fresh draws, unlike any that a user is likely to choose.
const SEED: u64 = 0xf2e5_4fea_7012_e500;

/// Rows it is evaluated on.
const ROWS: usize = 2_048;

/// The estimate of E(f_s − f)², summed over the targets, on some of the held-out inputs. Targets are centred, and
/// weights those of the model in their units.
pub(crate) fn fresh_feature_error(
    (function, lambda): (Function, f64),
    (inputs, targets): (ArrayView2<f64>, ArrayView2<f64>),
    held_out: ArrayView2<f64>,
    equations: &NormalEquations,
    threads: usize,
) -> Result<Option<f64>, SolveError> {
    let map = function.map;
    let columns = map.kind.columns_per_draw() * DRAWS;
    let fresh = FeatureMap::sample(map.kernel, map.kind, Sampling::Plain, SEED, columns, inputs.ncols());
    let (own, fresh) = (map.projector::<f64>(), fresh.projector::<f64>());
    let unscaled = |inputs: ArrayView2<f64>| fresh.transform(inputs) * (DRAWS as f64).sqrt();
    let mut sums = FreshSums::new(map.feature_count(), columns, targets.ncols());
    for (inputs, targets) in
        inputs.axis_chunks_iter(Axis(0), BLOCK_ROWS).zip(targets.axis_chunks_iter(Axis(0), BLOCK_ROWS))
    {
        let features = own.transform(inputs);
        let residuals = &targets - &features.dot(function.weights);
        sums.add(features.view(), unscaled(inputs).view(), residuals.view());
    }
    let influences = sums.finish(equations, lambda, DRAWS, threads)?;
    let rows = held_out.nrows().min(ROWS);
    if rows == 0 {
        return Ok(None);
    }
    // Spread over all of them, because the file may be sorted.
    let spread: Vec<usize> = (0..rows).map(|index| index * held_out.nrows() / rows).collect();
    let held_out = held_out.select(Axis(0), &spread);
    let held_out = held_out.view();
    let variances = influences.at(own.transform(held_out).view(), unscaled(held_out).view());
    let of_row = |row: ndarray::ArrayView1<f64>| influence_variance(&row.to_vec(), map.draw_count());
    let sum: f64 = variances.iter().flat_map(|of_target| of_target.rows().into_iter().map(of_row)).sum();
    Ok(Some(sum / rows as f64))
}
