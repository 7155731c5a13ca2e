//! What was seen of a column, cell by cell.

use super::number_statistics::{CountedCells, NumberStatistics};
use super::{Intent, TextRows};
use crate::dataset::cells::{Form, Guess, Unit, read_compact};
use crate::dataset::quality::RowSample;
use crate::dataset::{DatasetError, DateOrder, DecimalMark, Notation, PlaceUnit};
use std::collections::BTreeMap;

/// Distinct numbers that are also kept as texts, in case that the column turns out to hold levels. A column with more is
/// numbers, unless the upload says otherwise. Protects memory, and time: most columns of numbers have far more.
const NUMBERS_AS_LEVELS: usize = 1000;

/// Levels of all columns together, where columns are so many that each could not have the most.
const LEVELS_OF_TABLE: usize = 1_000_000;

/// Counts of a column, gathered cell by cell.
pub(super) struct Profile {
    pub(super) notation: Notation,
    /// What places are counted in.
    pub(super) unit: PlaceUnit,
    /// Whether another decimal mark can be sent as an option.
    pub(super) takes_decimal: bool,
    /// What the upload says: whether eight digits are a date, and numbers are levels.
    intent: Intent,
    pub(super) missing: u64,
    /// Words that are missing among values and levels among texts.
    pub(super) words: CountedCells,
    pub(super) numbers: NumberStatistics,
    pub(super) number_cells: CountedCells,
    pub(super) zero_led: CountedCells,
    pub(super) too_long: CountedCells,
    pub(super) not_finite: CountedCells,
    /// The signs that numbers were written with.
    pub(super) units: Vec<(Unit, u64)>,
    pub(super) truths: CountedCells,
    pub(super) true_count: u64,
    /// Those that are `true` or `false` in full.
    pub(super) plain_truths: u64,
    pub(super) dates: CountedCells,
    pub(super) month_first: NumberStatistics,
    pub(super) day_first: NumberStatistics,
    /// Dates that are another day when day and month change places.
    pub(super) ambiguous: u64,
    pub(super) has_time: bool,
    pub(super) texts: CountedCells,
    /// Texts that are numbers with the other decimal mark.
    pub(super) other_decimal: u64,
    /// Blanks in texts.
    pub(super) blanks: u64,
    /// Distinct texts with the number of their cells; at most one more than the limit.
    pub(super) levels: BTreeMap<String, u64>,
    /// Cells that are not missing, and those that are none of the levels before them.
    pub(super) level_cells: u64,
    pub(super) new_levels: u64,
    pub(super) limit: usize,
    /// Cells that were not kept as levels, because the column looked like numbers.
    unkept: u64,
    pub(super) examples: Vec<String>,
}

impl Profile {
    pub(super) fn new(limit: usize, notation: Notation, unit: PlaceUnit, intent: Intent) -> Self {
        Self {
            notation,
            unit,
            takes_decimal: true,
            intent,
            missing: 0,
            words: CountedCells::default(),
            numbers: NumberStatistics::new(limit.min(NUMBERS_AS_LEVELS)),
            number_cells: CountedCells::default(),
            zero_led: CountedCells::default(),
            too_long: CountedCells::default(),
            not_finite: CountedCells::default(),
            units: Vec::new(),
            truths: CountedCells::default(),
            true_count: 0,
            plain_truths: 0,
            dates: CountedCells::default(),
            month_first: NumberStatistics::new(limit.min(NUMBERS_AS_LEVELS)),
            day_first: NumberStatistics::new(limit.min(NUMBERS_AS_LEVELS)),
            ambiguous: 0,
            has_time: false,
            texts: CountedCells::default(),
            other_decimal: 0,
            blanks: 0,
            levels: BTreeMap::new(),
            level_cells: 0,
            new_levels: 0,
            limit,
            unkept: 0,
            examples: Vec::new(),
        }
    }

    /// Adds one cell.
    pub(super) fn observe(&mut self, line: u64, cell: &str) {
        let mut guess = self.notation.guess(cell);
        if self.intent == Intent::Datetime
            && let Some(instant) = read_compact(cell)
        {
            guess = Guess::Date(instant);
        }
        match guess {
            Guess::Missing => {
                self.missing += 1;
                return;
            }
            Guess::MissingWord => self.words.add(line, cell),
            Guess::Number(number) if !number.value.is_finite() => self.not_finite.add(line, cell),
            Guess::Number(number) => {
                self.numbers.add(number.value);
                self.number_cells.add(line, cell);
                self.add_unit(number.unit);
                match number.form {
                    Form::Quantity => {}
                    Form::LeadingZero => self.zero_led.add(line, cell),
                    Form::TooLong => self.too_long.add(line, cell),
                }
            }
            Guess::Truth(value) => {
                self.truths.add(line, cell);
                self.true_count += u64::from(value);
                self.plain_truths += u64::from(cell.len() > 3);
            }
            Guess::Date(instant) => {
                self.dates.add(line, cell);
                self.has_time |= instant.has_time;
                let found = [DateOrder::MonthFirst, DateOrder::DayFirst].map(|order| instant.seconds(order));
                self.ambiguous += u64::from(found[0].is_some() && found[1].is_some() && found[0] != found[1]);
                found[0].into_iter().for_each(|seconds| self.month_first.add(seconds));
                found[1].into_iter().for_each(|seconds| self.day_first.add(seconds));
            }
            Guess::Text => {
                self.texts.add(line, cell);
                self.blanks += cell.bytes().filter(|byte| *byte == b' ').count() as u64;
                self.other_decimal += u64::from(self.is_number_otherwise(cell));
            }
        }
        self.add_level(cell);
    }

    fn is_number_otherwise(&self, cell: &str) -> bool {
        let decimal = match self.notation.decimal {
            DecimalMark::Point => DecimalMark::Comma,
            DecimalMark::Comma => DecimalMark::Point,
        };
        let other = Notation { decimal, ..Notation::default() };
        cell.contains([',', '.']) && matches!(other.guess(cell), Guess::Number(number) if number.value.is_finite())
    }

    fn add_unit(&mut self, unit: Unit) {
        match self.units.iter_mut().find(|(known, _)| *known == unit) {
            Some((_, count)) => *count += 1,
            None => self.units.push((unit, 1)),
        }
    }

    fn add_level(&mut self, cell: &str) {
        const EXAMPLES: usize = 3;
        // Numbers alone need no levels; a lookup for every cell would take longer than all the rest.
        let may_be_levels =
            self.intent == Intent::Categorical || self.texts.count + self.zero_led.count + self.too_long.count > 0;
        if !may_be_levels && self.levels.len() > self.limit.min(NUMBERS_AS_LEVELS) {
            self.unkept += 1;
            return;
        }
        self.level_cells += 1;
        if let Some(count) = self.levels.get_mut(cell) {
            *count += 1;
            return;
        }
        self.new_levels += 1;
        if self.levels.len() > self.limit {
            return;
        }
        self.levels.insert(cell.to_owned(), 1);
        if self.examples.len() < EXAMPLES {
            self.examples.push(cell.chars().take(40).collect());
        }
    }

    pub(super) fn has_too_many_levels(&self) -> bool {
        self.unkept > 0 || self.levels.len() > self.limit
    }

    /// Most distinct texts that the column may have; fewer if it looked like numbers at first.
    pub(super) fn level_limit(&self) -> usize {
        if self.unkept > 0 { self.limit.min(NUMBERS_AS_LEVELS) } else { self.limit }
    }

    /// Cells that hold something, words for "missing" not counted.
    pub(super) fn values(&self) -> u64 {
        self.numbers.count + self.not_finite.count + self.truths.count + self.dates.count + self.texts.count
    }

    /// The numbers of a column of dates in the order that is decided.
    pub(super) fn instants(&self, order: DateOrder) -> &NumberStatistics {
        match order {
            DateOrder::MonthFirst => &self.month_first,
            DateOrder::DayFirst => &self.day_first,
        }
    }
}

/// A table after its first pass.
pub(in crate::dataset) struct Profiled {
    pub(super) profiles: Vec<Profile>,
    pub(in crate::dataset) row_count: u64,
    pub(in crate::dataset) sample: RowSample,
}

/// Profiles every column of a table and counts its rows.
pub(in crate::dataset) fn profile(
    table: &mut impl TextRows,
    level_limit: usize,
    notation: &Notation,
    intents: &[Intent],
) -> Result<Profiled, DatasetError> {
    let (unit, takes_decimal) = (table.unit(), table.take_decimal_option());
    let level_limit = level_limit.min((LEVELS_OF_TABLE / intents.len().max(1)).max(NUMBERS_AS_LEVELS));
    let profile =
        |intent: &Intent| Profile { takes_decimal, ..Profile::new(level_limit, notation.clone(), unit, *intent) };
    let mut profiles: Vec<Profile> = intents.iter().map(profile).collect();
    let (mut row_count, mut sample) = (0, RowSample::new(intents.len()));
    while table.advance()? {
        row_count += 1;
        sample.begin_row();
        for (column, profile) in profiles.iter_mut().enumerate() {
            let cell = table.cell(column)?;
            profile.observe(table.line(), cell);
            sample.add(cell);
        }
        sample.end_row();
    }
    Ok(Profiled { profiles, row_count, sample })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataset::columns::ColumnOptions;
    use crate::dataset::columns::decision::{Decided, Use};
    use crate::dataset::{Column, ColumnKind};

    fn decide(cells: &[&str], limit: usize, intent: Intent, used: Use) -> Decided {
        let mut profile = Profile::new(limit, Notation::default(), PlaceUnit::Line, intent);
        for (index, cell) in cells.iter().enumerate() {
            profile.observe(index as u64 + 2, cell);
        }
        profile.decide("x", intent, used, &ColumnOptions::default())
    }

    fn infer(cells: &[&str], limit: usize) -> Result<Column, DatasetError> {
        decide(cells, limit, Intent::Infer, Use::Input).map(|(column, _)| column)
    }

    #[test]
    fn numbers_give_moments() {
        let column = infer(&["1", "", "4", "1e0", "NA"], 100).unwrap();
        assert_eq!((column.kind, column.missing, column.distinct), (ColumnKind::Numeric, 2, 2));
        assert_eq!((column.min, column.max, column.mean), (Some(1.0), Some(4.0), Some(2.0)));
        assert!((column.std.unwrap() - 2_f64.sqrt()).abs() < 1e-15);
    }

    #[test]
    fn text_booleans_and_mixtures_are_told_apart() {
        assert_eq!(infer(&["True", "false"], 9).unwrap().kind, ColumnKind::Boolean);
        let column = infer(&["b", "1", "a", "b"], 9).unwrap();
        assert_eq!((column.kind, column.levels), (ColumnKind::Categorical, vec!["1".into(), "a".into(), "b".into()]));
        assert_eq!(column.reading.counts, [1, 1, 2]);
        assert_eq!(infer(&["true", "2"], 9).unwrap().kind, ColumnKind::Categorical);
        let labels = decide(&["yes", "no"], 9, Intent::Infer, Use::Target).unwrap().0;
        assert_eq!(labels.levels, ["no", "yes"]);
    }

    #[test]
    fn cells_that_are_not_numbers_are_refused_with_their_place() {
        for cell in ["NaN", "inf", "-Infinity", "1e999"] {
            let error = infer(&["1", cell], 9).unwrap_err().to_string();
            assert!(error.starts_with("line 3, column 'x': not a finite number"), "{error}");
        }
        let error = decide(&["1", "oops"], 9, Intent::Numeric, Use::Input).err().unwrap().to_string();
        assert_eq!(
            error,
            "line 3, column 'x': expected a number, found 'oops'; leave the cell empty if the value is missing"
        );
        for (cells, intent) in [(["1", "NaN"], Intent::Categorical), (["a", "NaN"], Intent::Infer)] {
            let error = decide(&cells, 9, intent, Use::Target).err().unwrap().to_string();
            assert!(error.starts_with("line 3, column 'x': NaN and infinities cannot be labels"), "{error}");
        }
    }

    #[test]
    fn too_many_levels_name_the_first_text() {
        let error = infer(&["1", "2", "three", "4"], 2).unwrap_err().to_string();
        assert!(error.starts_with("line 4, column 'x': 'three' makes this a text column"), "{error}");
    }
}
