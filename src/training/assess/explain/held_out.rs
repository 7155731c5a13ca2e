//! Held-out rows with what the function says about them.

use super::sample::RowSample;
use crate::dataset::Part;
use crate::model::{Head, HeldOutSample};
use crate::training::assess::scored_function::ScoredFunction;
use crate::training::rows::run::Run;
use crate::training::stage::TrainError;

/// Most rows that are kept: more points are a blot.
const MOST_ROWS: usize = 1000;

/// Most outputs that are kept, so that a file with hundreds of labels stays small.
const MOST_OUTPUTS: usize = 20_000;

/// A sample of the validation rows; none if there are none. `in_spreads` says whether intervals are measured in the
/// predictive spread.
pub(crate) fn sample_held_out(
    run: &Run,
    function: &ScoredFunction,
    head: &Head,
    in_spreads: bool,
) -> Result<Option<HeldOutSample>, TrainError> {
    let wanted = (MOST_OUTPUTS / head.output_count().max(1)).clamp(1, MOST_ROWS);
    let rows = RowSample::read(run, Part::Validation, wanted)?;
    if rows.count() == 0 {
        return Ok(None);
    }
    let codes: Vec<&[f64]> = rows.rows().collect();
    let numbers = |values: ndarray::Array2<f64>| values.iter().copied().collect::<Vec<f64>>();
    let spreads = if in_spreads { function.spreads(&codes) } else { None };
    let sample = HeldOutSample {
        available: run.total(Part::Validation),
        targets: rows.targets.concat(),
        outputs: numbers(function.predict(&codes)),
        weights: if rows.weights.iter().all(|weight| *weight == 1.0) { Vec::new() } else { rows.weights.clone() },
        spreads: spreads.map_or_else(Vec::new, numbers),
    };
    // A prediction that overflows has no place in a picture.
    Ok(Some(sample).filter(|sample| sample.is_consistent(head)))
}
