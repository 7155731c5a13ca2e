//! Details of the distance to the exact method: one section, since none of them is of use without the evidence.

use super::Numbers;
use crate::model::{ExactScore, FittedModel, Measured};
use crate::theory::{
    CertificateDetail, CertificateEvidence, ErrorEstimates, Evidence, JackknifeDetail, ScaledDifferences,
};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
pub(in crate::model::artifact) struct StoredDistance<'a> {
    training_error: Option<f64>,
    jackknife: Option<StoredJackknife>,
    certificate: Option<StoredCertificateDetail<'a>>,
}

#[derive(Serialize, Deserialize)]
struct StoredJackknife {
    low: f64,
    high: f64,
    rows: u64,
    left_out: bool,
    pooled: bool,
}

#[derive(Serialize, Deserialize)]
struct StoredCertificateDetail<'a> {
    clipped_squares: Numbers<'a>,
    scaled: Option<StoredScaled<'a>>,
    validation_rows: u64,
    calibration_rows: u64,
    unlabelled_rows: u64,
}

#[derive(Serialize, Deserialize)]
struct StoredScaled<'a> {
    ratios: Numbers<'a>,
    mean_squares: Numbers<'a>,
}

/// The exact method on the validation rows: a section of its own, which files of earlier releases do not have.
#[derive(Serialize, Deserialize)]
pub(in crate::model::artifact) enum StoredExactScore {
    Mse { value: f64 },
    Accuracy { value: f64 },
}

impl From<ExactScore> for StoredExactScore {
    fn from(score: ExactScore) -> Self {
        match score {
            ExactScore::Mse(value) => Self::Mse { value },
            ExactScore::Accuracy(value) => Self::Accuracy { value },
        }
    }
}

impl From<StoredExactScore> for ExactScore {
    fn from(stored: StoredExactScore) -> Self {
        match stored {
            StoredExactScore::Mse { value } => Self::Mse(value),
            StoredExactScore::Accuracy { value } => Self::Accuracy(value),
        }
    }
}

impl<'a> StoredDistance<'a> {
    /// None where there is nothing to keep.
    pub(in crate::model::artifact) fn of(model: &'a FittedModel) -> Option<Self> {
        let evidence = model.evidence.as_ref();
        let jackknife = evidence.and_then(|evidence| evidence.estimates.jackknife_detail.as_ref());
        let certificate = evidence.and_then(|evidence| evidence.certificate.as_ref()?.detail.as_ref());
        let training_error = model.measured.training_error;
        let empty = jackknife.is_none() && certificate.is_none() && training_error.is_none();
        (!empty).then(|| Self {
            training_error,
            jackknife: jackknife.map(Into::into),
            certificate: certificate.map(Into::into),
        })
    }

    /// Adds the details to what they belong to; those that belong to nothing are dropped.
    pub(in crate::model::artifact) fn add_to(self, model: FittedModel) -> FittedModel {
        let (jackknife_detail, detail) = (self.jackknife.map(Into::into), self.certificate.map(Into::into));
        let evidence = model.evidence.map(|evidence| Evidence {
            estimates: ErrorEstimates { jackknife_detail, ..evidence.estimates },
            certificate: evidence.certificate.map(|certificate| CertificateEvidence { detail, ..certificate }),
            ..evidence
        });
        let measured = Measured { training_error: self.training_error, ..model.measured };
        FittedModel { evidence, measured, ..model }
    }
}

impl From<&JackknifeDetail> for StoredJackknife {
    fn from(&JackknifeDetail { low, high, rows, left_out, pooled }: &JackknifeDetail) -> Self {
        Self { low, high, rows: rows as u64, left_out, pooled }
    }
}

impl From<StoredJackknife> for JackknifeDetail {
    fn from(StoredJackknife { low, high, rows, left_out, pooled }: StoredJackknife) -> Self {
        Self { low, high, rows: rows as usize, left_out, pooled }
    }
}

impl<'a> From<&'a CertificateDetail> for StoredCertificateDetail<'a> {
    fn from(detail: &'a CertificateDetail) -> Self {
        let scaled = |scaled: &'a ScaledDifferences| StoredScaled {
            ratios: (&scaled.ratios).into(),
            mean_squares: (&scaled.mean_squares).into(),
        };
        Self {
            clipped_squares: (&detail.clipped_squares).into(),
            scaled: detail.scaled.as_ref().map(scaled),
            validation_rows: detail.validation_rows as u64,
            calibration_rows: detail.calibration_rows as u64,
            unlabelled_rows: detail.unlabelled_rows as u64,
        }
    }
}

impl From<StoredCertificateDetail<'_>> for CertificateDetail {
    fn from(stored: StoredCertificateDetail) -> Self {
        let scaled = |scaled: StoredScaled| ScaledDifferences {
            ratios: scaled.ratios.into_owned(),
            mean_squares: scaled.mean_squares.into_owned(),
        };
        Self {
            clipped_squares: stored.clipped_squares.into_owned(),
            scaled: stored.scaled.map(scaled),
            validation_rows: stored.validation_rows as usize,
            calibration_rows: stored.calibration_rows as usize,
            unlabelled_rows: stored.unlabelled_rows as usize,
        }
    }
}
