//! What a table in files cannot have yet, by name.

use super::located_table::SAMPLE_ROWS;
use crate::features::ChosenBy;
use crate::request::problem::Problem;
use crate::training::{Learner, SplitRule, TrainSpec};

impl TrainSpec {
    /// Every reason why this spec, found at `pointer`, cannot train on a table in files that stay where they are.
    pub fn check_for_files(&self, pointer: &str) -> Result<(), Vec<Problem>> {
        let mut problems = Vec::new();
        let mut refuse = |field: &str, detail: String| {
            problems.push(Problem::new(format!("{pointer}/{field}"), format!("{detail} on a table in files yet")));
        };
        match self.learner {
            None | Some(Learner::Ridge) => {}
            Some(learner @ (Learner::Logistic | Learner::Hinge | Learner::SquaredHinge | Learner::ExactKrr)) => {
                refuse("learner", format!("learner {} cannot train", learner.name()));
            }
        }
        if self.open.sampling || self.sampling.chosen_by() != ChosenBy::Nothing {
            refuse("features/sampling", "rows cannot choose features".into());
        }
        if self.map.bound(self.kernel).is_none() {
            let name = self.kernel.name();
            refuse(
                "kernel/name",
                format!("the features of kernel '{name}' have no bound, so that they cannot be summed"),
            );
        }
        if self.sample_weight.is_some() {
            refuse("sample_weight", "sample weights are not possible".into());
        }
        if self.design_fraction > 0.0 {
            refuse("design_fraction", "design rows are not possible".into());
        }
        if self.split != SplitRule::Random {
            refuse("split", "a split by a column is not possible".into());
        }
        if self.cross_validation.is_some() {
            refuse("cross_validation", "cross-validation is not possible".into());
        }
        if self.learning_curve {
            refuse("learning_curve", "a learning curve is not possible".into());
        }
        if self.guarantees.exact_rows > SAMPLE_ROWS {
            refuse("guarantees/exact_rows", format!("an exact solve of more than {SAMPLE_ROWS} rows is not possible"));
        }
        if problems.is_empty() { Ok(()) } else { Err(problems) }
    }
}

#[cfg(test)]
mod tests {
    use crate::training::{SpecLimits, TrainSpec};
    use serde_json::json;

    #[test]
    fn what_is_not_there_yet_is_refused_by_name() {
        let check = |raw: &serde_json::Value| {
            let spec = TrainSpec::check("/spec", Some(raw), SpecLimits { feature_count: 4096 }).unwrap();
            spec.check_for_files("/spec").map_err(|problems| problems[0].pointer.clone())
        };
        assert_eq!(check(&json!({})), Ok(()));
        for (raw, pointer) in [
            (json!({"learner": "logistic"}), "/spec/learner"),
            (json!({"learner": "exact_krr"}), "/spec/learner"),
            (json!({"kernel": {"name": "linear"}, "effort": "fast"}), "/spec/kernel/name"),
            (json!({"features": {"sampling": "leverage"}}), "/spec/features/sampling"),
            (json!({"sample_weight": "w"}), "/spec/sample_weight"),
            (json!({"design_fraction": 0.2, "effort": "fast"}), "/spec/design_fraction"),
            (json!({"split": {"by": "time", "column": "t"}}), "/spec/split"),
            (json!({"cross_validation": 5}), "/spec/cross_validation"),
            (json!({"learning_curve": true}), "/spec/learning_curve"),
            (json!({"guarantees": {"exact_rows": 100_000}}), "/spec/guarantees/exact_rows"),
        ] {
            assert_eq!(check(&raw), Err(pointer.to_owned()), "{raw}");
        }
    }
}
