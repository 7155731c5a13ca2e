//! Whether a spec and a dataset fit together.

use crate::dataset::{ColumnKind, Encoding, Roles, Schema, Task};
use crate::features::{KernelShape, Sampling};
use crate::model::MissingRule;
use crate::request::problem::Problem;
use crate::training::{ClassWeight, LARGEST_EXACT_ROWS, LambdaRule, MetricRule, TrainSpec};

/// The capped density loses a factor with every input; beyond so many it is worse than plain draws. [A, §6]
const MOST_CAPPED_INPUTS: usize = 4;

impl TrainSpec {
    /// Every reason why this spec cannot train on a dataset; `pointer` is where the dataset was named.
    pub fn check_against(&self, schema: &Schema, pointer: &str) -> Result<(), Vec<Problem>> {
        let mut problems = Vec::new();
        let mut problem = |detail: String| problems.push(Problem { pointer: pointer.to_owned(), detail });
        match schema.task {
            Task::Regression => self.check_for_numbers(schema, &mut problem),
            Task::Classification => self.check_for_labels(&mut problem),
        }
        if let Some(name) = &self.sample_weight {
            check_weight(schema, name, &mut problem);
        }
        self.check_split(schema, &mut problem);
        let roles = self.roles(schema);
        let inputs = Encoding::of(schema, &roles).input_dim();
        if matches!(self.kernel, KernelShape::Spline { .. }) && inputs != 1 {
            problem(format!(
                "the spline kernel takes one input; this dataset has {inputs} after encoding. Use another kernel"
            ));
        }
        if matches!(self.metric, MetricRule::Diagonal | MetricRule::Full) && inputs == 1 {
            problem(
                "this dataset has one input, and a metric weighs inputs against each other; remove kernel.metric"
                    .into(),
            );
        }
        if self.sampling == Sampling::Capped && inputs > MOST_CAPPED_INPUTS {
            problem(format!(
                "sampling capped takes at most {MOST_CAPPED_INPUTS} inputs; this dataset has {inputs} after encoding. Use \
                 sampling leverage"
            ));
        }
        if self.missing == MissingRule::Refuse {
            let inputs = roles.inputs.iter().map(|&index| &schema.columns[index]);
            for column in inputs.filter(|column| column.missing > 0) {
                problem(format!(
                    "column '{}' has {} missing cells and missing is 'refuse'; fill them in or use missing 'mean'",
                    column.name, column.missing
                ));
            }
        }
        if problems.is_empty() { Ok(()) } else { Err(problems) }
    }

    fn check_for_numbers(&self, schema: &Schema, problem: &mut impl FnMut(String)) {
        let learner = self.learner_for(Task::Regression);
        if learner.loss().is_some() {
            problem(format!(
                "learner {} predicts labels but the target holds numbers; upload with \
                             task=classification to read them as labels",
                learner.name()
            ));
        }
        if self.class_weight != ClassWeight::None {
            problem("class_weight is for labels but the target holds numbers; remove it".into());
        }
        let rows = self.training_rows(schema);
        if self.is_exact() && rows > LARGEST_EXACT_ROWS {
            problem(format!(
                "learner exact_krr takes at most {LARGEST_EXACT_ROWS} training rows; this dataset has {rows}. Use learner ridge"
            ));
        }
    }

    fn check_for_labels(&self, problem: &mut impl FnMut(String)) {
        let learner = self.learner_for(Task::Classification);
        if self.is_exact() {
            problem("learner exact_krr predicts numbers but the target holds labels; use learner ridge".into());
        }
        if self.spread {
            problem("spread is for numbers but the target holds labels; remove it".into());
        }
        if self.updatable {
            problem("updatable is for numbers but the target holds labels; remove it".into());
        }
        if learner.loss().is_some() && self.lambda == LambdaRule::Certified {
            problem(format!(
                "lambda 'certified' comes from a theorem on ridge regression and does not apply to learner {}; use 'search' or a number",
                learner.name()
            ));
        }
        let unmeasured = self.validation_fraction == 0.0 && self.design_fraction == 0.0;
        if learner.loss().is_some() && self.lambda == LambdaRule::Search && unmeasured {
            problem(format!(
                "learner {} searches lambda by validation loss; set validation_fraction or design_fraction above 0",
                learner.name()
            ));
        }
    }
}

/// Sample weights are numbers of at least 0, and every row has one.
pub(crate) fn check_weight(schema: &Schema, name: &str, problem: &mut impl FnMut(String)) {
    let Some(index) = schema.columns.iter().position(|column| column.name == name) else {
        let nearest = crate::request::suggest::nearest(name, schema.columns.iter().map(|column| column.name.as_str()));
        return problem(format!("sample_weight names column '{name}', which the dataset does not have{nearest}"));
    };
    let column = &schema.columns[index];
    if schema.targets.contains(&index) {
        problem(format!("column '{name}' cannot be both target and sample weight"));
    } else if column.kind != ColumnKind::Numeric {
        problem(format!("column '{name}' holds no numbers; sample_weight needs a numeric column"));
    } else if column.missing > 0 {
        problem(format!("column '{name}' has {} missing cells; every row needs a sample weight", column.missing));
    } else if column.min.is_some_and(|least| least < 0.0) {
        problem(format!("column '{name}' holds negative numbers; sample weights must be 0 or more"));
    } else if column.max == Some(0.0) {
        problem(format!("the sample weights in column '{name}' are all 0; at least one must be above 0"));
    } else if Roles::of(schema, Some(name), None).inputs.is_empty() {
        problem(format!("column '{name}' is the only input; it cannot be the sample weight"));
    }
}
