//! What was measured of every version, for comparing them.

use super::registry::ModelRegistry;
use crate::model::{ModelVersion, RegistryError};
use rusqlite::{OptionalExtension, Row, params};
use serde::Serialize;
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, PoisonError};

/// The errors of a version on rows that it was not fitted on, as its report has them. Null where there were none.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct VersionScores {
    /// What versions are sorted by. For numbers the share of the variance that is not explained, 1 − R²; for labels the
    /// share of wrong ones. On validation rows; without any, over the folds of a cross-validation.
    pub error: Option<f64>,
    /// Mean squared error on the validation rows.
    pub validation_mse: Option<f64>,
    /// 1 − MSE/variance.
    pub validation_r2: Option<f64>,
    /// Mean absolute error.
    pub validation_mae: Option<f64>,
    /// Share of correct labels.
    pub validation_accuracy: Option<f64>,
    /// Mean of −log of the probability of the true label.
    pub validation_log_loss: Option<f64>,
    /// Rows that these were measured on.
    pub validation_rows: u64,
    /// The mean over folds of 1 − R², or of the share of wrong labels.
    pub cross_validation_error: Option<f64>,
    /// Its standard error.
    pub cross_validation_standard_error: Option<f64>,
}

/// The scores of versions by name and version.
pub type ScoresByVersion = HashMap<(String, u32), VersionScores>;

const QUERY: &str = "SELECT json_extract(description, '$.report.validation_mse') AS mse,
    json_extract(description, '$.report.validation_r2') AS r2,
    json_extract(description, '$.report.validation_mae') AS mae,
    json_extract(description, '$.report.validation_accuracy') AS accuracy,
    json_extract(description, '$.report.validation_log_loss') AS log_loss,
    json_extract(description, '$.report.validation_rows') AS rows,
    json_extract(description, '$.report.cross_validation.scores.r2.mean') AS r2_mean,
    json_extract(description, '$.report.cross_validation.scores.r2.standard_error') AS r2_error,
    json_extract(description, '$.report.cross_validation.scores.accuracy.mean') AS accuracy_mean,
    json_extract(description, '$.report.cross_validation.scores.accuracy.standard_error') AS accuracy_error
    FROM models WHERE name = ?1 AND version = ?2";

/// Scores by artifact. Reading them from descriptions takes some ten microseconds a version, which lists of a thousand
/// would spend on every request; an artifact never changes.
pub(super) type KnownScores = HashMap<String, VersionScores>;

impl ModelRegistry {
    /// The scores of every version, of one model or of all.
    pub fn scores(&self, name: Option<&str>) -> Result<ScoresByVersion, RegistryError> {
        let versions = self.list(name);
        let mut known = self.known_scores.lock().unwrap_or_else(PoisonError::into_inner);
        let new: Vec<&Arc<ModelVersion>> =
            versions.iter().filter(|version| !known.contains_key(&version.artifact)).collect();
        if !new.is_empty() {
            self.database.read(|connection| -> Result<(), RegistryError> {
                let mut query = connection.prepare(QUERY)?;
                for version in new {
                    // A version that was deleted in the meantime has none.
                    let scores = query.query_row(params![version.name, version.version], read).optional()?;
                    known.insert(version.artifact.clone(), scores.unwrap_or_default());
                }
                Ok(())
            })?;
        }
        if name.is_none() && known.len() > versions.len() {
            let current: HashSet<&str> = versions.iter().map(|version| version.artifact.as_str()).collect();
            known.retain(|artifact, _| current.contains(artifact.as_str()));
        }
        let own = |version: &Arc<ModelVersion>| {
            Some(((version.name.clone(), version.version), known.get(&version.artifact)?.clone()))
        };
        Ok(versions.iter().filter_map(own).collect())
    }
}

fn read(row: &Row) -> rusqlite::Result<VersionScores> {
    let number = |name: &str| row.get::<_, Option<f64>>(name);
    let (r2, accuracy) = (number("r2")?, number("accuracy")?);
    let missed = |share: Option<f64>| share.map(|share| 1.0 - share);
    let over_folds = missed(number("r2_mean")?.or(number("accuracy_mean")?));
    Ok(VersionScores {
        error: missed(r2.or(accuracy)).or(over_folds),
        validation_mse: number("mse")?,
        validation_r2: r2,
        validation_mae: number("mae")?,
        validation_accuracy: accuracy,
        validation_log_loss: number("log_loss")?,
        validation_rows: row.get::<_, Option<u64>>("rows")?.unwrap_or(0),
        cross_validation_error: over_folds,
        cross_validation_standard_error: number("r2_error")?.or(number("accuracy_error")?),
    })
}
