//! The rows one training, update or certification works on, and who watches it.

use super::parted_rows::PartedRows;
use crate::training::stage::{Observer, Stage, TrainError};

/// What one training run works on.
pub(crate) struct Run<'a> {
    pub(crate) rows: PartedRows<'a>,
    pub(crate) threads: usize,
    pub(crate) observer: &'a dyn Observer,
    /// Of a fit of labels whose classes do not count in proportion to their rows.
    pub(crate) class_weights: Option<Vec<f64>>,
}

impl Run<'_> {
    /// Reports the progress of a stage; an error if the observer asks to stop.
    pub(crate) fn tick(&self, stage: Stage, fraction: f64) -> Result<(), TrainError> {
        self.observer.progress(stage, fraction);
        self.stop_if_asked()
    }

    pub(crate) fn stop_if_asked(&self) -> Result<(), TrainError> {
        if self.observer.should_stop() { Err(TrainError::Stopped) } else { Ok(()) }
    }
}
