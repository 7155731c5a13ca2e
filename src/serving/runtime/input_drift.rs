//! How the rows that a version is asked about differ from those it was fitted on.
//!
//! A few rows of every request are looked at, so that a request pays for at most a handful of comparisons a column. What is
//! kept are counts and means, so that no request can make it grow; they begin anew when the version is loaded again.

use crate::model::{ColumnRange, FittedModel};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// Rows of one request, or of one block of a table, that are looked at.
const MOST_ROWS: usize = 8;

/// Rows below which nothing is notable, and the share from which on it is.
const FEWEST_ROWS: u64 = 100;
const NOTABLE_SHARE: f64 = 0.05;

/// Counts of the rows of requests.
pub struct InputDrift {
    since: Instant,
    counts: Mutex<Counts>,
}

#[derive(Clone, Default)]
struct Counts {
    rows: u64,
    columns: Vec<ColumnCounts>,
}

#[derive(Clone, Copy, Default)]
struct ColumnCounts {
    missing: u64,
    outside: u64,
    unknown: u64,
    /// Of the numbers, whose count is that of the rows without the missing ones.
    mean: f64,
}

/// What was seen of one column.
#[derive(Debug, Clone, PartialEq)]
pub struct ColumnDrift {
    /// The share of missing cells.
    pub missing: f64,
    /// The share of numbers and dates below the smallest or above the largest of the fitted rows; none for levels, and
    /// for versions that keep no ranges.
    pub outside: Option<f64>,
    /// The share of levels that training did not see; none for other kinds.
    pub unknown: Option<f64>,
    /// The mean of a column of numbers, and that of the rows it was scaled by.
    pub means: Option<(f64, f64)>,
    /// Whether more rows than one in twenty are outside or unknown, and far more than of rows like the fitted ones.
    pub is_notable: bool,
}

/// What was seen of all columns, in their order.
#[derive(Debug, Clone, PartialEq)]
pub struct DriftReport {
    /// Rows that were looked at.
    pub rows: u64,
    /// Since the version was loaded.
    pub seconds: u64,
    /// Of rows like the n fitted ones at most this share lies outside of the range of a column: 2/(n + 1).
    pub expected_outside: f64,
    /// In the order of the model.
    pub columns: Vec<ColumnDrift>,
}

impl InputDrift {
    pub(super) fn new(model: &FittedModel) -> Self {
        let columns = vec![ColumnCounts::default(); model.inputs.encoding.columns.len()];
        Self { since: Instant::now(), counts: Mutex::new(Counts { rows: 0, columns }) }
    }

    /// Looks at some of the rows, evenly spread. If another request does so at this moment, none are.
    pub fn observe<'a>(&self, model: &FittedModel, rows: impl ExactSizeIterator<Item = &'a [f64]>) {
        let Ok(mut counts) = self.counts.try_lock() else { return };
        let step = rows.len().div_ceil(MOST_ROWS).max(1);
        for codes in rows.step_by(step) {
            counts.rows += 1;
            let seen = counts.rows;
            for (index, (own, &code)) in counts.columns.iter_mut().zip(codes).enumerate() {
                let column = &model.inputs.encoding.columns[index];
                if code.is_nan() {
                    own.missing += 1;
                    continue;
                }
                let range = model.ranges.as_ref().and_then(|ranges| *ranges.columns.get(index)?);
                own.outside += u64::from(range.is_some_and(|range: ColumnRange| !range.contains(code)));
                own.unknown += u64::from(column.is_unknown(code));
                let numbers = (seen - own.missing) as f64;
                own.mean += code / numbers - own.mean / numbers; // the difference itself may overflow
            }
        }
    }

    /// What was seen so far.
    pub fn report(&self, model: &FittedModel) -> DriftReport {
        let counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let expected_outside = 2.0 / (model.report.training_rows as f64 + 1.0);
        let share = |part: u64| if counts.rows == 0 { 0.0 } else { part as f64 / counts.rows as f64 };
        let columns = &model.inputs.encoding.columns;
        let inputs = model.inputs.encoding.input_ranges();
        let drift = |index: usize| {
            let (own, column) = (counts.columns[index], &columns[index]);
            let has_range =
                model.ranges.as_ref().is_some_and(|ranges| ranges.columns.get(index).is_some_and(Option::is_some));
            let is_number = column.is_number() && own.missing < counts.rows;
            let unusual = share(own.outside + own.unknown);
            ColumnDrift {
                missing: share(own.missing),
                outside: has_range.then(|| share(own.outside)),
                unknown: (!column.levels.is_empty()).then(|| share(own.unknown)),
                means: is_number.then(|| (own.mean, model.inputs.scaling.fill[inputs[index].start])),
                is_notable: counts.rows >= FEWEST_ROWS && unusual > NOTABLE_SHARE.max(3.0 * expected_outside),
            }
        };
        let columns = (0..columns.len()).map(drift).collect();
        DriftReport { rows: counts.rows, seconds: self.since.elapsed().as_secs(), expected_outside, columns }
    }
}
