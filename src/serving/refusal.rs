//! Why a prediction request cannot be answered.

use super::RowLocations;
use crate::dataset::DatasetError;
use crate::model::Predictions;
use crate::request::problem::Problem;
use ndarray::Array2;

/// Why a prediction request was refused; the sender's fault.
#[derive(Debug, Clone, PartialEq)]
pub enum Refusal {
    /// Not in the format it claims to be in.
    Malformed {
        /// A stable word.
        code: &'static str,
        /// What and where.
        detail: String,
    },
    /// Well-formed, but not what the model takes.
    Invalid(Vec<Problem>),
    /// More bytes than allowed, counted after decompression.
    TooLarge {
        /// Bytes.
        limit: u64,
    },
}

impl Refusal {
    /// One problem at one place.
    pub fn invalid(pointer: impl Into<String>, detail: impl Into<String>) -> Self {
        Self::Invalid(vec![Problem::new(pointer, detail)])
    }

    /// Not in the format it claims to be in.
    pub fn malformed(code: &'static str, detail: impl Into<String>) -> Self {
        Self::Malformed { code, detail: detail.into() }
    }

    /// A member that is given twice: of two, one would be passed over.
    pub fn twice(pointer: &str) -> Self {
        Self::malformed("malformed_request", format!("{pointer} is given twice"))
    }

    /// A body that is another JSON value, or no JSON at all.
    pub fn not_an_object(json: &mut jiter::Jiter) -> Self {
        match json.next_skip() {
            Ok(()) => Self::malformed("malformed_request", "the body must be a JSON object"),
            Err(error) => Self::json(json, &error),
        }
    }

    /// A value of another kind than the place takes, or no JSON at all.
    pub fn unlike(json: &mut jiter::Jiter, pointer: impl Into<String>, detail: &str) -> Self {
        match json.next_skip() {
            Ok(()) => Self::invalid(pointer, detail),
            Err(error) => Self::json(json, &error),
        }
    }

    /// JSON that is none.
    pub fn json(json: &jiter::Jiter, error: &jiter::JiterError) -> Self {
        let position = json.error_position(error.index);
        let detail = format!("not JSON: {} at line {} column {}", error.error_type, position.line, position.column);
        Self::malformed("malformed_json", detail)
    }
}

/// A table that cannot be read, as a refusal; its lines are the locations.
impl From<DatasetError> for Refusal {
    fn from(error: DatasetError) -> Self {
        match error {
            DatasetError::At { place, detail } => {
                let line = format!("/lines/{}", place.line);
                let pointer =
                    place.column.map_or(line.clone(), |column| crate::request::problem::pointer(&line, &column));
                Self::invalid(pointer, detail)
            }
            DatasetError::Empty => Self::malformed("empty_body", "the body is empty"),
            DatasetError::TooLarge { limit } => Self::TooLarge { limit },
            // The rows come from the body, not from a disk of ours.
            DatasetError::Storage(error) => Self::malformed("unreadable_body", error.to_string()),
            other => Self::malformed("unreadable_body", other.to_string()),
        }
    }
}

/// What is wrong with a row whose prediction overflows.
pub const FAR_OUT: &str = "an input is so far from the training data that its prediction is not a finite number";

/// Refuses rows so far out that what is computed for them overflows; `list` leads to the list that they stood in.
pub fn refuse_not_finite(predictions: &Predictions, locations: &RowLocations, list: &str) -> Result<(), Refusal> {
    let Predictions { values, spreads, error_bars } = predictions;
    let computed = || [Some(values), spreads.as_ref(), error_bars.as_ref()].into_iter().flatten();
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
        let fine = Predictions { values: array![[1.0], [2.0], [3.0]], spreads: None, error_bars: None };
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
