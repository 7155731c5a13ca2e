//! How good the predictions are.

use super::converted;
use crate::model::{ClassRowCounts, ErrorReport, LabelErrors, NumberErrors, ReliabilityBin, TargetErrors};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

#[derive(Serialize, Deserialize)]
pub(in crate::model::artifact) enum StoredErrors<'a> {
    Numbers(#[serde(borrow)] StoredNumberErrors<'a>),
    Labels(#[serde(borrow)] StoredLabelErrors<'a>),
}

#[derive(Serialize, Deserialize)]
pub(in crate::model::artifact) struct StoredNumberErrors<'a> {
    training_mse: f64,
    validation_mse: Option<f64>,
    validation_r2: Option<f64>,
    validation_mae: Option<f64>,
    #[serde(borrow)]
    targets: Vec<StoredTargetErrors<'a>>,
}

#[derive(Serialize, Deserialize)]
struct StoredTargetErrors<'a> {
    name: &'a str,
    training_mse: f64,
    validation_mse: Option<f64>,
    validation_r2: Option<f64>,
    validation_mae: Option<f64>,
}

#[derive(Serialize, Deserialize)]
pub(in crate::model::artifact) struct StoredLabelErrors<'a> {
    #[serde(borrow)]
    classes: Vec<StoredClassRows<'a>>,
    validation_accuracy: Option<f64>,
    validation_balanced_accuracy: Option<f64>,
    validation_log_loss: Option<f64>,
    validation_roc_auc: Option<f64>,
    confusion: Option<Cow<'a, [Vec<f64>]>>,
    expected_calibration_error: Option<f64>,
    reliability: Vec<StoredReliabilityBin>,
}

#[derive(Serialize, Deserialize)]
struct StoredClassRows<'a> {
    label: &'a str,
    training_rows: usize,
    validation_rows: usize,
}

#[derive(Serialize, Deserialize)]
struct StoredReliabilityBin {
    low: f64,
    high: f64,
    rows: f64,
    confidence: f64,
    accuracy: f64,
}

impl<'a> From<&'a ErrorReport> for StoredErrors<'a> {
    fn from(errors: &'a ErrorReport) -> Self {
        match errors {
            ErrorReport::Numbers(errors) => Self::Numbers(StoredNumberErrors {
                training_mse: errors.training_mse,
                validation_mse: errors.validation_mse,
                validation_r2: errors.validation_r2,
                validation_mae: errors.validation_mae,
                targets: converted(&errors.targets),
            }),
            ErrorReport::Labels(errors) => Self::Labels(StoredLabelErrors {
                classes: converted(&errors.classes),
                validation_accuracy: errors.validation_accuracy,
                validation_balanced_accuracy: errors.validation_balanced_accuracy,
                validation_log_loss: errors.validation_log_loss,
                validation_roc_auc: errors.validation_roc_auc,
                confusion: errors.confusion.as_ref().map(Into::into),
                expected_calibration_error: errors.expected_calibration_error,
                reliability: converted(&errors.reliability),
            }),
        }
    }
}

impl From<StoredErrors<'_>> for ErrorReport {
    fn from(stored: StoredErrors) -> Self {
        match stored {
            StoredErrors::Numbers(stored) => Self::Numbers(NumberErrors {
                training_mse: stored.training_mse,
                validation_mse: stored.validation_mse,
                validation_r2: stored.validation_r2,
                validation_mae: stored.validation_mae,
                targets: converted(stored.targets),
            }),
            StoredErrors::Labels(stored) => Self::Labels(LabelErrors {
                classes: converted(stored.classes),
                validation_accuracy: stored.validation_accuracy,
                validation_balanced_accuracy: stored.validation_balanced_accuracy,
                validation_log_loss: stored.validation_log_loss,
                validation_roc_auc: stored.validation_roc_auc,
                confusion: stored.confusion.map(Cow::into_owned),
                expected_calibration_error: stored.expected_calibration_error,
                reliability: converted(stored.reliability),
            }),
        }
    }
}

impl<'a> From<&'a TargetErrors> for StoredTargetErrors<'a> {
    fn from(errors: &'a TargetErrors) -> Self {
        let TargetErrors { name, training_mse, validation_mse, validation_r2, validation_mae } = errors;
        Self {
            name,
            training_mse: *training_mse,
            validation_mse: *validation_mse,
            validation_r2: *validation_r2,
            validation_mae: *validation_mae,
        }
    }
}

impl From<StoredTargetErrors<'_>> for TargetErrors {
    fn from(stored: StoredTargetErrors) -> Self {
        let StoredTargetErrors { name, training_mse, validation_mse, validation_r2, validation_mae } = stored;
        Self { name: name.to_owned(), training_mse, validation_mse, validation_r2, validation_mae }
    }
}

impl<'a> From<&'a ClassRowCounts> for StoredClassRows<'a> {
    fn from(ClassRowCounts { label, training_rows, validation_rows }: &'a ClassRowCounts) -> Self {
        Self { label, training_rows: *training_rows, validation_rows: *validation_rows }
    }
}

impl From<StoredClassRows<'_>> for ClassRowCounts {
    fn from(StoredClassRows { label, training_rows, validation_rows }: StoredClassRows) -> Self {
        Self { label: label.to_owned(), training_rows, validation_rows }
    }
}

impl From<&ReliabilityBin> for StoredReliabilityBin {
    fn from(&ReliabilityBin { low, high, rows, confidence, accuracy }: &ReliabilityBin) -> Self {
        Self { low, high, rows, confidence, accuracy }
    }
}

impl From<StoredReliabilityBin> for ReliabilityBin {
    fn from(stored: StoredReliabilityBin) -> Self {
        let StoredReliabilityBin { low, high, rows, confidence, accuracy } = stored;
        Self { low, high, rows, confidence, accuracy }
    }
}
