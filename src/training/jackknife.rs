//! The mean of the error bars: an estimate of the distance to the exact kernel method.

use super::passes::Run;
use super::rows::RowBlock;
use super::stage::TrainError;
use crate::dataset::Part;
use crate::model::Predictor;

/// Rows the mean is taken over, about.
const ROWS: usize = 4_096;

/// Notes the mean squared error bar, summed over the targets, over validation rows, or over training rows where
/// there are none.
pub(super) fn jackknife(run: &Run, predictor: Predictor) -> Result<Predictor, TrainError> {
    if predictor.model().error_bars.is_none() {
        return Ok(predictor);
    }
    let part = if run.rows.count(Part::Validation) > 0 { Part::Validation } else { Part::Training };
    let mut block = RowBlock::default();
    let (mut sum, mut count) = (0.0, 0);
    // Blocks spread over the file, which may be sorted.
    let blocks = run.rows.block_count();
    let wanted = (ROWS * blocks).div_ceil(run.rows.count(part).max(1)).clamp(1, blocks.max(1));
    for index in (0..wanted.min(blocks)).map(|index| index * blocks / wanted) {
        run.rows.read(index, part, &mut block)?;
        let bars = predictor.error_bars(&block.inputs().collect::<Vec<_>>()).unwrap_or_default();
        sum += bars.iter().map(|bar| bar * bar).sum::<f64>();
        count += bars.nrows();
        run.stop_if_asked()?;
    }
    let mut model = predictor.into_model();
    // Bars of decision values have no unit to be told in: labels keep the mean alone.
    model.error_bars = model.error_bars.filter(|_| model.head.labels().is_none());
    if let Some(evidence) = model.evidence.as_mut().filter(|_| count > 0) {
        evidence.estimates.jackknife = Some(sum / count as f64);
    }
    Ok(Predictor::new(model))
}
