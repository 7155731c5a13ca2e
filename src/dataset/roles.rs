//! What each column of a table is in a training run.

use super::Schema;

/// Every column is an input, a target, the weight of its row, or left out, unless it only says how rows are split.
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
    /// The roles of a table's columns. `weight` names the column of sample weights, `splitter` that which rows are split
    /// by.
    pub fn of(schema: &Schema, weight: Option<&str>, splitter: Option<&str>) -> Self {
        let find = |name: &str| schema.columns.iter().position(|column| column.name == name);
        let (weight, splitter) = (weight.and_then(find), splitter.and_then(find));
        let has_role =
            |index: usize| schema.targets.contains(&index) || weight == Some(index) || splitter == Some(index);
        let is_input = |index: &usize| !has_role(*index) && schema.columns[*index].reading.left_out.is_none();
        Self { inputs: (0..schema.columns.len()).filter(is_input).collect(), targets: schema.targets.clone(), weight }
    }
}
