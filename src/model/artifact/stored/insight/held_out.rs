//! A sample of held-out rows.

use crate::model::HeldOutSample;
use crate::model::artifact::stored::Numbers;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
pub(in crate::model::artifact) struct StoredHeldOut<'a> {
    available: usize,
    targets: Numbers<'a>,
    outputs: Numbers<'a>,
    weights: Numbers<'a>,
    spreads: Numbers<'a>,
}

impl<'a> From<&'a HeldOutSample> for StoredHeldOut<'a> {
    fn from(sample: &'a HeldOutSample) -> Self {
        Self {
            available: sample.available,
            targets: (&sample.targets).into(),
            outputs: (&sample.outputs).into(),
            weights: (&sample.weights).into(),
            spreads: (&sample.spreads).into(),
        }
    }
}

impl From<StoredHeldOut<'_>> for HeldOutSample {
    fn from(stored: StoredHeldOut) -> Self {
        Self {
            available: stored.available,
            targets: stored.targets.into_owned(),
            outputs: stored.outputs.into_owned(),
            weights: stored.weights.into_owned(),
            spreads: stored.spreads.into_owned(),
        }
    }
}
