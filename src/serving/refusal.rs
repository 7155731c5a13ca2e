//! Why a prediction request is refused.

use super::RowLocations;
use crate::dataset::DatasetError;
use crate::model::Predictions;
use crate::request::problem::{Problem, pointer};
use ndarray::Array2;

/// Why a prediction request is refused; always the sender's fault.
#[derive(Debug, Clone, PartialEq)]
pub enum Refusal {
    /// The body is not in the format it claims to be in.
    Malformed {
        /// What kind of malformation.
        code: RefusalCode,
        /// What is wrong, and where.
        detail: String,
    },
    /// Well-formed, but not valid for the model.
    Invalid(Vec<Problem>),
    /// More bytes than allowed, counted after decompression.
    TooLarge {
        /// The limit in bytes.
        limit: u64,
    },
}

/// The ways in which a body can be malformed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RefusalCode {
    /// Not JSON.
    MalformedJson,
    /// JSON, but not a request: no object, a repeated member, or bytes that do not match its description.
    MalformedRequest,
    /// Not an Arrow stream.
    MalformedArrow,
    /// No body, or no table in it.
    EmptyBody,
    /// The body ended early, arrived too slowly or could not be decompressed.
    UnreadableBody,
}

impl Refusal {
    /// One problem at one location.
    pub fn invalid(pointer: impl Into<String>, detail: impl Into<String>) -> Self {
        Self::Invalid(vec![Problem::new(pointer, detail)])
    }

    /// A body that is not in the format it claims to be in.
    pub fn malformed(code: RefusalCode, detail: impl Into<String>) -> Self {
        Self::Malformed { code, detail: detail.into() }
    }

    /// A repeated member. Accepting it would silently ignore one of the values.
    pub fn twice(pointer: &str) -> Self {
        Self::malformed(RefusalCode::MalformedRequest, format!("{pointer} is given twice"))
    }

    /// A body that is JSON of another kind, or not JSON.
    pub fn not_an_object(json: &mut jiter::Jiter) -> Self {
        match json.next_skip() {
            Ok(()) => Self::malformed(RefusalCode::MalformedRequest, "the body must be a JSON object"),
            Err(error) => Self::json(json, &error),
        }
    }

    /// A value of the wrong type, or not JSON.
    pub fn unlike(json: &mut jiter::Jiter, pointer: impl Into<String>, detail: &str) -> Self {
        match json.next_skip() {
            Ok(()) => Self::invalid(pointer, detail),
            Err(error) => Self::json(json, &error),
        }
    }

    /// Text that is not JSON, with the position of the error.
    pub fn json(json: &jiter::Jiter, error: &jiter::JiterError) -> Self {
        let position = json.error_position(error.index);
        let detail = format!("not JSON: {} at line {} column {}", error.error_type, position.line, position.column);
        Self::malformed(RefusalCode::MalformedJson, detail)
    }
}

/// A table that cannot be read; the pointers of its problems name lines.
impl From<DatasetError> for Refusal {
    fn from(error: DatasetError) -> Self {
        match error {
            DatasetError::At { place, detail } => {
                let line = format!("/lines/{}", place.line);
                let pointer = place.column.map_or(line.clone(), |column| pointer(&line, &column));
                Self::invalid(pointer, detail)
            }
            DatasetError::Empty => Self::malformed(RefusalCode::EmptyBody, "the body is empty"),
            DatasetError::TooLarge { limit } => Self::TooLarge { limit },
            // The rows are read from the body, so an I/O error is one of the connection, not of our disk.
            DatasetError::Storage(error) => Self::malformed(RefusalCode::UnreadableBody, error.to_string()),
            other => Self::malformed(RefusalCode::UnreadableBody, other.to_string()),
        }
    }
}

/// The problem of a row whose prediction overflows.
pub const FAR_OUT: &str = "an input is so far from the training data that its prediction is not a finite number";

/// Refuses rows whose predictions overflow. `list` points to the list that holds the rows.
pub fn refuse_not_finite(predictions: &Predictions, locations: &RowLocations, list: &str) -> Result<(), Refusal> {
    let Predictions { values, spreads, error_bars, contributions } = predictions;
    let shares = contributions.as_ref().map(|all| &all.shares);
    let computed = || [Some(values), spreads.as_ref(), error_bars.as_ref(), shares].into_iter().flatten();
    if computed().all(|numbers| numbers.iter().all(|number| number.is_finite())) {
        return Ok(());
    }
    let overflowing = |numbers: &Array2<f64>| {
        let mut rows = numbers.rows().into_iter();
        rows.position(|row| row.iter().any(|number| !number.is_finite()))
    };
    let row = computed().filter_map(overflowing).min().unwrap_or_default();
    Err(Refusal::invalid(locations.pointer(row, list), FAR_OUT))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::array;

    #[test]
    fn the_first_row_that_overflows_is_named_whatever_overflows_in_it() {
        let fine =
            Predictions { values: array![[1.0], [2.0], [3.0]], spreads: None, error_bars: None, contributions: None };
        assert_eq!(refuse_not_finite(&fine, &RowLocations::List, "/rows"), Ok(()));
        let place_in = |predictions: &Predictions, locations: &RowLocations| {
            let Err(Refusal::Invalid(problems)) = refuse_not_finite(predictions, locations, "/rows") else { panic!() };
            problems[0].pointer.clone()
        };
        let place = |predictions: &Predictions| place_in(predictions, &RowLocations::List);
        let values = Predictions { values: array![[1.0], [f64::NAN], [3.0]], ..fine.clone() };
        let spreads = Predictions { spreads: Some(array![[1.0], [1.0], [f64::INFINITY]]), ..fine };
        let bars = Predictions { error_bars: Some(array![[f64::NAN], [1.0], [1.0]]), ..spreads.clone() };
        assert_eq!([&values, &spreads, &bars].map(place), ["/rows/1", "/rows/2", "/rows/0"]);
        assert_eq!(place_in(&values, &RowLocations::Lines(vec![2, 5, 6])), "/lines/5");
        assert_eq!(place_in(&values, &RowLocations::Batch { number: 3, start: 4096 }), "/batches/3/4097");
    }
}
