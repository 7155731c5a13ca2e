//! Typed columns and their statistics.

use super::{DatasetError, Finding, Notation};
use serde::Serialize;

/// Whether numbers or labels are predicted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Task {
    /// A number.
    Regression,
    /// A label.
    Classification,
}

/// What a column holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ColumnKind {
    /// Finite numbers.
    Numeric,
    /// `true` and `false`, kept as 1 and 0.
    Boolean,
    /// Text, kept as the index of its level.
    Categorical,
    /// Days, kept as seconds since 1970.
    Date,
    /// Days with a time, kept as seconds since 1970.
    Datetime,
    /// Text that is not kept: identifiers and sentences.
    Text,
}

/// Why training leaves a column out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LeftOut {
    /// The sender said so.
    Ignored,
    /// It is different in every row.
    Identifier,
    /// It holds sentences.
    FreeText,
}

/// How the cells of a column were read.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ColumnReading {
    /// The rules by which cells are read; predictions follow them too.
    #[serde(skip_serializing_if = "Notation::is_usual")]
    pub notation: Notation,
    /// The share of cells, of those that are not missing, that fit the kind.
    pub confidence: f64,
    /// The first distinct cells, as they were written.
    pub examples: Vec<String>,
    /// Cells of each level, or of false and true.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub counts: Vec<u64>,
    /// Why training leaves the column out, if it does.
    pub left_out: Option<LeftOut>,
    /// The third standardised moment of a numeric column.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub skewness: Option<f64>,
    /// Whether every number is an integer.
    #[serde(skip)]
    pub integers: bool,
}

impl Default for ColumnReading {
    fn default() -> Self {
        Self {
            notation: Notation::default(),
            confidence: 1.0,
            examples: Vec::new(),
            counts: Vec::new(),
            left_out: None,
            skewness: None,
            integers: false,
        }
    }
}

/// One column with its statistics.
#[derive(Debug, Clone, PartialEq, Serialize)]
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
    /// How its cells were read.
    #[serde(flatten)]
    pub reading: ColumnReading,
}

impl Column {
    /// A column of which nothing is known but its name and what its cells are.
    pub fn unprofiled(name: &str, kind: ColumnKind, levels: Vec<String>) -> Self {
        Self {
            name: name.to_owned(),
            kind,
            levels,
            missing: 0,
            distinct: 0,
            distinct_is_lower_bound: true,
            min: None,
            max: None,
            mean: None,
            std: None,
            reading: ColumnReading::default(),
        }
    }

    /// A text column whose cells are not kept.
    pub(super) fn unread(name: &str, missing: u64, examples: Vec<String>) -> Self {
        let reading = ColumnReading { examples, ..ColumnReading::default() };
        Self { missing, reading, ..Self::unprofiled(name, ColumnKind::Text, Vec::new()) }
    }
}

/// The columns of a table, and which of them are targets.
#[derive(Debug, Clone, PartialEq)]
pub struct Schema {
    /// In the order of the file.
    pub columns: Vec<Column>,
    /// Indices of the targets, at least one.
    pub targets: Vec<usize>,
    /// Decided by the kind of the targets, or by the upload.
    pub task: Task,
    /// Rows with and without a known target.
    pub row_count: u64,
    /// What to know about the table before a model is made of it.
    pub findings: Vec<Finding>,
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
            ColumnKind::Numeric | ColumnKind::Date | ColumnKind::Datetime | ColumnKind::Text => Vec::new(),
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
        let is_empty = |column: &&Column| column.missing == self.row_count && column.reading.left_out.is_none();
        if let Some(column) = self.columns.iter().find(is_empty) {
            let detail = format!("every cell is missing; remove the column, or send ignore={}", column.name);
            return Err(DatasetError::column(&column.name, detail));
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
