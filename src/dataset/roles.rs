//! Which column of a table serves as what in a training run.

use super::Schema;

/// Every column is an input, a target, or the weight of its row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Roles {
    /// Columns that predictions are made from.
    pub inputs: Vec<usize>,
    /// Columns that are predicted.
    pub targets: Vec<usize>,
    /// The column that says how much a row counts.
    pub weight: Option<usize>,
}

impl Roles {
    /// The roles of a table's columns, with the column of that name, if there is one, as the weight.
    pub fn of(schema: &Schema, weight: Option<&str>) -> Self {
        let weight = weight.and_then(|name| schema.columns.iter().position(|column| column.name == name));
        let is_input = |index: &usize| !schema.targets.contains(index) && weight != Some(*index);
        Self { inputs: (0..schema.columns.len()).filter(is_input).collect(), targets: schema.targets.clone(), weight }
    }
}
