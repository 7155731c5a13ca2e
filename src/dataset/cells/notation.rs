//! How the cells of one column are written, decided once for the column and kept with every model trained on it.

use super::dates::{self, Instant};
use super::missing::{is_missing_among_values, is_missing_everywhere};
use super::numbers::{self, Number};
use super::{DateOrder, DecimalMark, read_compact, truth};
use serde::Serialize;

/// The rules by which a column's texts are read.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Notation {
    /// What comes before the fraction of a number.
    pub decimal: DecimalMark,
    /// Whether 03/04/2026 is in March or in April.
    pub order: DateOrder,
    /// Words for "missing" beside the usual ones, in lower case.
    pub missing: Vec<String>,
}

/// What a cell may be, before the kind of its column is known.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::dataset) enum Guess {
    Missing,
    /// A word that is missing among numbers and a level among texts.
    MissingWord,
    Number(Number),
    Truth(bool),
    Date(Instant),
    Text,
}

/// What a cell is in a column of a known kind.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Reading {
    /// No value.
    Missing,
    /// A finite number, or the seconds of an instant.
    Number(f64),
    /// NaN, infinity, or a number too large for f64.
    NotFinite,
    /// Not a value of that kind.
    Other,
}

impl Notation {
    /// Whether these are the rules of columns without any of their own.
    pub fn is_usual(&self) -> bool {
        *self == Self::default()
    }

    /// Whether a text means "missing" in a column of texts.
    pub fn is_missing(&self, cell: &str) -> bool {
        is_missing_everywhere(cell) || !self.missing.is_empty() && self.is_own_word(cell)
    }

    fn is_own_word(&self, cell: &str) -> bool {
        self.missing.iter().any(|word| word.eq_ignore_ascii_case(cell) || cell.to_lowercase() == *word)
    }

    fn is_missing_value(&self, cell: &str) -> bool {
        self.is_missing(cell) || is_missing_among_values(cell)
    }

    /// Reads a cell of a column of numbers.
    pub fn number(&self, cell: &str) -> Reading {
        if self.is_missing_value(cell) {
            return Reading::Missing;
        }
        match numbers::read(cell, self.decimal) {
            Some(Number { value, .. }) if value.is_finite() => Reading::Number(value),
            Some(_) => Reading::NotFinite,
            None => Reading::Other,
        }
    }

    /// Reads a cell of a column of truth values; 1 and 0 count as such.
    pub fn truth(&self, cell: &str) -> Reading {
        if self.is_missing_value(cell) {
            return Reading::Missing;
        }
        match (truth::read(cell), numbers::read(cell, self.decimal)) {
            (Some(value), _) => Reading::Number(f64::from(u8::from(value))),
            (None, Some(Number { value, .. })) if value == 0.0 || value == 1.0 => Reading::Number(value),
            (None, _) => Reading::Other,
        }
    }

    /// Reads a cell of a column of dates, as seconds since 1970.
    pub fn instant(&self, cell: &str) -> Reading {
        if self.is_missing_value(cell) {
            return Reading::Missing;
        }
        let instant = dates::read(cell).or_else(|| read_compact(cell));
        instant.and_then(|instant| instant.seconds(self.order)).map_or(Reading::Other, Reading::Number)
    }

    /// What a cell may be; the order of day and month is not decided yet.
    pub(in crate::dataset) fn guess(&self, cell: &str) -> Guess {
        if self.is_missing(cell) {
            Guess::Missing
        } else if let Some(number) = numbers::read(cell, self.decimal) {
            Guess::Number(number)
        } else if let Some(value) = truth::read(cell) {
            Guess::Truth(value)
        } else if is_missing_among_values(cell) {
            Guess::MissingWord
        } else {
            dates::read(cell).map_or(Guess::Text, Guess::Date)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_is_read_by_the_kind_of_its_column() {
        let usual = Notation::default();
        assert_eq!(usual.number("$1,048.52"), Reading::Number(1048.52));
        assert_eq!(usual.number("unknown"), Reading::Missing);
        assert_eq!((usual.number("NaN"), usual.number("two")), (Reading::NotFinite, Reading::Other));
        assert_eq!(
            ["Yes", "0", "?", "2"].map(|cell| usual.truth(cell)),
            [Reading::Number(1.0), Reading::Number(0.0), Reading::Missing, Reading::Other]
        );
        assert_eq!(usual.instant("1970-01-02"), Reading::Number(86_400.0));
        assert_eq!(usual.instant("19700102"), Reading::Number(86_400.0));
        assert_eq!(usual.instant("soon"), Reading::Other);
    }

    #[test]
    fn words_of_its_own_are_missing_everywhere() {
        let own = Notation { missing: vec!["-999".into(), "keine".into()], ..Notation::default() };
        assert_eq!((own.number("-999"), own.number("-99")), (Reading::Missing, Reading::Number(-99.0)));
        assert!(own.is_missing("Keine") && !own.is_missing("unknown"));
        assert_eq!(own.guess("-999"), Guess::Missing);
    }
}
