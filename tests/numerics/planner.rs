//! The feature-count planner against the golden rates.

use crate::golden::{assert_close, load, number};
use bochner::theory::Form;
use bochner::theory::papers::rudi_rosasco::{Regularity, rate, worst_case_rate};
use bochner::theory::plan::{PlanProblem, PlannedRidge, Target, plan};

#[test]
fn rates_are_the_golden_ones() {
    let file = load("planner.json");
    let rows = file["rows"].as_array().unwrap();
    for row in rows {
        let (n, b, delta) = (row["n"].as_u64().unwrap() as usize, number(&row["kappa2"]), number(&row["delta"]));
        let regularity =
            Regularity { source: number(&row["r"]), capacity: number(&row["gamma"]), leverage: number(&row["alpha"]) };
        let found = if row["theorem"] == 1 { worst_case_rate(b, n, delta) } else { rate(regularity, b, n, delta) };
        let relative = |found: f64, key: &str| assert_close(found / number(&row[key]), 1.0, 1e-11, key);
        relative(found.draws, "count_real");
        relative(found.ridge, "lam");
        relative(found.risk, "risk_rate");
        relative(found.risk_log_factor, "risk_log_factor");
        assert_close(found.feature_exponent, number(&row["feature_exponent"]), 1e-12, "feature_exponent");

        // The plan of that theorem is the same count, as columns, and says that it is a rate.
        let problem = PlanProblem {
            sample_count: n,
            input_dim: 5,
            feature_bound: b,
            kernel_diagonal: 1.0,
            columns_per_draw: 1,
            ridge: PlannedRidge::InverseSqrtN,
            failure_probability: delta,
            target_mean_square: 1.0,
            effective_dimension: None,
            gaussian: true,
        };
        let id = format!("rudi_rosasco.theorem{}", row["theorem"]);
        let choices = plan(&problem, Target::Rate(regularity));
        let choice = choices.iter().find(|choice| choice.id == id).unwrap();
        assert_eq!((choice.feature_count, choice.form), (row["count"].as_u64(), Form::Rate), "{id}");
    }
    assert!(rows.len() > 100);
}
