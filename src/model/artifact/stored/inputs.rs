//! Columns, their encoding and scaling.

use super::{Numbers, borrowed, converted, owned};
use crate::dataset::{ColumnKind, DateOrder, DecimalMark, Encoding, InputColumn, LevelSigns, Notation, Scaling};
use crate::model::{ColumnRange, ColumnRanges, InputPipeline, MissingRule};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
pub(in crate::model::artifact) struct StoredInputs<'a> {
    #[serde(borrow)]
    columns: Vec<StoredColumn<'a>>,
    fill: Numbers<'a>,
    offset: Numbers<'a>,
    factor: Numbers<'a>,
}

#[derive(Serialize, Deserialize)]
struct StoredColumn<'a> {
    name: &'a str,
    kind: StoredColumnKind,
    #[serde(borrow)]
    levels: Vec<&'a str>,
}

#[derive(Serialize, Deserialize)]
enum StoredColumnKind {
    Numeric,
    Boolean,
    Categorical,
    Date,
    Datetime,
}

#[derive(Serialize, Deserialize)]
pub(in crate::model::artifact) enum StoredMissingRule {
    Mean,
    Refuse,
}

impl<'a> From<&'a InputPipeline> for StoredInputs<'a> {
    fn from(inputs: &'a InputPipeline) -> Self {
        let Scaling { fill, offset, factor } = &inputs.scaling;
        Self {
            columns: converted(&inputs.encoding.columns),
            fill: fill.into(),
            offset: offset.into(),
            factor: factor.into(),
        }
    }
}

impl From<StoredInputs<'_>> for InputPipeline {
    fn from(stored: StoredInputs) -> Self {
        Self {
            encoding: Encoding { columns: converted(stored.columns) },
            scaling: Scaling {
                fill: stored.fill.into_owned(),
                offset: stored.offset.into_owned(),
                factor: stored.factor.into_owned(),
            },
            metric_root: None, // a section of its own
        }
    }
}

impl<'a> From<&'a InputColumn> for StoredColumn<'a> {
    fn from(column: &'a InputColumn) -> Self {
        let kind = match column.kind {
            ColumnKind::Numeric => StoredColumnKind::Numeric,
            ColumnKind::Boolean => StoredColumnKind::Boolean,
            // A column of texts that are not kept is no input of any model.
            ColumnKind::Categorical | ColumnKind::Text => StoredColumnKind::Categorical,
            ColumnKind::Date => StoredColumnKind::Date,
            ColumnKind::Datetime => StoredColumnKind::Datetime,
        };
        Self { name: &column.name, kind, levels: borrowed(&column.levels) }
    }
}

impl From<StoredColumn<'_>> for InputColumn {
    fn from(stored: StoredColumn) -> Self {
        let kind = match stored.kind {
            StoredColumnKind::Numeric => ColumnKind::Numeric,
            StoredColumnKind::Boolean => ColumnKind::Boolean,
            StoredColumnKind::Categorical => ColumnKind::Categorical,
            StoredColumnKind::Date => ColumnKind::Date,
            StoredColumnKind::Datetime => ColumnKind::Datetime,
        };
        // Its notation and the signs of its levels are in sections of their own.
        let (levels, notation) = (owned(stored.levels), Notation::default());
        Self { name: stored.name.to_owned(), kind, levels, signs: None, notation }
    }
}

impl From<MissingRule> for StoredMissingRule {
    fn from(rule: MissingRule) -> Self {
        match rule {
            MissingRule::Mean => Self::Mean,
            MissingRule::Refuse => Self::Refuse,
        }
    }
}

impl From<StoredMissingRule> for MissingRule {
    fn from(stored: StoredMissingRule) -> Self {
        match stored {
            StoredMissingRule::Mean => Self::Mean,
            StoredMissingRule::Refuse => Self::Refuse,
        }
    }
}

/// How the texts of the input columns are read, in their order.
#[derive(Serialize, Deserialize)]
pub(in crate::model::artifact) struct StoredNotations<'a> {
    #[serde(borrow)]
    columns: Vec<StoredNotation<'a>>,
}

#[derive(Serialize, Deserialize)]
struct StoredNotation<'a> {
    decimal_comma: bool,
    day_first: bool,
    #[serde(borrow)]
    missing: Vec<&'a str>,
}

impl<'a> StoredNotations<'a> {
    /// None if every column is read in the usual way, as all were before there was another.
    pub(in crate::model::artifact) fn of(encoding: &'a Encoding) -> Option<Self> {
        let is_usual = encoding.columns.iter().all(|column| column.notation.is_usual());
        let columns = encoding.columns.iter().map(|column| StoredNotation {
            decimal_comma: column.notation.decimal == DecimalMark::Comma,
            day_first: column.notation.order == DateOrder::DayFirst,
            missing: borrowed(&column.notation.missing),
        });
        (!is_usual).then(|| Self { columns: columns.collect() })
    }

    /// Gives each column its own; false if there are not as many.
    pub(in crate::model::artifact) fn give_to(self, encoding: &mut Encoding) -> bool {
        let fits = self.columns.len() == encoding.columns.len();
        for (column, stored) in encoding.columns.iter_mut().zip(self.columns) {
            column.notation = Notation {
                decimal: if stored.decimal_comma { DecimalMark::Comma } else { DecimalMark::Point },
                order: if stored.day_first { DateOrder::DayFirst } else { DateOrder::MonthFirst },
                missing: owned(stored.missing),
            };
        }
        fits
    }
}

/// The signs of levels, for each input column.
#[derive(Serialize, Deserialize)]
pub(in crate::model::artifact) struct StoredSigns {
    columns: Vec<Option<StoredLevelSigns>>,
}

#[derive(Serialize, Deserialize)]
struct StoredLevelSigns {
    of_levels: Vec<Option<u64>>,
    of_others: Option<u64>,
}

impl StoredSigns {
    /// None if every level has an indicator, as all had before there was anything else.
    pub(in crate::model::artifact) fn of(encoding: &Encoding) -> Option<Self> {
        let stored =
            |signs: &LevelSigns| StoredLevelSigns { of_levels: signs.of_levels.clone(), of_others: signs.of_others };
        let columns = || encoding.columns.iter().map(|column| column.signs.as_ref().map(stored)).collect();
        encoding.has_signs().then(|| Self { columns: columns() })
    }

    /// Gives each column its own; false if they do not fit the columns and their levels.
    pub(in crate::model::artifact) fn give_to(self, encoding: &mut Encoding) -> bool {
        let mut fits = self.columns.len() == encoding.columns.len();
        for (column, stored) in encoding.columns.iter_mut().zip(self.columns) {
            column.signs = stored.map(|StoredLevelSigns { of_levels, of_others }| LevelSigns { of_levels, of_others });
            let of_levels = |signs: &LevelSigns| {
                column.kind == ColumnKind::Categorical && signs.of_levels.len() == column.levels.len()
            };
            fits &= column.signs.as_ref().is_none_or(of_levels);
        }
        fits
    }
}

/// The ranges of the input columns, in their order: the low and the high end.
#[derive(Serialize, Deserialize)]
pub(in crate::model::artifact) struct StoredRanges {
    columns: Vec<Option<(f64, f64)>>,
}

impl From<&ColumnRanges> for StoredRanges {
    fn from(ranges: &ColumnRanges) -> Self {
        Self { columns: ranges.columns.iter().map(|range| range.map(|range| (range.low, range.high))).collect() }
    }
}

impl From<StoredRanges> for ColumnRanges {
    fn from(stored: StoredRanges) -> Self {
        let range = |(low, high)| ColumnRange { low, high };
        Self { columns: stored.columns.into_iter().map(|ends| ends.map(range)).collect() }
    }
}
