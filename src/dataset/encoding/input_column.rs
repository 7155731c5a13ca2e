//! An input column: from cells to the numbers that stand for them.

use super::{LEVEL_INPUTS, LevelSigns};
use crate::dataset::{ColumnKind, DateParts, Notation, Reading};
use serde::Serialize;

/// An input column as it is kept with a model.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct InputColumn {
    /// Unique among the columns of a table.
    pub name: String,
    /// Decides how cells are read.
    pub kind: ColumnKind,
    /// The levels of a categorical column, sorted; empty for other kinds.
    pub levels: Vec<String>,
    /// The signs of the levels, if there are too many for indicators.
    #[serde(skip)]
    pub signs: Option<LevelSigns>,
    /// How texts are read.
    #[serde(skip_serializing_if = "Notation::is_usual")]
    pub notation: Notation,
}

/// One cell of a prediction request.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Cell<'a> {
    /// An empty cell, or JSON null.
    Missing,
    /// A number.
    Number(f64),
    /// JSON true or false.
    Boolean(bool),
    /// A text.
    Text(&'a str),
}

/// Why a cell does not fit its column.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum EncodingError {
    /// NaN or infinity.
    #[error("not a finite number")]
    NotFinite,
    /// A text where a number belongs.
    #[error("expected a number")]
    NotANumber,
    /// Neither true nor false.
    #[error("expected true, false, 1 or 0")]
    NotABoolean,
    /// No date.
    #[error("expected a date such as \"2026-03-31\" or \"2026-03-31T15:30:00Z\"")]
    NotADate,
    /// A number of 2^53 or more as a level: different integers round to the same double.
    #[error("integers of 2^53 and above lose precision; send this level as a string")]
    Imprecise,
}

/// From here on, not every integer is a double.
const IMPRECISE: f64 = (1_u64 << f64::MANTISSA_DIGITS) as f64;

/// Code of a level that training did not see: like every code below 0 it encodes as all zeros.
const UNKNOWN_LEVEL: f64 = -1.0;

impl InputColumn {
    /// A column whose texts are read as usual and whose levels, sorted, each have an input of their own.
    pub fn plain(name: &str, kind: ColumnKind, levels: &[&str]) -> Self {
        Self {
            name: name.to_owned(),
            kind,
            levels: levels.iter().map(|&level| level.to_owned()).collect(),
            signs: None,
            notation: Notation::default(),
        }
    }

    /// Number of inputs that this column becomes.
    pub(super) fn width(&self) -> usize {
        match self.kind {
            ColumnKind::Numeric | ColumnKind::Boolean => 1,
            ColumnKind::Categorical if self.signs.is_some() => LEVEL_INPUTS,
            ColumnKind::Categorical => self.levels.len(),
            ColumnKind::Date => DateParts::Date.names().len(),
            ColumnKind::Datetime => DateParts::DateAndTime.names().len(),
            ColumnKind::Text => 0,
        }
    }

    /// Whether its cells are numbers.
    pub fn is_number(&self) -> bool {
        self.kind == ColumnKind::Numeric
    }

    /// Whether every finite number is its own code.
    pub fn takes_numbers_as_they_are(&self) -> bool {
        self.kind == ColumnKind::Numeric && self.notation.missing.is_empty()
    }

    /// The code of a cell: the number that a stored table has for it. A text is read as it would be in an upload.
    pub fn code(&self, cell: Cell) -> Result<f64, EncodingError> {
        match (self.kind, cell) {
            (_, Cell::Missing) | (ColumnKind::Text, _) => Ok(f64::NAN),
            (_, Cell::Number(number)) if !number.is_finite() => Err(EncodingError::NotFinite),
            (_, Cell::Number(number)) if self.is_missing_number(number) => Ok(f64::NAN),
            (ColumnKind::Numeric, Cell::Number(number)) => Ok(number),
            (ColumnKind::Numeric, Cell::Boolean(_)) => Err(EncodingError::NotANumber),
            (ColumnKind::Numeric, Cell::Text(text)) => {
                read(self.notation.number(text.trim_ascii()), EncodingError::NotANumber)
            }
            (ColumnKind::Boolean, Cell::Boolean(value)) => Ok(f64::from(u8::from(value))),
            (ColumnKind::Boolean, Cell::Number(number)) if number == 0.0 || number == 1.0 => Ok(number),
            (ColumnKind::Boolean, Cell::Number(_)) => Err(EncodingError::NotABoolean),
            (ColumnKind::Boolean, Cell::Text(text)) => {
                read(self.notation.truth(text.trim_ascii()), EncodingError::NotABoolean)
            }
            (ColumnKind::Date | ColumnKind::Datetime, Cell::Text(text)) => {
                read(self.notation.instant(text.trim_ascii()), EncodingError::NotADate)
            }
            (ColumnKind::Date | ColumnKind::Datetime, Cell::Number(_) | Cell::Boolean(_)) => {
                Err(EncodingError::NotADate)
            }
            // A level may look like a number or a boolean: in a table every level is text.
            (ColumnKind::Categorical, Cell::Number(number)) if number.abs() >= IMPRECISE => {
                Err(EncodingError::Imprecise)
            }
            (ColumnKind::Categorical, Cell::Number(number)) => Ok(self.number_code(number)),
            (ColumnKind::Categorical, Cell::Boolean(value)) => Ok(self.level_code(&value.to_string())),
            (ColumnKind::Categorical, Cell::Text(text)) if self.notation.is_missing(text.trim_ascii()) => Ok(f64::NAN),
            (ColumnKind::Categorical, Cell::Text(text)) => Ok(self.level_code(text.trim_ascii())),
        }
    }

    /// Whether a number such as -999 was said to stand for a missing value.
    fn is_missing_number(&self, number: f64) -> bool {
        !self.notation.missing.is_empty() && self.notation.is_missing(&number.to_string())
    }

    /// Whether this is a code of a level that training did not see: any below 0.
    pub fn is_unknown(&self, code: f64) -> bool {
        self.kind == ColumnKind::Categorical && code < 0.0
    }

    fn level_code(&self, text: &str) -> f64 {
        // `True` in a table is `true` in JSON.
        let is_truth = || ["true", "false"].iter().any(|word| word.eq_ignore_ascii_case(text));
        let index = self.level_written(text).or_else(|| match text.parse::<f64>() {
            Ok(number) if number.abs() < IMPRECISE => self.level_worth(number),
            Err(_) if is_truth() => self.levels.iter().position(|level| level.eq_ignore_ascii_case(text)),
            Ok(_) | Err(_) => None,
        });
        index.map_or(UNKNOWN_LEVEL, |index| index as f64)
    }

    /// The code of a number. `1.0` in a table is `1` in JSON, which does not keep how a number was written, so levels are
    /// compared by value. The two usual spellings are looked up first, because that is faster.
    fn number_code(&self, number: f64) -> f64 {
        let index = self.level_written(&number.to_string());
        let index = index.or_else(|| self.level_written(&format!("{number:?}")));
        index.or_else(|| self.level_worth(number)).map_or(UNKNOWN_LEVEL, |index| index as f64)
    }

    fn level_written(&self, text: &str) -> Option<usize> {
        self.levels.binary_search_by(|level| level.as_str().cmp(text)).ok()
    }

    /// The level that is this number in other digits, unless several are.
    fn level_worth(&self, number: f64) -> Option<usize> {
        /// Every level is compared; among more of them only the usual spellings are found.
        const MOST_COMPARED: usize = 1000;
        let is_worth = |level: &String| {
            level.starts_with(|first: char| first.is_ascii_digit() || matches!(first, '-' | '+' | '.'))
                && level.parse() == Ok(number)
        };
        let compared = if self.levels.len() <= MOST_COMPARED { self.levels.as_slice() } else { &[] };
        let mut found = compared.iter().enumerate().filter(|(_, level)| is_worth(level)).map(|(index, _)| index);
        found.next().filter(|_| found.next().is_none())
    }
}

/// The code of a text that was read; `otherwise` if it is not a value of that kind.
fn read(reading: Reading, otherwise: EncodingError) -> Result<f64, EncodingError> {
    match reading {
        Reading::Missing => Ok(f64::NAN),
        Reading::Number(number) => Ok(number),
        Reading::NotFinite => Err(EncodingError::NotFinite),
        Reading::Other => Err(otherwise),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(levels: &[&str]) -> InputColumn {
        InputColumn::plain("mixed", ColumnKind::Categorical, levels)
    }

    #[test]
    fn levels_beyond_doubles_are_told_by_their_text_alone() {
        let column = texts(&["9007199254740991", "9007199254740992", "9007199254740993"]);
        assert_eq!(column.code(Cell::Text("9007199254740992")), Ok(1.0));
        assert_eq!(column.code(Cell::Text("9007199254740993")), Ok(2.0));
        assert!(column.is_unknown(column.code(Cell::Text("9007199254740994")).unwrap()));
        assert_eq!(column.code(Cell::Number(9_007_199_254_740_991.0)), Ok(0.0));
        for number in [9_007_199_254_740_992.0, -1e300] {
            assert_eq!(column.code(Cell::Number(number)), Err(EncodingError::Imprecise));
        }
        let alone = InputColumn { levels: vec!["9007199254740992".into(), "a".into()], ..column };
        assert!(alone.is_unknown(alone.code(Cell::Text("9007199254740993")).unwrap()));
    }

    #[test]
    fn levels_that_look_like_something_else_are_found() {
        let column = texts(&["1", "2.5", "True", "a"]);
        assert_eq!(column.code(Cell::Number(1.0)), Ok(0.0));
        assert_eq!(column.code(Cell::Number(2.5)), Ok(1.0));
        assert_eq!(column.code(Cell::Boolean(true)), Ok(2.0));
        assert_eq!(column.code(Cell::Text(" a ")), Ok(3.0));
        assert!(column.code(Cell::Text("NA")).unwrap().is_nan());
        assert!(column.is_unknown(column.code(Cell::Text("b")).unwrap()));
    }

    #[test]
    fn a_level_is_the_same_number_in_every_format() {
        let decimals = texts(&["-0", "1.0", "1e3", "2.50", "x"]);
        for (number, texts, code) in [
            (0.0, ["0", "0.0", "-0"], 0.0),
            (1.0, ["1", "1.0", "01"], 1.0),
            (1000.0, ["1000", "1e3", "1000.0"], 2.0),
            (2.5, ["2.5", "2.50", "25e-1"], 3.0),
            (7.0, ["7", "7.0", "seven"], UNKNOWN_LEVEL),
        ] {
            assert_eq!(decimals.code(Cell::Number(number)), Ok(code), "{number}");
            for text in texts {
                assert_eq!(decimals.code(Cell::Text(text)), Ok(code), "{text}");
            }
        }
        // A number that is the value of two levels is neither of them, unless it is written like one.
        let twins = texts(&["1.0", "1.00"]);
        assert_eq!([twins.code(Cell::Text("1.00")), twins.code(Cell::Number(1.0))], [Ok(1.0), Ok(0.0)]);
        assert_eq!(twins.code(Cell::Text("1")), Ok(UNKNOWN_LEVEL));
    }
}
