//! Typed columns and their statistics.

use super::DatasetError;
use serde::{Deserialize, Deserializer, Serialize};

/// Whether numbers or labels are predicted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Task {
    /// A number.
    Regression,
    /// A label.
    Classification,
}

/// What a column holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ColumnKind {
    /// Finite numbers.
    Numeric,
    /// `true` and `false`, kept as 1 and 0.
    Boolean,
    /// Text, kept as the index of its level.
    Categorical,
}

/// One column with its statistics.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Column {
    /// Unique in the table.
    pub name: String,
    /// Inferred from the cells, or forced by the upload.
    pub kind: ColumnKind,
    /// The sorted distinct texts of a categorical column.
    pub levels: Vec<String>,
    /// Number of missing cells.
    pub missing: u64,
    /// Distinct values, counted up to a limit.
    pub distinct: u64,
    /// Whether counting stopped at the limit.
    pub distinct_is_lower_bound: bool,
    /// Smallest number; absent for text.
    pub min: Option<f64>,
    /// Largest number.
    pub max: Option<f64>,
    /// Mean of the numbers that are not missing.
    pub mean: Option<f64>,
    /// Standard deviation, divisor n.
    pub std: Option<f64>,
}

/// The columns of a table, and which of them are targets.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Schema {
    /// In the order of the file.
    pub columns: Vec<Column>,
    /// Indices of the targets, at least one.
    #[serde(alias = "target", deserialize_with = "one_or_many")]
    pub targets: Vec<usize>,
    /// Decided by the kind of the targets, or by the upload.
    pub task: Task,
    /// Rows with and without a known target.
    pub row_count: u64,
}

impl Schema {
    /// The columns to predict.
    pub fn target_columns(&self) -> impl Iterator<Item = &Column> {
        self.targets.iter().map(|&target| &self.columns[target])
    }

    /// Rows whose targets are all known; an upper bound where several targets have missing cells.
    pub fn labelled_rows(&self) -> u64 {
        self.row_count - self.target_columns().map(|column| column.missing).max().unwrap_or(0)
    }

    /// The labels of a classification in the order of their codes; empty for regression.
    pub fn labels(&self) -> Vec<String> {
        let target = self.target_columns().next();
        target.map_or(Vec::new(), |column| match column.kind {
            ColumnKind::Boolean => vec!["false".to_owned(), "true".to_owned()],
            ColumnKind::Categorical => column.levels.clone(),
            ColumnKind::Numeric => Vec::new(),
        })
    }

    /// Refuses tables that nothing can be learned from.
    pub(super) fn check(&self) -> Result<(), DatasetError> {
        if self.row_count < 2 {
            let rows = if self.row_count == 0 { "no rows" } else { "one row" };
            return Err(DatasetError::table(format!(
                "the table has a header and {rows}; at least two rows are required"
            )));
        }
        if let Some(column) = self.columns.iter().find(|column| column.missing == self.row_count) {
            return Err(DatasetError::column(&column.name, "every cell is missing; remove the column"));
        }
        for target in self.target_columns() {
            if self.row_count - target.missing < 2 {
                return Err(DatasetError::column(
                    &target.name,
                    "fewer than two rows have a target; at least two are required",
                ));
            }
            if target.distinct == 1 {
                let detail = "the target is the same in every row, so there is nothing to learn; choose another column with target=";
                return Err(DatasetError::column(&target.name, detail));
            }
        }
        Ok(())
    }
}

/// Datasets that were stored before several targets were possible have one number here.
fn one_or_many<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<usize>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Targets {
        One(usize),
        Many(Vec<usize>),
    }
    Ok(match Targets::deserialize(deserializer)? {
        Targets::One(target) => vec![target],
        Targets::Many(targets) => targets,
    })
}
