//! The shares of the labelled rows that are not fitted on.

/// By what rows are split.
pub(crate) mod split_rule;

use super::fields::Fields;
use super::train_spec::TrainSpec;
use crate::dataset::{HeldOut, Schema, Task};

pub(crate) const DEFAULT_VALIDATION_FRACTION: f64 = 0.2;
/// Of labels: for their probabilities, and for the scores of label sets.
const DEFAULT_CALIBRATION_FRACTION: f64 = 0.1;

/// Training rows under the default shares.
pub(crate) fn default_training_rows(schema: &Schema) -> u64 {
    fitted_on(schema, held_out(schema.task, (DEFAULT_VALIDATION_FRACTION, None, 0.0)))
}

/// How many of the labelled rows these shares leave for training; more only where every label must keep a row.
pub(crate) fn fitted_on(schema: &Schema, held_out: HeldOut) -> u64 {
    let rows = schema.labelled_rows();
    let taken = |share: f64| if share > 0.0 { ((share * rows as f64).round() as u64).max(1) } else { 0 };
    rows.saturating_sub(taken(held_out.validation) + taken(held_out.calibration) + taken(held_out.design))
}

/// The shares of validation, calibration and design rows; that of calibration may be left to the task.
pub(crate) fn held_out(task: Task, (validation, calibration, design): (f64, Option<f64>, f64)) -> HeldOut {
    let default = if task == Task::Classification { DEFAULT_CALIBRATION_FRACTION } else { 0.0 };
    let calibration = calibration.unwrap_or(default.min((1.0 - validation - design) / 2.0));
    HeldOut { validation, calibration, design }
}

/// Refuses shares that leave nothing to train on, at the last of them that was given.
pub(crate) fn check_sum(spec: &Fields, checked: &TrainSpec) {
    let calibration = checked.calibration_fraction.unwrap_or(0.0);
    if checked.validation_fraction + calibration + checked.design_fraction < 1.0 {
        return;
    }
    let (place, names) = if checked.design_fraction > 0.0 {
        ("design_fraction", "validation_fraction, calibration_fraction and design_fraction")
    } else {
        ("calibration_fraction", "validation_fraction and calibration_fraction")
    };
    spec.problem(place, format!("{names} must sum to less than 1"));
}
