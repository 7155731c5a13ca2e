//! What the columns of a model do to its outputs.

use super::{Numbers, converted};
use crate::model::{ColumnExplanation, Explanations, Permutation};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
pub(in crate::model::artifact) struct StoredExplanations<'a> {
    rows: usize,
    permuted_rows: usize,
    columns: Vec<StoredColumnExplanation<'a>>,
}

#[derive(Serialize, Deserialize)]
struct StoredColumnExplanation<'a> {
    sensitivities: Numbers<'a>,
    /// The increase of the loss and its standard error.
    permutation: Option<(f64, f64)>,
    points: Numbers<'a>,
    dependence: Numbers<'a>,
}

impl<'a> From<&'a Explanations> for StoredExplanations<'a> {
    fn from(explanations: &'a Explanations) -> Self {
        Self {
            rows: explanations.rows,
            permuted_rows: explanations.permuted_rows,
            columns: converted(&explanations.columns),
        }
    }
}

impl From<StoredExplanations<'_>> for Explanations {
    fn from(stored: StoredExplanations) -> Self {
        Self {
            rows: stored.rows,
            permuted_rows: stored.permuted_rows,
            columns: converted(stored.columns),
            individual_rows: Vec::new(), // in a section of their own
        }
    }
}

impl<'a> From<&'a ColumnExplanation> for StoredColumnExplanation<'a> {
    fn from(column: &'a ColumnExplanation) -> Self {
        Self {
            sensitivities: (&column.sensitivities).into(),
            permutation: column.permutation.map(|found| (found.increase, found.standard_error)),
            points: (&column.points).into(),
            dependence: (&column.dependence).into(),
        }
    }
}

impl From<StoredColumnExplanation<'_>> for ColumnExplanation {
    fn from(stored: StoredColumnExplanation) -> Self {
        let permutation = stored.permutation.map(|(increase, standard_error)| Permutation { increase, standard_error });
        Self {
            sensitivities: stored.sensitivities.into_owned(),
            permutation,
            points: stored.points.into_owned(),
            dependence: stored.dependence.into_owned(),
            individual: Vec::new(),
        }
    }
}
