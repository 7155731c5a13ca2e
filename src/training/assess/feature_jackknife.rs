//! An estimate of the distance to the exact kernel method, by leaving out features.

use crate::dataset::Part;
use crate::features::{Precision, Projector};
use crate::model::{FittedModel, Predictor, TargetCoding};
use crate::solver::{COMPARED_ROWS, pool_multiple, subset_departures, subset_error};
use crate::training::TrainSpec;
use crate::training::rows::parted_rows::RowBlock;
use crate::training::rows::passes::Run;
use crate::training::stage::TrainError;
use ndarray::{Array2, Axis};

/// Notes the estimate of the mean squared distance, summed over the targets, over validation rows, or over training rows
/// where there are none: from a pool of more draws where `pooled` has the spec and the coding of all training
/// rows, and the pool is affordable, and otherwise as the mean squared error bar.
pub(crate) fn jackknife(
    run: &Run,
    predictor: Predictor,
    pooled: Option<(&TrainSpec, &TargetCoding)>,
) -> Result<Predictor, TrainError> {
    if predictor.model().error_bars.is_none() {
        return Ok(predictor);
    }
    let pool = match pooled {
        Some((spec, coding)) => Pool::draw(run, predictor.model(), spec, coding)?,
        None => None,
    };
    let error = run.mean_over_rows(|block| {
        if let Some(pool) = &pool {
            return pool.squares(predictor.model(), block);
        }
        let bars = predictor.error_bars(&block.inputs().collect::<Vec<_>>()).unwrap_or_default();
        bars.iter().map(|bar| bar * bar).sum()
    })?;
    let mut model = predictor.into_model();
    // Bars of decision values have no unit to be told in: labels keep the mean alone.
    model.error_bars = model.error_bars.filter(|_| model.head.labels().is_none());
    if let Some(evidence) = &mut model.evidence {
        evidence.estimates.jackknife = error;
    }
    Ok(Predictor::new(model))
}

impl Run<'_> {
    /// The mean over some rows of what `sum` adds up for a block of them; none without rows.
    fn mean_over_rows(&self, sum: impl Fn(&RowBlock) -> f64) -> Result<Option<f64>, TrainError> {
        let part = if self.rows.count(Part::Validation) > 0 { Part::Validation } else { Part::Training };
        let mut block = RowBlock::default();
        let (mut total, mut count) = (0.0, 0);
        // Blocks spread over the file, which may be sorted.
        let blocks = self.rows.block_count();
        let wanted = (COMPARED_ROWS * blocks).div_ceil(self.rows.count(part).max(1)).clamp(1, blocks.max(1));
        for index in (0..wanted.min(blocks)).map(|index| index * blocks / wanted) {
            self.rows.read(index, part, &mut block)?;
            total += sum(&block);
            count += block.inputs().count();
            self.stop_if_asked()?;
        }
        Ok((count > 0).then(|| total / count as f64))
    }
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
        model: &FittedModel,
        spec: &TrainSpec,
        coding: &TargetCoding,
    ) -> Result<Option<Self>, TrainError> {
        let affordable = pool_multiple(model.report.training_rows, model.map.feature_count(), coding.width());
        let Some(multiple) = affordable.filter(|_| spec.sampling.draws_are_independent()) else { return Ok(None) };
        // Draw j depends on the seed and on j alone: the model's own are the first of them.
        let columns = multiple * model.map.feature_count();
        let map = spec.sample_map(model.map.kernel, columns, model.map.input_dim());
        let (blocks, inputs) = (run.all_blocks(), &model.inputs);
        let tick = |_| run.stop_if_asked();
        let mut gram = match model.precision {
            Precision::Mixed => run.accumulate::<f32>(&blocks, inputs, &map, coding, tick)?,
            Precision::Double => run.accumulate::<f64>(&blocks, inputs, &map, coding, tick)?,
        };
        gram.centre_targets();
        let (equations, counts) = (gram.into_normal_equations(), (map.draw_count(), model.map.draw_count()));
        let Ok(mut departures) = subset_departures(&equations, model.report.lambda, counts, run.threads) else {
            return Ok(None);
        };
        for mut of_model in departures.axis_chunks_iter_mut(Axis(1), coding.width()) {
            let decoded = coding.decode_weights(&of_model.to_owned());
            of_model.assign(&decoded);
        }
        let finite = departures.iter().all(|departure| departure.is_finite());
        Ok(finite.then(|| Self { projector: map.projector(), counts, departures }))
    }

    /// The estimated squares of the rows of a block, added up.
    fn squares(&self, model: &FittedModel, block: &RowBlock) -> f64 {
        let features = self.projector.transform(model.inputs.prepare(block.inputs()).view());
        if features.nrows() == 0 {
            return 0.0;
        }
        let mean = subset_error(features.view(), self.departures.view(), model.intercepts.len(), self.counts);
        features.nrows() as f64 * mean
    }
}
