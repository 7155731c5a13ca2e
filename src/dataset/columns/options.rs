//! What the sender says about columns.

use crate::dataset::{DateOrder, DecimalMark, Notation};
use serde_json::json;

/// How cells are to be read, and columns to be left out or taken for something else than they look like.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ColumnOptions {
    /// Columns whose cells are levels, whatever they look like.
    pub categorical: Vec<String>,
    /// Columns of dates.
    pub datetime: Vec<String>,
    /// Columns that training leaves out.
    pub ignore: Vec<String>,
    /// Words for "missing" beside the usual ones.
    pub missing: Vec<String>,
    /// What comes before the fraction of a number.
    pub decimal: DecimalMark,
    /// Whether 03/04/2026 is 3 April; decided by the column if absent.
    pub day_first: Option<bool>,
}

/// What a column is to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::dataset) enum Intent {
    /// What its cells look like.
    Infer,
    Numeric,
    Categorical,
    Datetime,
    /// What its cells look like, and left out.
    Ignore,
}

impl ColumnOptions {
    /// The rules for every column, as far as they are known before its cells.
    pub(in crate::dataset) fn notation(&self) -> Notation {
        Notation {
            decimal: self.decimal,
            order: if self.day_first == Some(true) { DateOrder::DayFirst } else { DateOrder::MonthFirst },
            missing: self.missing.iter().map(|word| word.to_lowercase()).collect(),
        }
    }

    /// The lists of columns, each with the name of its parameter.
    pub(in crate::dataset) fn lists(&self) -> [(&'static str, &[String]); 3] {
        [("categorical", &self.categorical), ("datetime", &self.datetime), ("ignore", &self.ignore)]
    }

    /// A text that differs where the options do; empty for the usual ones, so that ids given out before them stay.
    pub(in crate::dataset) fn identity(&self) -> String {
        if *self == Self::default() {
            return String::new();
        }
        let Self { categorical, datetime, ignore, missing, decimal, day_first } = self;
        json!([categorical, datetime, ignore, missing, decimal, day_first]).to_string()
    }
}
