//! From cells to typed columns: the first pass over an upload.

use super::formats::csv::CsvTable;
use super::{Column, ColumnKind, DatasetError};
use std::collections::{BTreeSet, HashSet};
use std::io::Read;

/// The value of one cell.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Reading {
    Missing,
    Number(f64),
    /// NaN, infinity, or a number too large for f64.
    NotFinite,
    Boolean(bool),
    Text,
}

/// Reads a cell. Empty, `NA`, `N/A` and `null` are missing. `NaN` is not: it is usually the result of a failed
/// computation.
pub(super) fn read(cell: &str) -> Reading {
    let is = |word: &str| cell.eq_ignore_ascii_case(word);
    if cell.is_empty() || is("na") || is("n/a") || is("null") {
        Reading::Missing
    } else if is("true") {
        Reading::Boolean(true)
    } else if is("false") {
        Reading::Boolean(false)
    } else {
        match cell.parse::<f64>() {
            Ok(number) if number.is_finite() => Reading::Number(number),
            Ok(_) => Reading::NotFinite,
            Err(_) => Reading::Text,
        }
    }
}

/// Statistics of a column, gathered cell by cell.
pub(super) struct Profile {
    missing: u64,
    numbers: u64,
    booleans: u64,
    /// First cell that is neither number, boolean nor missing, with its line.
    first_text: Option<(u64, String)>,
    first_not_finite: Option<u64>,
    first_boolean: Option<u64>,
    /// Distinct texts, until there are too many.
    levels: Option<BTreeSet<String>>,
    /// Distinct numbers as bits, up to the limit.
    distinct: HashSet<u64>,
    limit: usize,
    min: f64,
    max: f64,
    mean: f64,
    /// Σ(x − mean)², updated by Welford's recurrence.
    squares: f64,
}

impl Profile {
    pub(super) fn new(limit: usize) -> Self {
        Self {
            missing: 0,
            numbers: 0,
            booleans: 0,
            first_text: None,
            first_not_finite: None,
            first_boolean: None,
            levels: Some(BTreeSet::new()),
            distinct: HashSet::new(),
            limit,
            min: f64::INFINITY,
            max: f64::NEG_INFINITY,
            mean: 0.0,
            squares: 0.0,
        }
    }

    /// Adds one cell.
    pub(super) fn observe(&mut self, line: u64, cell: &str) {
        match read(cell) {
            Reading::Missing => {
                self.missing += 1;
                return;
            }
            Reading::Number(number) => {
                self.numbers += 1;
                self.add_to_moments(number);
            }
            Reading::Boolean(value) => {
                self.booleans += 1;
                self.first_boolean.get_or_insert(line);
                self.add_to_moments(f64::from(u8::from(value)));
            }
            Reading::NotFinite => {
                self.first_not_finite.get_or_insert(line);
            }
            Reading::Text => {
                self.first_text.get_or_insert_with(|| (line, cell.to_owned()));
            }
        }
        if let Some(levels) = &mut self.levels
            && !levels.contains(cell)
        {
            levels.insert(cell.to_owned());
            if levels.len() > self.limit {
                self.levels = None;
            }
        }
    }

    fn add_to_moments(&mut self, number: f64) {
        if self.distinct.len() < self.limit {
            self.distinct.insert((number + 0.0).to_bits()); // −0 counts as 0
        }
        self.min = self.min.min(number);
        self.max = self.max.max(number);
        let step = number - self.mean;
        self.mean += step / (self.numbers + self.booleans) as f64;
        self.squares += step * (number - self.mean);
    }

    /// The column, with a kind that fits all cells.
    pub(super) fn infer(self, name: &str) -> Result<Column, DatasetError> {
        if self.is_text() {
            return self.categorical(name);
        }
        if self.booleans > 0 && self.first_not_finite.is_none() {
            return Ok(self.numeric_column(name, ColumnKind::Boolean));
        }
        self.numeric(name)
    }

    /// The target column, with a kind that fits all cells: text becomes labels.
    pub(super) fn infer_target(self, name: &str) -> Result<Column, DatasetError> {
        if self.is_text() { self.labels(name) } else { self.infer(name) }
    }

    /// The target column as labels. NaN and infinities are refused: they are failed numbers, not labels.
    pub(super) fn labels(self, name: &str) -> Result<Column, DatasetError> {
        if let Some(line) = self.first_not_finite {
            let detail = "NaN and infinities cannot be labels; leave the cell empty if the label is missing";
            return Err(DatasetError::at(line, Some(name), detail));
        }
        self.categorical(name)
    }

    fn is_text(&self) -> bool {
        self.first_text.is_some() || (self.booleans > 0 && self.numbers > 0)
    }

    /// The column as numbers, refusing anything else.
    pub(super) fn numeric(self, name: &str) -> Result<Column, DatasetError> {
        if let Some((line, cell)) = &self.first_text {
            let detail =
                format!("expected a number, found '{}'; leave the cell empty if the value is missing", shorten(cell));
            return Err(DatasetError::at(*line, Some(name), detail));
        }
        if let Some(line) = self.first_boolean {
            return Err(DatasetError::at(line, Some(name), "expected a number, found true or false; write 1 or 0"));
        }
        if let Some(line) = self.first_not_finite {
            let detail = "not a finite number; leave the cell empty if the value is missing";
            return Err(DatasetError::at(line, Some(name), detail));
        }
        Ok(self.numeric_column(name, ColumnKind::Numeric))
    }

    /// The column as text levels.
    pub(super) fn categorical(self, name: &str) -> Result<Column, DatasetError> {
        let Some(levels) = self.levels else {
            let limit = self.limit;
            return Err(match self.first_text {
                Some((line, cell)) => DatasetError::at(
                    line,
                    Some(name),
                    format!(
                        "'{}' makes this a text column, and it has more than {limit} distinct values; \
                         correct the cell, or remove the column",
                        shorten(&cell)
                    ),
                ),
                None => DatasetError::column(
                    name,
                    format!("more than {limit} distinct labels; predict it as a number, or choose another target"),
                ),
            });
        };
        Ok(Column {
            name: name.to_owned(),
            kind: ColumnKind::Categorical,
            missing: self.missing,
            distinct: levels.len() as u64,
            distinct_is_lower_bound: false,
            levels: levels.into_iter().collect(),
            min: None,
            max: None,
            mean: None,
            std: None,
        })
    }

    fn numeric_column(&self, name: &str, kind: ColumnKind) -> Column {
        let count = self.numbers + self.booleans;
        let seen = |value: f64| (count > 0).then_some(value);
        Column {
            name: name.to_owned(),
            kind,
            levels: Vec::new(),
            missing: self.missing,
            distinct: self.distinct.len() as u64,
            distinct_is_lower_bound: self.distinct.len() >= self.limit,
            min: seen(self.min),
            max: seen(self.max),
            mean: seen(self.mean),
            std: seen((self.squares / count as f64).sqrt()),
        }
    }
}

/// Profiles every column of a table and counts its rows.
pub(super) fn profile(
    table: &mut CsvTable<impl Read>,
    level_limit: usize,
) -> Result<(Vec<Profile>, u64), DatasetError> {
    let mut profiles: Vec<Profile> = table.names.iter().map(|_| Profile::new(level_limit)).collect();
    let mut row_count = 0;
    while table.advance()? {
        row_count += 1;
        for (column, profile) in profiles.iter_mut().enumerate() {
            profile.observe(table.line(), table.cell(column)?);
        }
    }
    Ok((profiles, row_count))
}

/// The first characters of a cell, for error texts.
fn shorten(cell: &str) -> String {
    const SHOWN: usize = 40;
    if cell.chars().count() <= SHOWN { cell.to_owned() } else { cell.chars().take(SHOWN).chain(['…']).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn profile_of(cells: &[&str], limit: usize) -> Profile {
        let mut profile = Profile::new(limit);
        for (index, cell) in cells.iter().enumerate() {
            profile.observe(index as u64 + 2, cell);
        }
        profile
    }

    #[test]
    fn numbers_give_moments() {
        let column = profile_of(&["1", "", "4", "1e0", "NA"], 100).infer("x").unwrap();
        assert_eq!((column.kind, column.missing, column.distinct), (ColumnKind::Numeric, 2, 2));
        assert_eq!((column.min, column.max, column.mean), (Some(1.0), Some(4.0), Some(2.0)));
        assert!((column.std.unwrap() - 2_f64.sqrt()).abs() < 1e-15);
    }

    #[test]
    fn text_booleans_and_mixtures_are_told_apart() {
        assert_eq!(profile_of(&["True", "false"], 9).infer("x").unwrap().kind, ColumnKind::Boolean);
        let column = profile_of(&["b", "1", "a", "b"], 9).infer("x").unwrap();
        assert_eq!((column.kind, column.levels), (ColumnKind::Categorical, vec!["1".into(), "a".into(), "b".into()]));
        assert_eq!(profile_of(&["true", "2"], 9).infer("x").unwrap().kind, ColumnKind::Categorical);
    }

    #[test]
    fn cells_that_are_not_numbers_are_refused_with_their_place() {
        for cell in ["NaN", "inf", "-Infinity", "1e999"] {
            let error = profile_of(&["1", cell], 9).infer("x").unwrap_err().to_string();
            assert!(error.starts_with("line 3, column 'x': not a finite number"), "{error}");
        }
        let error = profile_of(&["1", "oops"], 9).numeric("x").unwrap_err().to_string();
        assert_eq!(
            error,
            "line 3, column 'x': expected a number, found 'oops'; leave the cell empty if the value is missing"
        );
        for profile in [profile_of(&["1", "NaN", "2"], 9).labels("x"), profile_of(&["a", "NaN"], 9).infer_target("x")] {
            let error = profile.unwrap_err().to_string();
            assert!(error.starts_with("line 3, column 'x': NaN and infinities cannot be labels"), "{error}");
        }
    }

    #[test]
    fn too_many_levels_name_the_first_text() {
        let error = profile_of(&["1", "2", "three", "4"], 2).infer("x").unwrap_err().to_string();
        assert!(error.starts_with("line 4, column 'x': 'three' makes this a text column"), "{error}");
    }
}
