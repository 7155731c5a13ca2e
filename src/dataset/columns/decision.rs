//! The kind of a column, decided by all its cells, with what to say about it.

use super::identifiers::{FEWEST_ROWS, has_identifying_name, nearly_all_distinct};
use super::number_statistics::{CountedCells, NumberStatistics};
use super::profile::Profile;
use super::questions::date_target;
use super::{ColumnOptions, Intent};
use crate::dataset::quality::{Finding, FindingCode};
use crate::dataset::{Column, ColumnKind, ColumnReading, DatasetError, DateOrder, LeftOut};

/// Fewer distinct numbers among texts may be levels.
const FEWEST_NUMBERS: u64 = 10;

/// Cells in a hundred that may not fit a column of numbers or dates, and one in any case.
const STRAY_PERCENT: u64 = 5;

/// Blanks per text from which on texts are sentences.
const BLANKS_OF_SENTENCES: u64 = 3;

/// Most labels of a classification: each is an output of its own.
const MOST_LABELS: usize = 1000;

/// What the column is used for, as far as it decides its kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Use {
    Input,
    Target,
}

/// A column with what to say about it.
pub(super) type Decided = Result<(Column, Vec<Finding>), DatasetError>;

fn few(strays: u64, values: u64) -> bool {
    strays <= 1 || strays * 100 <= values * STRAY_PERCENT
}

impl Profile {
    /// The column, with a kind that fits all cells but a few.
    pub(super) fn decide(self, name: &str, intent: Intent, used: Use, options: &ColumnOptions) -> Decided {
        match (intent, used) {
            (Intent::Numeric, _) => self.numeric(name),
            (Intent::Categorical, Use::Input) => Ok((self.categorical(name)?, Vec::new())),
            (Intent::Categorical, Use::Target) => Ok((self.labels(name)?, Vec::new())),
            (Intent::Datetime, _) => self.dates(name, options, 0),
            (Intent::Infer, _) => self.infer(name, used, options),
            (Intent::Ignore, _) => {
                let (missing, examples) = (self.missing + self.words.count, self.examples.clone());
                let (mut column, _) = self
                    .infer(name, Use::Input, options)
                    .unwrap_or_else(|_| (Column::unread(name, missing, examples), Vec::new()));
                column.reading.left_out = Some(LeftOut::Ignored);
                Ok((column, Vec::new()))
            }
        }
    }

    fn infer(self, name: &str, used: Use, options: &ColumnOptions) -> Decided {
        let values = self.values();
        let (numbers, dates) = (self.numbers.count, self.dates.count);
        let codes = self.zero_led.count + self.too_long.count;
        let strays = self.truths.count + self.dates.count + self.texts.count;
        let enough = self.numbers.distinct() >= FEWEST_NUMBERS;
        let commas = self.texts.count >= 2 && self.other_decimal * 10 >= self.texts.count * 9;
        if commas && self.texts.count + numbers == values {
            return Err(self.ask_for_decimal(name));
        }
        if strays == 0 && (codes == 0 || self.not_finite.count > 0) {
            return self.numeric_but(name, used, 0);
        }
        if self.truths.count == values && (used == Use::Input || self.plain_truths == values) {
            return Ok(self.truth_values(name));
        }
        let undated = values - dates;
        if dates > 0 && (undated == 0 || dates >= FEWEST_NUMBERS && few(undated, values)) {
            return if used == Use::Target { Err(date_target(name)) } else { self.dates(name, options, undated) };
        }
        if enough && codes == 0 && strays < numbers {
            return if few(strays, values) {
                self.numeric_but(name, used, strays)
            } else {
                Err(self.ask(name, strays))
            };
        }
        if dates >= FEWEST_NUMBERS && undated < dates {
            return Err(self.ask_for_dates(name, undated));
        }
        match used {
            Use::Target => Ok((self.labels(name)?, Vec::new())),
            Use::Input => self.text(name),
        }
    }

    /// The column as numbers, refusing anything else.
    fn numeric(self, name: &str) -> Decided {
        if let Some((line, cell)) = CountedCells::merged([&self.texts, &self.dates]).first() {
            let detail = format!("expected a number, found '{cell}'; leave the cell empty if the value is missing");
            return Err(DatasetError::at(*line, Some(name), detail));
        }
        if let Some((line, cell)) = self.truths.first.first() {
            let found = if cell.len() > 3 { "true or false".to_owned() } else { format!("'{cell}'") };
            let detail = format!("expected a number, found {found}; write 1 or 0");
            return Err(DatasetError::at(*line, Some(name), detail));
        }
        if let Some((line, cell)) = self.too_long.first.first() {
            let detail = format!(
                "'{cell}' loses precision: integers of 2^53 and above are not exact; write it with a decimal point if \
                 it is a measurement, or send categorical={name} or ignore={name}"
            );
            return Err(DatasetError::at(*line, Some(name), detail));
        }
        let (mut column, findings) = self.numeric_but(name, Use::Target, 0)?;
        column.reading.left_out = None;
        Ok((column, findings))
    }

    /// The column as numbers; so many other cells count as missing.
    fn numeric_but(self, name: &str, used: Use, strays: u64) -> Decided {
        if let Some((line, _)) = self.not_finite.first.first() {
            let detail = "not a finite number; leave the cell empty if the value is missing";
            return Err(DatasetError::at(*line, Some(name), detail));
        }
        let mut findings = self.word_findings(name);
        if strays > 0 {
            let others = CountedCells::merged([&self.truths, &self.dates, &self.texts]);
            findings.push(self.stray_finding(name, "numbers", strays, &others));
        }
        findings.extend(self.mixed_units(name));
        let mut column = self.column(name, ColumnKind::Numeric, Some(&self.numbers));
        column.missing += strays;
        column.reading.confidence = share(self.numbers.count, self.values());
        column.reading.skewness = Some(self.numbers.skewness()).filter(|_| self.numbers.count > 2);
        column.reading.integers = self.numbers.all_integers;
        let all_distinct = self.numbers.repeats == 0 && self.numbers.count >= FEWEST_ROWS;
        if used == Use::Input && all_distinct && self.numbers.all_integers && has_identifying_name(name) {
            column.reading.left_out = Some(LeftOut::Identifier);
        }
        Ok((column, findings))
    }

    fn truth_values(&self, name: &str) -> (Column, Vec<Finding>) {
        let mut statistics = NumberStatistics::new(self.limit);
        for index in 0..self.truths.count {
            statistics.add(f64::from(u8::from(index < self.true_count)));
        }
        let mut column = self.column(name, ColumnKind::Boolean, Some(&statistics));
        column.reading.counts = vec![self.truths.count - self.true_count, self.true_count];
        (column, self.word_findings(name))
    }

    /// The column as dates, in the order that most of them allow; `strays` cells are no dates at all.
    fn dates(self, name: &str, options: &ColumnOptions, strays: u64) -> Decided {
        let values = self.values();
        if strays < values - self.dates.count {
            let others = CountedCells::merged([&self.number_cells, &self.truths, &self.texts, &self.not_finite]);
            let (line, cell) = others.first().cloned().unwrap_or_default();
            let detail =
                format!("expected a date such as 2026-03-31, found '{cell}'; leave the cell empty if it is missing");
            return Err(DatasetError::at(line, Some(name), detail));
        }
        let (month, day) = (self.month_first.count, self.day_first.count);
        let order = match options.day_first {
            Some(true) => DateOrder::DayFirst,
            None if self.ambiguous > 0 && month == day => return Err(self.ask_for_order(name)),
            None if day > month => DateOrder::DayFirst,
            Some(false) | None => DateOrder::MonthFirst,
        };
        let wrong = self.dates.count - self.instants(order).count;
        let kind = if self.has_time { ColumnKind::Datetime } else { ColumnKind::Date };
        let mut findings = self.word_findings(name);
        if wrong + strays > 0 {
            if !few(wrong + strays, values) {
                return Err(self.ask_for_dates(name, wrong + strays));
            }
            let others = CountedCells::merged([&self.number_cells, &self.truths, &self.texts]);
            findings.push(self.stray_finding(name, "dates", wrong + strays, &others));
        }
        if self.ambiguous > 0 && options.day_first.is_none() {
            let (first, parameter) = match order {
                DateOrder::DayFirst => ("day", "false"),
                DateOrder::MonthFirst => ("month", "true"),
            };
            let detail =
                format!("{} dates can be read in two ways; by the others the {first} comes first", self.ambiguous);
            findings.push(Finding::note(
                name,
                FindingCode::DateOrder,
                detail,
                format!("If that is wrong, send day_first={parameter}."),
            ));
        }
        let mut column = self.column(name, kind, Some(self.instants(order)));
        column.missing += wrong + strays;
        column.reading.notation.order = order;
        column.reading.confidence = share(self.dates.count - wrong, values);
        Ok((column, findings))
    }

    /// The column as texts: levels, or left out if they name rows or are sentences.
    fn text(self, name: &str) -> Decided {
        let mut findings = Vec::new();
        let sentences = self.texts.count > 0 && self.blanks >= BLANKS_OF_SENTENCES * self.texts.count;
        if nearly_all_distinct(self.new_levels, self.level_cells) {
            let left_out = if sentences { LeftOut::FreeText } else { LeftOut::Identifier };
            let mut column = Column::unread(name, self.missing, self.examples.clone());
            (column.distinct, column.distinct_is_lower_bound) = (self.new_levels, self.has_too_many_levels());
            column.reading.left_out = Some(left_out);
            return Ok((column, findings));
        }
        let unit = self.unit.name();
        if let Some((line, cell)) = self.zero_led.first.first() {
            let detail =
                format!("cells such as '{cell}' ({unit} {line}) begin with a zero, so they are levels and not numbers");
            findings.push(Finding::note(
                name,
                FindingCode::LeadingZeros,
                detail,
                format!("If they are quantities, send numeric={name}."),
            ));
        }
        if let Some((line, cell)) = self.too_long.first.first() {
            let detail = format!(
                "'{cell}' ({unit} {line}) is an integer of 2^53 or above, so the cells are levels and not numbers"
            );
            findings.push(Finding::note(
                name,
                FindingCode::LongIntegers,
                detail,
                format!(
                    "If they are measurements, write them with a decimal point; if they name rows, send ignore={name}."
                ),
            ));
        }
        if let Some((_, word)) = self.words.first.first() {
            let count = self.words.count;
            let detail = format!("{count} cells hold a word such as '{word}', which is a level of this text column");
            findings.push(Finding::note(
                name,
                FindingCode::MissingWordLevel,
                detail,
                format!("If it means that the value is missing, send missing={word}."),
            ));
        }
        Ok((self.categorical(name)?, findings))
    }

    /// The target column as labels. NaN and infinities are refused: they are failed numbers, not labels.
    fn labels(self, name: &str) -> Result<Column, DatasetError> {
        if let Some((line, _)) = self.not_finite.first.first() {
            let detail = "NaN and infinities cannot be labels; leave the cell empty if the label is missing";
            return Err(DatasetError::at(*line, Some(name), detail));
        }
        if self.has_too_many_levels() || self.levels.len() > MOST_LABELS {
            let limit = self.level_limit().min(MOST_LABELS);
            return Err(DatasetError::column(
                name,
                format!("more than {limit} distinct labels; predict it as a number, or choose another target"),
            ));
        }
        self.categorical(name)
    }

    fn categorical(self, name: &str) -> Result<Column, DatasetError> {
        let mut column = self.column(name, ColumnKind::Categorical, None);
        if self.has_too_many_levels() {
            let limit = self.level_limit();
            return Err(match self.texts.first.first() {
                Some((line, cell)) if limit < self.limit => DatasetError::at(
                    *line,
                    Some(name),
                    format!(
                        "'{cell}' makes this a text column, and it has more than {limit} distinct values; correct the cell, \
                         send categorical={name} if the numbers are levels too, or leave the column out with ignore={name}"
                    ),
                ),
                Some((line, cell)) => DatasetError::at(
                    *line,
                    Some(name),
                    format!(
                        "'{cell}' makes this a text column, and it has more than {limit} distinct values; \
                         correct the cell, or leave the column out with ignore={name}"
                    ),
                ),
                None if limit < self.limit => DatasetError::column(
                    name,
                    format!(
                        "more than {limit} distinct values that may be levels; send categorical={name}, numeric={name} or \
                         ignore={name}"
                    ),
                ),
                None => DatasetError::column(
                    name,
                    format!(
                        "more than {limit} distinct levels; read it as numbers, or leave it out with ignore={name}"
                    ),
                ),
            });
        }
        column.missing = self.missing;
        column.distinct = self.levels.len() as u64;
        (column.levels, column.reading.counts) = self.levels.into_iter().unzip();
        Ok(column)
    }

    /// A column with these statistics; words for "missing" count as missing.
    fn column(&self, name: &str, kind: ColumnKind, statistics: Option<&NumberStatistics>) -> Column {
        let seen = |value: fn(&NumberStatistics) -> f64| statistics.filter(|seen| seen.count > 0).map(value);
        Column {
            name: name.to_owned(),
            kind,
            levels: Vec::new(),
            missing: self.missing + self.words.count,
            distinct: statistics.map_or(0, NumberStatistics::distinct),
            distinct_is_lower_bound: statistics.is_some_and(NumberStatistics::distinct_is_lower_bound),
            min: seen(|statistics| statistics.min),
            max: seen(|statistics| statistics.max),
            mean: seen(|statistics| statistics.mean),
            std: seen(NumberStatistics::std),
            reading: ColumnReading {
                notation: self.notation.clone(),
                examples: self.examples.clone(),
                ..ColumnReading::default()
            },
        }
    }

    fn word_findings(&self, name: &str) -> Vec<Finding> {
        if self.words.count == 0 {
            return Vec::new();
        }
        let (count, shown) = (self.words.count, self.listed(&self.words.first));
        let detail = format!("{count} cells hold a word for \"missing\" and count as missing: {shown}");
        vec![Finding::note(
            name,
            FindingCode::MissingWords,
            detail,
            format!("If it is a value of its own, send categorical={name}."),
        )]
    }

    fn mixed_units(&self, name: &str) -> Option<Finding> {
        let [(one, count), (other, _), ..] = self.units.as_slice() else { return None };
        let (total, other, one) = (self.numbers.count, other.sign(), one.sign());
        let detail = format!(
            "{count} of {total} numbers are written with {one}, others with {other}; signs of currency are \
                              dropped, and a percent sign divides by 100"
        );
        Some(Finding::warning(
            name,
            FindingCode::MixedUnits,
            detail,
            "Convert the column to one unit if these are different units.",
        ))
    }

    fn stray_finding(&self, name: &str, kind: &str, strays: u64, cells: &[(u64, String)]) -> Finding {
        let shown = if cells.is_empty() { String::new() } else { format!(": {}", self.listed(cells)) };
        let detail = format!("{strays} cells among {kind} are something else and count as missing{shown}");
        let action = format!("Correct the cells, or send categorical={name} if the column holds levels.");
        Finding::warning(name, FindingCode::StrayCells, detail, action)
    }
}

fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 1.0 } else { part as f64 / whole as f64 }
}
