//! What single rows would have with one column at each of its points.

use crate::model::Explanations;
use crate::model::artifact::stored::Numbers;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
pub(in crate::model::artifact) struct StoredIndividualCurves<'a> {
    rows: Vec<usize>,
    /// For each column, rows×points×k.
    curves: Vec<Numbers<'a>>,
}

impl<'a> StoredIndividualCurves<'a> {
    /// None without such rows.
    pub(in crate::model::artifact) fn of(found: &'a Explanations) -> Option<Self> {
        let curves = || found.columns.iter().map(|column| (&column.individual).into()).collect();
        (!found.individual_rows.is_empty()).then(|| Self { rows: found.individual_rows.clone(), curves: curves() })
    }

    /// The explanations with these curves.
    pub(in crate::model::artifact) fn add_to(self, mut found: Explanations) -> Explanations {
        found.individual_rows = self.rows;
        for (column, curves) in found.columns.iter_mut().zip(self.curves) {
            column.individual = curves.into_owned();
        }
        found
    }
}
