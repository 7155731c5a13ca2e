//! The other side of a plan: a number of features that is not enough, whatever the upper bounds say.

use super::{PlanProblem, PlannedRidge, Target};
use crate::theory::papers::avron::LARGEST_DELTA;
use crate::theory::papers::avron::lower_bound::{fewest_draws, rows_needed};
use crate::theory::statement::words::{rounded_down, rounded_up};
use serde::Serialize;

/// A number of features that some rows make too small.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LowerBound {
    /// The theorem.
    pub id: &'static str,
    /// So many features or fewer are not enough; none if the theorem says nothing here.
    pub feature_count: Option<u64>,
    /// What is proved, and for which rows.
    pub statement: String,
}

/// What is known about too few features for a goal: only for Δ and the gaussian kernel.
pub fn lower_bounds(problem: &PlanProblem, target: Target) -> Vec<LowerBound> {
    match target {
        Target::SpectralDelta(delta) if problem.gaussian && delta <= LARGEST_DELTA => vec![theorem8(problem)],
        Target::SpectralDelta(_) | Target::Error(_) | Target::Rate(_) => Vec::new(),
    }
}

fn theorem8(problem: &PlanProblem) -> LowerBound {
    let id = "avron.theorem8";
    let ridge = problem.ridge(problem.columns_per_draw);
    let nothing = |statement: String| LowerBound { id, feature_count: None, statement };
    if problem.ridge == PlannedRidge::Certified {
        return nothing("No lower bound: lambda depends on the number of features; give lambda as a number.".into());
    }
    if ridge > 0.5 {
        return nothing("No lower bound: the theorem requires lambda ≤ 1/2.".into());
    }
    let Some(found) = fewest_draws(problem.sample_count, ridge) else {
        return nothing(format!(
            "No lower bound: at this lambda the theorem requires at least {} rows; here {}.",
            rows_needed(ridge),
            problem.sample_count
        ));
    };
    let columns = found.draws.floor() * problem.columns_per_draw as f64;
    LowerBound {
        id,
        feature_count: Some(columns as u64),
        statement: format!(
            "{columns} features or fewer are not enough with plain sampling: there are rows of one input, within {} to {} times \
             2 pi bandwidths of their middle, for which Delta exceeds 1/2 with probability at least 50%. Rows that are less \
             spread out, or sampling leverage, may need fewer.",
            rounded_up(found.radii.0),
            rounded_down(found.radii.1)
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::theory::plan::plan;

    fn problem(sample_count: usize, ridge: f64) -> PlanProblem {
        PlanProblem {
            sample_count,
            input_dim: 1,
            feature_bound: 1.0,
            kernel_diagonal: 1.0,
            columns_per_draw: 2,
            ridge: PlannedRidge::Fixed(ridge),
            failure_probability: 0.05,
            target_mean_square: 1.0,
            effective_dimension: None,
            gaussian: true,
        }
    }

    /// n_λ = 102,400: 256 draws, 512 columns, less than what Theorem 7 requires.
    #[test]
    fn it_is_below_what_is_enough() {
        let problem = problem(1_000_000_000, 1.0 / 102_400.0);
        let found = &lower_bounds(&problem, Target::SpectralDelta(0.5))[0];
        assert_eq!(found.feature_count, Some(512));
        assert!(plan(&problem, Target::SpectralDelta(0.5))[0].feature_count.unwrap() > 512);
        assert!(lower_bounds(&problem, Target::Error(0.1)).is_empty());
        assert!(lower_bounds(&PlanProblem { gaussian: false, ..problem }, Target::SpectralDelta(0.5)).is_empty());
    }

    #[test]
    fn it_says_why_there_is_none() {
        let few = lower_bounds(&problem(10_000, 1e-3), Target::SpectralDelta(0.25));
        assert_eq!(few[0].feature_count, None);
        assert!(few[0].statement.contains("requires at least 71575625 rows; here 10000"), "{}", few[0].statement);
        let large = &lower_bounds(&problem(1 << 30, 0.6), Target::SpectralDelta(0.25))[0];
        assert!(large.statement.contains("lambda ≤ 1/2"), "{}", large.statement);
    }
}
