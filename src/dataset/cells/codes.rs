//! From the texts of a column to the numbers that stand for them in a table.

use super::{Notation, Reading};
use crate::dataset::{Column, ColumnKind};
use std::collections::HashMap;

/// How the texts of one column become numbers. Cells that the first pass counted as missing become NaN.
pub(in crate::dataset) struct Codes<'a> {
    kind: ColumnKind,
    notation: &'a Notation,
    levels: HashMap<&'a str, f64>,
}

impl<'a> Codes<'a> {
    pub(in crate::dataset) fn of(column: &'a Column) -> Self {
        let level = |(index, level): (usize, &'a String)| (level.as_str(), index as f64);
        let levels = column.levels.iter().enumerate().map(level).collect();
        Self { kind: column.kind, notation: &column.reading.notation, levels }
    }

    pub(in crate::dataset) fn code(&self, cell: &str) -> f64 {
        let reading = match self.kind {
            ColumnKind::Numeric => self.notation.number(cell),
            ColumnKind::Boolean => self.notation.truth(cell),
            ColumnKind::Date | ColumnKind::Datetime => self.notation.instant(cell),
            ColumnKind::Categorical if self.notation.is_missing(cell) => Reading::Missing,
            ColumnKind::Categorical => self.levels.get(cell).map_or(Reading::Other, |code| Reading::Number(*code)),
            ColumnKind::Text => Reading::Missing,
        };
        match reading {
            Reading::Number(number) => number,
            Reading::Missing | Reading::NotFinite | Reading::Other => f64::NAN,
        }
    }
}
