//! What each column of a table is in a training run.

use super::Schema;

/// Every column is an input, a target, or the weight of its row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Roles {
    /// Columns that predictions are made from.
    pub inputs: Vec<usize>,
    /// Columns that are predicted.
    pub targets: Vec<usize>,
    /// The column of sample weights.
    pub weight: Option<usize>,
}

impl Roles {
    /// The roles of a table's columns. `weight` names the column of sample weights.
    pub fn of(schema: &Schema, weight: Option<&str>) -> Self {
        let weight = weight.and_then(|name| schema.columns.iter().position(|column| column.name == name));
        let is_input = |index: &usize| !schema.targets.contains(index) && weight != Some(*index);
        Self { inputs: (0..schema.columns.len()).filter(is_input).collect(), targets: schema.targets.clone(), weight }
    }
}
