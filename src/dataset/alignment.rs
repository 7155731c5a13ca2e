//! Reads a table as the rows that a model was trained on: columns are found by name, levels by text.

use super::{Column, ColumnKind, InputColumn, Roles, Rows, Schema};
use std::io;

/// How the columns of a table become those of a model: inputs in the model's order, then targets, then the weight.
pub struct Alignment {
    columns: Vec<Recoded>,
    roles: Roles,
}

/// The position of a column in the table, and the model's code for each of the table's levels.
struct Recoded {
    position: usize,
    levels: Option<Vec<f64>>,
}

impl Alignment {
    /// Finds the columns of a model in a table. The error lists every problem.
    pub fn new(
        schema: &Schema,
        inputs: &[InputColumn],
        targets: &[String],
        weight: Option<&str>,
    ) -> Result<Self, Vec<String>> {
        let mut problems = Vec::new();
        let mut columns = Vec::new();
        for wanted in inputs {
            match find(schema, &wanted.name).and_then(|(position, column)| recode(position, column, wanted)) {
                Ok(column) => columns.push(column),
                Err(problem) => problems.push(problem),
            }
        }
        for name in targets.iter().map(String::as_str).chain(weight) {
            match find(schema, name) {
                Ok((position, column)) if column.kind == ColumnKind::Numeric => {
                    columns.push(Recoded { position, levels: None });
                }
                Ok(_) => problems.push(format!("column '{name}' must be numeric")),
                Err(problem) => problems.push(problem),
            }
        }
        if !problems.is_empty() {
            return Err(problems);
        }
        let (inputs, targets) = (inputs.len(), targets.len());
        let roles = Roles {
            inputs: (0..inputs).collect(),
            targets: (inputs..inputs + targets).collect(),
            weight: weight.map(|_| inputs + targets),
        };
        Ok(Self { columns, roles })
    }

    /// Positions of inputs, targets and weight among the aligned columns.
    pub fn roles(&self) -> &Roles {
        &self.roles
    }

    /// The rows of the table, aligned.
    pub fn read_as<'a>(&'a self, rows: &'a dyn Rows) -> impl Rows + 'a {
        AlignedRows { alignment: self, rows }
    }
}

fn find<'a>(schema: &'a Schema, name: &str) -> Result<(usize, &'a Column), String> {
    let found = schema.columns.iter().enumerate().find(|(_, column)| column.name == name);
    found.ok_or_else(|| {
        let nearest = crate::request::suggest::nearest(name, schema.columns.iter().map(|column| column.name.as_str()));
        format!("the model needs column '{name}'{nearest}")
    })
}

fn recode(position: usize, column: &Column, wanted: &InputColumn) -> Result<Recoded, String> {
    // Days are instants at midnight.
    let days_as_instants = (column.kind, wanted.kind) == (ColumnKind::Date, ColumnKind::Datetime);
    if column.kind != wanted.kind && !days_as_instants {
        let kind = |kind| match kind {
            ColumnKind::Numeric => "numbers",
            ColumnKind::Boolean => "true and false",
            ColumnKind::Categorical => "texts",
            ColumnKind::Date => "dates",
            ColumnKind::Datetime => "dates with times",
            ColumnKind::Text => "texts that are not kept",
        };
        let (name, have, need) = (&column.name, kind(column.kind), kind(wanted.kind));
        return Err(format!("column '{name}' holds {have}; the model was trained on {need}"));
    }
    let known = |level: &String| wanted.levels.binary_search(level).ok();
    if let Some(level) = column.levels.iter().find(|level| known(level).is_none()) {
        let name = &column.name;
        return Err(format!("column '{name}' has the level '{level}', which the training data did not have"));
    }
    let codes = column.levels.iter().filter_map(known).map(|code| code as f64).collect();
    Ok(Recoded { position, levels: (column.kind == ColumnKind::Categorical).then_some(codes) })
}

struct AlignedRows<'a> {
    alignment: &'a Alignment,
    rows: &'a dyn Rows,
}

impl Rows for AlignedRows<'_> {
    fn row_count(&self) -> usize {
        self.rows.row_count()
    }

    fn column_count(&self) -> usize {
        self.alignment.columns.len()
    }

    fn read(&self, first: usize, cells: &mut [f64]) -> io::Result<()> {
        let columns = &self.alignment.columns;
        let width = self.rows.column_count();
        let mut source = vec![0.0; cells.len() / columns.len() * width];
        self.rows.read(first, &mut source)?;
        for (cells, source) in cells.chunks_exact_mut(columns.len()).zip(source.chunks_exact(width)) {
            for (cell, column) in cells.iter_mut().zip(columns) {
                *cell = match (source[column.position], &column.levels) {
                    (code, Some(levels)) if !code.is_nan() => levels[code as usize],
                    (value, _) => value,
                };
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataset::{RowsInMemory, Task};

    fn column(name: &str, levels: &[&str]) -> Column {
        let kind = if levels.is_empty() { ColumnKind::Numeric } else { ColumnKind::Categorical };
        Column::unprofiled(name, kind, levels.iter().map(|&level| level.into()).collect())
    }

    fn schema() -> Schema {
        let columns = vec![column("y", &[]), column("colour", &["green", "red"]), column("size", &[])];
        Schema { columns, targets: vec![0], task: Task::Regression, row_count: 2, findings: vec![] }
    }

    fn input(name: &str, levels: &[&str]) -> InputColumn {
        InputColumn::plain(name, column(name, levels).kind, levels)
    }

    #[test]
    fn columns_are_found_by_name_and_levels_by_text() {
        let wanted = [input("size", &[]), input("colour", &["blue", "green", "red"])];
        let alignment = Alignment::new(&schema(), &wanted, &["y".to_owned()], None).unwrap();
        assert_eq!(alignment.roles(), &Roles { inputs: vec![0, 1], targets: vec![2], weight: None });
        let cells = vec![7.0, 1.0, 0.5, 8.0, 0.0, 0.25, 9.0, f64::NAN, 0.0];
        let table = RowsInMemory { cells, columns: 3 };
        let mut cells = [0.0; 9];
        alignment.read_as(&table).read(0, &mut cells).unwrap();
        assert_eq!(cells[..6], [0.5, 2.0, 7.0, 0.25, 1.0, 8.0]);
        assert!(cells[7].is_nan());
    }

    #[test]
    fn what_does_not_fit_is_named() {
        let refusal = |wanted: &[InputColumn]| {
            Alignment::new(&schema(), wanted, &["y".to_owned()], Some("colour")).err().unwrap().join("; ")
        };
        let text = refusal(&[input("sizes", &[]), input("size", &["a"]), input("colour", &["green"])]);
        for part in
            ["'sizes'", "did you mean 'size'", "holds numbers; the model was trained on texts", "has the level 'red'"]
        {
            assert!(text.contains(part), "{text}");
        }
        assert!(text.contains("column 'colour' must be numeric"), "{text}");
    }
}
