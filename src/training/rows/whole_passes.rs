//! Passes over all rows of a table that is too large to be at hand.

use crate::dataset::{ColumnMoments, MomentSums, Part};
use crate::features::{FeatureMap, Precision};
use crate::model::{Function, InputPipeline, TargetCoding};
use crate::solver::{GramGrid, GramSums};
use crate::training::stage::TrainError;

/// Takes the share of a pass that is done; an error ends the pass.
pub(crate) type Tick<'t> = dyn Fn(f64) -> Result<(), TrainError> + Sync + 't;

/// The errors of one target over validation rows.
pub(crate) struct TargetMoments {
    /// Of |y − f|.
    pub(crate) errors: ColumnMoments,
    /// Of y.
    pub(crate) values: ColumnMoments,
}

/// What training asks of all rows where only a sample of them is at hand. The answers do not depend on where the rows are,
/// on how many machines read them, nor on the order in which parts of them are read.
pub(crate) trait WholePasses: Sync {
    /// Rows of a part.
    fn count(&self, part: Part) -> usize;

    /// Moments of every encoded input and of every target over the rows of a part.
    fn moments(&self, part: Part, tick: &Tick) -> Result<(Vec<MomentSums>, Vec<MomentSums>), TrainError>;

    /// The sums of the features and coded targets of the training rows.
    fn gram(
        &self,
        inputs: &InputPipeline,
        features: (&FeatureMap, Precision),
        coding: &TargetCoding,
        grid: GramGrid,
        tick: &Tick,
    ) -> Result<GramSums, TrainError>;

    /// The errors of a function on the validation rows, target by target.
    fn errors(&self, function: Function, tick: &Tick) -> Result<Vec<TargetMoments>, TrainError>;
}
