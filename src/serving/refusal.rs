//! Why a prediction request cannot be answered.

use crate::dataset::DatasetError;
use crate::problem::Problem;

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

    /// A body that is not the JSON object it should be, or no JSON at all.
    pub fn no_object(json: &mut jiter::Jiter) -> Self {
        match json.next_skip() {
            Ok(()) => Self::malformed("malformed_request", "the body must be a JSON object"),
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

/// A table that cannot be read, as a refusal; its lines are the places.
impl From<DatasetError> for Refusal {
    fn from(error: DatasetError) -> Self {
        match error {
            DatasetError::At { place, detail } => {
                let line = format!("/lines/{}", place.line);
                let pointer = place.column.map_or(line.clone(), |column| crate::problem::pointer(&line, &column));
                Self::invalid(pointer, detail)
            }
            DatasetError::Empty => Self::malformed("empty_body", "the body is empty"),
            DatasetError::TooLarge { limit } => Self::TooLarge { limit },
            other => Self::malformed("unreadable_body", other.to_string()),
        }
    }
}
