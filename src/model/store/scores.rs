//! What was measured of every version, for comparing them.

use super::registry::ModelRegistry;
use crate::model::RegistryError;
use rusqlite::{Row, params};
use serde::Serialize;
use std::collections::HashMap;

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

const QUERY: &str = "SELECT name, version,
    json_extract(description, '$.report.validation_mse') AS mse,
    json_extract(description, '$.report.validation_r2') AS r2,
    json_extract(description, '$.report.validation_mae') AS mae,
    json_extract(description, '$.report.validation_accuracy') AS accuracy,
    json_extract(description, '$.report.validation_log_loss') AS log_loss,
    json_extract(description, '$.report.validation_rows') AS rows,
    json_extract(description, '$.report.cross_validation.scores.r2.mean') AS r2_mean,
    json_extract(description, '$.report.cross_validation.scores.r2.standard_error') AS r2_error,
    json_extract(description, '$.report.cross_validation.scores.accuracy.mean') AS accuracy_mean,
    json_extract(description, '$.report.cross_validation.scores.accuracy.standard_error') AS accuracy_error
    FROM models WHERE ?1 IS NULL OR name = ?1";

impl ModelRegistry {
    /// The scores of every version, of one model or of all.
    pub fn scores(&self, name: Option<&str>) -> Result<ScoresByVersion, RegistryError> {
        self.database.read(|connection| {
            let mut query = connection.prepare(QUERY)?;
            let rows =
                query.query_map(params![name], |row| Ok(((row.get("name")?, row.get("version")?), read(row)?)))?;
            Ok(rows.collect::<Result<_, _>>()?)
        })
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
