//! Finds the columns of a model by name, for records.

use crate::dataset::InputColumn;
use crate::model::FittedModel;
use std::cell::OnceCell;
use std::collections::HashMap;

/// Up to this many columns a linear search is faster than a hash map.
const FEW: usize = 16;

/// The column names of a model. The hash map is built when first needed and serves all records of a request.
pub(super) struct Names<'m> {
    columns: &'m [InputColumn],
    positions: OnceCell<HashMap<&'m str, usize>>,
}

impl<'m> Names<'m> {
    pub(super) fn of(model: &'m FittedModel) -> Self {
        Self::new(&model.inputs.encoding.columns)
    }

    fn new(columns: &'m [InputColumn]) -> Self {
        Self { columns, positions: OnceCell::new() }
    }

    /// The column of a name. Tries `expected` first: most records have the model's order.
    pub(super) fn find(&self, name: &str, expected: usize) -> Option<usize> {
        if self.columns.get(expected).is_some_and(|column| column.name == name) {
            return Some(expected);
        }
        if self.columns.len() <= FEW {
            return self.columns.iter().position(|column| column.name == name);
        }
        let numbered = || self.columns.iter().enumerate().map(|(at, column)| (column.name.as_str(), at)).collect();
        self.positions.get_or_init(numbered).get(name).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataset::ColumnKind;

    #[test]
    fn few_and_many_columns_are_found_in_any_order() {
        for count in [1, FEW, FEW + 1, 500] {
            let column = |at: usize| InputColumn::plain(&format!("column {at}"), ColumnKind::Numeric, &[]);
            let columns: Vec<InputColumn> = (0..count).map(column).collect();
            let names = Names::new(&columns);
            for at in (0..count).rev() {
                for expected in [0, at, at + 1, count] {
                    assert_eq!(names.find(&format!("column {at}"), expected), Some(at));
                }
            }
            assert_eq!(names.find("column", 0), None);
            assert!(names.positions.get().is_none_or(|_| count > FEW));
        }
    }
}
