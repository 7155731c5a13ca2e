//! The rows one training, update or certification works on, and who watches it.

use super::extent::WeightTotals;
use super::parted_rows::PartedRows;
use super::whole_passes::WholePasses;
use crate::dataset::Part;
use crate::training::stage::{Observer, Stage, TrainError};
use std::sync::OnceLock;

/// What one training run works on.
pub(crate) struct Run<'a> {
    pub(crate) rows: PartedRows<'a>,
    pub(crate) threads: usize,
    pub(crate) observer: &'a dyn Observer,
    /// Passes over all rows, where `rows` are a sample of them.
    pub(crate) whole: Option<&'a dyn WholePasses>,
    /// Of a fit of labels whose classes do not count in proportion to their rows.
    pub(crate) class_weights: Option<Vec<f64>>,
    /// The smallest and the largest value of each target over the training rows, once a pass has seen them.
    pub(super) target_ranges: OnceLock<Vec<(f64, f64)>>,
    /// What the weights sum to, once a pass has seen them.
    pub(super) weight_totals: OnceLock<WeightTotals>,
}

impl<'a> Run<'a> {
    pub(crate) fn new(rows: PartedRows<'a>, threads: usize, observer: &'a dyn Observer) -> Self {
        let (target_ranges, weight_totals) = (OnceLock::new(), OnceLock::new());
        Self { rows, threads, observer, whole: None, class_weights: None, target_ranges, weight_totals }
    }

    /// The same rows as a sample of more, which stay where they are.
    #[must_use]
    pub(crate) fn sampled_from(self, whole: &'a dyn WholePasses) -> Self {
        Self { whole: Some(whole), ..self }
    }

    /// Rows of a part, whether or not they are at hand.
    pub(crate) fn total(&self, part: Part) -> usize {
        self.whole.map_or_else(|| self.rows.count(part), |whole| whole.count(part))
    }

    /// The same rows, whose classes have these weights in a fit.
    #[must_use]
    pub(crate) fn weighing(self, class_weights: Option<Vec<f64>>) -> Self {
        Self { class_weights, weight_totals: OnceLock::new(), ..self }
    }

    /// Reports the progress of a stage; an error if the observer asks to stop.
    pub(crate) fn tick(&self, stage: Stage, fraction: f64) -> Result<(), TrainError> {
        self.observer.progress(stage, fraction);
        self.stop_if_asked()
    }

    pub(crate) fn stop_if_asked(&self) -> Result<(), TrainError> {
        if self.observer.should_stop() { Err(TrainError::Stopped) } else { Ok(()) }
    }
}
