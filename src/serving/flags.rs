//! Flags of rows: levels that training did not see, inputs outside the range of the fitted rows, cells filled in.
//!
//! Flags are found only if a request asks for what shows them (`warnings`, `in_range`, an interval, a label set) or is
//! strict: they take another look at every cell, which other requests must not pay for.

use super::unknown_levels::UnknownLevels;
use super::{Outputs, Refusal, RequestRows, RowLocations};
use crate::dataset::{ColumnKind, InputColumn, format_instant};
use crate::model::{ColumnRange, FittedModel};
use crate::request::problem::{Problem, pointer};
use crate::request::suggest;
use crate::telemetry::FlagKind;
use serde::Serialize;
use std::collections::HashMap;

/// Most problems that the refusal of a strict request lists.
const MOST_PROBLEMS: usize = 20;

/// Most comparisons of unknown levels with known ones for a block of rows; the sender chooses how many there are.
const MOST_COMPARISONS: usize = 1 << 16;

/// The flags of a block of rows.
#[derive(Debug)]
pub struct RowFlags {
    /// In the order of the rows.
    flags: Vec<Flag>,
    unknown: UnknownLevels,
    /// The level nearest to each unknown one, by column and code.
    nearest: HashMap<(usize, i64), Option<usize>>,
    /// Whether the model keeps the ranges of its columns.
    ranges_known: bool,
}

#[derive(Debug, Clone, Copy)]
struct Flag {
    row: usize,
    column: usize,
    kind: FlagKind,
    code: f64,
}

/// A flag in words. Serialises as an object.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Warning<'a> {
    pub(super) column: &'a str,
    pub(super) code: &'static str,
    pub(super) detail: String,
    /// The known level that an unknown one resembles most.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) nearest: Option<&'a str>,
}

impl RowFlags {
    /// The flags of the rows of a request, if its outputs show them. A strict request is refused if there are any; `list`
    /// points to the list of rows.
    pub fn check(
        outputs: &Outputs,
        model: &FittedModel,
        rows: &RequestRows,
        list: &str,
    ) -> Result<Option<Self>, Refusal> {
        if !outputs.need_flags() {
            return Ok(None);
        }
        let flags = Self::of(model, rows);
        if outputs.is_strict() {
            flags.refuse(model, &rows.locations, list)?;
        }
        Ok(Some(flags))
    }

    fn of(model: &FittedModel, rows: &RequestRows) -> Self {
        let columns = &model.inputs.encoding.columns;
        let ranges = model.ranges.as_ref();
        let range_of = |column: usize| ranges.and_then(|ranges| ranges.columns.get(column).copied().flatten());
        let ranges: Vec<Option<ColumnRange>> = (0..columns.len()).map(range_of).collect();
        let mut flags = Vec::new();
        for (row, codes) in rows.rows().enumerate() {
            for (column, (&code, range)) in codes.iter().zip(&ranges).enumerate() {
                let kind = if code.is_nan() {
                    FlagKind::Imputed
                } else if range.is_some_and(|range| !range.contains(code)) {
                    FlagKind::OutOfRange
                } else if columns[column].is_unknown(code) {
                    FlagKind::UnknownLevel
                } else {
                    continue;
                };
                flags.push(Flag { row, column, kind, code });
            }
        }
        let unknown = rows.unknown_texts().clone();
        let nearest = nearest_levels(&flags, &unknown, columns);
        Self { flags, unknown, nearest, ranges_known: model.ranges.is_some() }
    }

    /// The number of flagged cells.
    pub fn len(&self) -> usize {
        self.flags.len()
    }

    /// Whether no cell is flagged.
    pub fn is_empty(&self) -> bool {
        self.flags.is_empty()
    }

    /// Flagged cells of a kind.
    pub(crate) fn count(&self, kind: FlagKind) -> u64 {
        self.flags.iter().filter(|flag| flag.kind == kind).count() as u64
    }

    /// Whether every input of a row lies in the range of the fitted rows and every level was among theirs; none if the
    /// model keeps no ranges.
    pub(super) fn in_range(&self, row: usize) -> Option<bool> {
        let outside = |flag: &Flag| match flag.kind {
            FlagKind::UnknownLevel | FlagKind::OutOfRange => true,
            FlagKind::Imputed => false,
        };
        self.ranges_known.then(|| !self.of_row(row).iter().any(outside))
    }

    /// The flags of a row in words.
    pub(super) fn warnings<'a>(&'a self, model: &'a FittedModel, row: usize) -> Vec<Warning<'a>> {
        self.of_row(row).iter().map(|flag| self.warning(model, flag)).collect()
    }

    fn of_row(&self, row: usize) -> &[Flag] {
        let start = self.flags.partition_point(|flag| flag.row < row);
        let rest = &self.flags[start..];
        &rest[..rest.partition_point(|flag| flag.row == row)]
    }

    fn warning<'a>(&'a self, model: &'a FittedModel, flag: &Flag) -> Warning<'a> {
        let column = &model.inputs.encoding.columns[flag.column];
        let nearest = self.nearest.get(&(flag.column, flag.code as i64)).copied().flatten();
        let nearest = nearest.and_then(|level| column.levels.get(level)).map(String::as_str);
        let detail = match flag.kind {
            FlagKind::Imputed => "missing; filled with the training mean".to_owned(),
            FlagKind::OutOfRange => {
                let range = model.ranges.as_ref().and_then(|ranges| ranges.columns.get(flag.column).copied().flatten());
                let ends =
                    range.map(|range| format!(", {} to {}", shown(column, range.low), shown(column, range.high)));
                format!("{} is outside the training range{}", shown(column, flag.code), ends.unwrap_or_default())
            }
            FlagKind::UnknownLevel => {
                let level =
                    self.unknown.text(flag.code).map_or_else(|| "this level".to_owned(), |text| format!("'{text}'"));
                let near = nearest.map(|near| format!("; the nearest known level is '{near}'"));
                format!("{level} was not among the training data{}", near.unwrap_or_default())
            }
        };
        Warning { column: &column.name, code: flag.kind.name(), detail, nearest }
    }

    fn refuse(&self, model: &FittedModel, locations: &RowLocations, list: &str) -> Result<(), Refusal> {
        if self.flags.is_empty() {
            return Ok(());
        }
        let problem = |flag: &Flag| {
            let warning = self.warning(model, flag);
            let detail = format!("{}; without strict the row is predicted with a warning", warning.detail);
            Problem::new(pointer(&locations.pointer(flag.row, list), warning.column), detail)
        };
        Err(Refusal::Invalid(self.flags.iter().take(MOST_PROBLEMS).map(problem).collect()))
    }
}

/// A number as it is, an instant as a date.
fn shown(column: &InputColumn, code: f64) -> String {
    match column.kind {
        ColumnKind::Date | ColumnKind::Datetime => format_instant(code),
        ColumnKind::Numeric | ColumnKind::Boolean | ColumnKind::Categorical | ColumnKind::Text => code.to_string(),
    }
}

/// The nearest known level of each unknown one, as far as the comparisons last.
fn nearest_levels(
    flags: &[Flag],
    unknown: &UnknownLevels,
    columns: &[InputColumn],
) -> HashMap<(usize, i64), Option<usize>> {
    let mut found = HashMap::new();
    let mut left = MOST_COMPARISONS;
    for flag in flags.iter().filter(|flag| flag.kind == FlagKind::UnknownLevel) {
        let key = (flag.column, flag.code as i64);
        let levels = &columns[flag.column].levels;
        let (Some(text), false) = (unknown.text(flag.code), found.contains_key(&key)) else { continue };
        let Some(rest) = left.checked_sub(levels.len()) else { continue };
        left = rest;
        found.insert(key, suggest::nearest_index(text, levels.iter().map(String::as_str)));
    }
    found
}
