//! An estimate of the distance to the exact kernel method, by leaving out features.

use super::scored_function::ScoredFunction;
use crate::dataset::Part;
use crate::features::Projector;
use crate::model::{Function, TargetCoding};
use crate::solver::{COMPARED_ROWS, pool_multiple, subset_departures, subset_error};
use crate::training::TrainSpec;
use crate::training::rows::parted_rows::RowBlock;
use crate::training::rows::run::Run;
use crate::training::stage::TrainError;
use ndarray::{Array2, Axis};

/// The estimate of the mean squared distance, summed over the targets, over validation rows, or over training rows
/// where there are none: from a pool of more draws where `pooled` has the spec and the coding of all fitted rows
/// and the pool is affordable, otherwise the mean squared error bar. None for a fit without error bars.
pub(crate) fn jackknife(
    run: &Run,
    function: &ScoredFunction,
    lambda: f64,
    pooled: Option<(&TrainSpec, &TargetCoding)>,
) -> Result<Option<f64>, TrainError> {
    if function.parts.error_bars.is_none() {
        return Ok(None);
    }
    let pool = match pooled {
        Some((spec, coding)) => Pool::draw(run, function.parts, lambda, spec, coding)?,
        None => None,
    };
    let part = if run.rows.count(Part::Validation) > 0 { Part::Validation } else { Part::Training };
    run.mean_over_rows(part, COMPARED_ROWS, |block| {
        if let Some(pool) = &pool {
            return pool.squares(function.parts, block);
        }
        let bars = function.error_bars(&block.inputs().collect::<Vec<_>>()).unwrap_or_default();
        bars.iter().map(|bar| bar * bar).sum()
    })
}

/// The draws of a model and more of the same kind.
struct Pool {
    projector: Projector<f64>,
    /// M, and m of the model.
    counts: (usize, usize),
    /// In the units of the targets.
    departures: Array2<f64>,
}

impl Pool {
    /// None where it would cost too much, where draws depend on each other, and where rounding leaves nothing to
    /// factor.
    fn draw(
        run: &Run,
        function: Function,
        lambda: f64,
        spec: &TrainSpec,
        coding: &TargetCoding,
    ) -> Result<Option<Self>, TrainError> {
        let map = function.map;
        let affordable = pool_multiple(run.rows.count(Part::Training), map.feature_count(), coding.width());
        let Some(multiple) = affordable.filter(|_| spec.sampling.draws_are_independent()) else { return Ok(None) };
        // Draw j depends on the seed and on j alone: the model's own are the first of them.
        let wide = spec.sample_map(map.kernel, multiple * map.feature_count(), map.input_dim());
        let features = (&wide, function.precision);
        let mut gram = run.accumulate(&run.all_rows(), function.inputs, features, coding, |_| run.stop_if_asked())?;
        gram.centre_targets();
        let (equations, counts) = (gram.into_normal_equations(), (wide.draw_count(), map.draw_count()));
        let Ok(mut departures) = subset_departures(&equations, lambda, counts, run.threads) else {
            return Ok(None);
        };
        for mut of_model in departures.axis_chunks_iter_mut(Axis(1), coding.width()) {
            let decoded = coding.decode_weights(&of_model.to_owned());
            of_model.assign(&decoded);
        }
        let finite = departures.iter().all(|departure| departure.is_finite());
        Ok(finite.then(|| Self { projector: wide.projector(), counts, departures }))
    }

    /// The estimated squares of the rows of a block, added up.
    fn squares(&self, function: Function, block: &RowBlock) -> f64 {
        let features = self.projector.transform(function.inputs.prepare(block.inputs()).view());
        if features.nrows() == 0 {
            return 0.0;
        }
        let mean = subset_error(features.view(), self.departures.view(), function.intercepts.len(), self.counts);
        features.nrows() as f64 * mean
    }
}
