//! What a spec demands of a data set.

use super::TrainSpec;
use super::fields::Problem;
use crate::dataset::{ColumnKind, Encoding, Schema, Task};
use crate::features::KernelShape;
use crate::model::MissingRule;

impl TrainSpec {
    /// What stands between this spec and a data set; `pointer` is where the data set was named.
    pub fn check_against(&self, schema: &Schema, pointer: &str) -> Result<(), Vec<Problem>> {
        let mut problems = Vec::new();
        let mut problem = |detail: String| problems.push(Problem { pointer: pointer.to_owned(), detail });
        if schema.task != Task::Regression {
            problem(format!(
                "learner ridge predicts numbers, and the target '{}' holds labels",
                schema.target_columns().map(|column| column.name.as_str()).collect::<Vec<_>>().join("', '")
            ));
        }
        if let Some(name) = &self.sample_weight {
            check_weight(schema, name, &mut problem);
        }
        let roles = self.roles(schema);
        let inputs = Encoding::of(schema, &roles).input_dim();
        if matches!(self.kernel, KernelShape::Spline { .. }) && inputs != 1 {
            problem(format!("the spline kernel takes one input, and this data set has {inputs} after encoding"));
        }
        if self.missing == MissingRule::Refuse {
            let inputs = roles.inputs.iter().map(|&index| &schema.columns[index]);
            for column in inputs.filter(|column| column.missing > 0) {
                problem(format!(
                    "column '{}' has {} missing cells and missing is 'refuse'",
                    column.name, column.missing
                ));
            }
        }
        if problems.is_empty() { Ok(()) } else { Err(problems) }
    }
}

/// Sample weights are numbers from 0 on, and every row has one.
fn check_weight(schema: &Schema, name: &str, problem: &mut impl FnMut(String)) {
    let Some(index) = schema.columns.iter().position(|column| column.name == name) else {
        let nearest = crate::suggest::nearest(name, schema.columns.iter().map(|column| column.name.as_str()));
        return problem(format!("sample_weight names column '{name}', which is not there{nearest}"));
    };
    let column = &schema.columns[index];
    if schema.targets.contains(&index) {
        problem(format!("column '{name}' cannot be both target and sample weight"));
    } else if column.kind != ColumnKind::Numeric {
        problem(format!("the sample weights in column '{name}' must be numbers"));
    } else if column.missing > 0 {
        problem(format!("the sample weights in column '{name}' have {} missing cells", column.missing));
    } else if column.min.is_some_and(|least| least < 0.0) {
        problem(format!("the sample weights in column '{name}' must not be negative"));
    } else if schema.columns.len() <= schema.targets.len() + 1 {
        problem(format!("without the sample weights in column '{name}' there is no input left"));
    }
}
