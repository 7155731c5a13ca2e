//! What one cell means: a number as people write it, a date, a truth value, or a word for "missing".

/// Numbers with signs of currency, percent and groups of digits.
mod numbers;

/// Dates and times, and the inputs they become.
mod dates;

/// Words that stand for a missing value.
mod missing;

/// `yes`, `no` and their kin.
mod truth;

/// How the cells of one column are written.
mod notation;

/// From texts to the numbers of a table.
mod codes;

pub use dates::{DateOrder, DateParts, format_instant};
pub use notation::{Notation, Reading};
pub use numbers::DecimalMark;

pub(in crate::dataset) use codes::Codes;
pub(in crate::dataset) use dates::read_compact;
pub(in crate::dataset) use notation::Guess;
pub(in crate::dataset) use numbers::{Form, Unit};
