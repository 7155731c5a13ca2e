//! A request for a plan: raw JSON to the numbers the theorems need.

use super::spec::check_kernel::{check_kernel, check_map};
use super::spec::effort::Effort;
use super::spec::fields::Fields;
use super::spec::rules::check_delta;
use super::spec::shares::default_training_rows;
use crate::dataset::{Encoding, Roles, Schema, Task};
use crate::features::KernelShape;
use crate::request::problem::Problem;
use crate::theory::papers::avron::SMALLEST_DIMENSION;
use crate::theory::papers::rudi_rosasco::Regularity;
use crate::theory::plan::{PlanProblem, PlannedRidge, Target};
use serde_json::Value;
use std::cell::RefCell;

/// A question in the terms of the theorems.
pub struct PlanRequest {
    /// The problem.
    pub problem: PlanProblem,
    /// What is wanted of it.
    pub target: Target,
}

impl PlanRequest {
    /// Checks a request; with a dataset, n, d and the mean square of the targets come from it.
    pub fn check(raw: &Value, schema: Option<&Schema>) -> Result<Self, Vec<Problem>> {
        let problems = RefCell::new(Vec::new());
        let known =
            ["dataset", "n", "d", "y_mean_square", "kernel", "map", "lambda", "delta", "effective_dimension", "target"];
        let plan = Fields::new("", Some(raw), &known, &problems);
        let kernel = check_kernel(&plan.object("kernel", &["name", "nu", "order"]), Effort::Fast);
        let map = check_map(&plan, kernel);
        if map.bound(kernel).is_none() {
            plan.problem(
                "kernel",
                "no theorem covers the unbounded features of this kernel; choose a different kernel".into(),
            );
        }
        let sizes = schema.map(sizes);
        for name in ["n", "d", "y_mean_square"] {
            match (sizes.is_some(), plan.has(name)) {
                (true, true) => plan.problem(name, "is taken from the dataset; remove it".into()),
                (false, false) => plan.problem(name, "is required unless dataset is given".into()),
                _ => {}
            }
        }
        let count = |name, least| {
            plan.integer(
                name,
                least,
                |count| count >= least && count <= 1 << 40,
                &format!("a whole number from {least}"),
            )
        };
        let above_zero = |number: f64| number > 0.0 && number.is_finite();
        let given = (count("n", 2), count("d", 1), plan.number("y_mean_square", 1.0, above_zero, "a number above 0"));
        let (n, d, y_mean_square) = sizes.unwrap_or(given);
        let dimension = plan
            .has("effective_dimension")
            .then(|| plan.number("effective_dimension", 1.0, above_zero, "a number above 0"));
        let request = Self {
            problem: PlanProblem {
                sample_count: n as usize,
                input_dim: d as usize,
                feature_bound: map.bound(kernel).unwrap_or(1.0),
                kernel_diagonal: kernel.diagonal().unwrap_or(1.0),
                columns_per_draw: map.columns_per_draw(),
                ridge: plan.choice_or_number(
                    "lambda",
                    PlannedRidge::InverseSqrtN,
                    &[("inverse_sqrt_n", PlannedRidge::InverseSqrtN), ("certified", PlannedRidge::Certified)],
                    |value| above_zero(value).then_some(PlannedRidge::Fixed(value)),
                    "a number above 0",
                ),
                failure_probability: check_delta(&plan),
                target_mean_square: y_mean_square,
                effective_dimension: dimension,
                gaussian: kernel == KernelShape::Gaussian,
            },
            target: check_target(&plan),
        };
        request.check_dimension(&plan);
        let problems = problems.into_inner();
        if problems.is_empty() { Ok(request) } else { Err(problems) }
    }

    /// d(λ) = Σ μ/(μ+λ) is at most n, and at most Σμ/λ = k(x, x)/λ; where λ is at most the largest eigenvalue, without
    /// which no theorem speaks, it is at least ½.
    fn check_dimension(&self, plan: &Fields) {
        let (PlanProblem { sample_count, kernel_diagonal, .. }, ridge) = (self.problem, self.problem.ridge(1));
        let largest = (sample_count as f64).min(kernel_diagonal / ridge);
        let Some(dimension) = self.problem.effective_dimension.filter(|_| ridge <= kernel_diagonal) else { return };
        if !(SMALLEST_DIMENSION..=largest).contains(&dimension) {
            let range = format!("must be a number from {SMALLEST_DIMENSION} to {largest}, the most it can be here");
            plan.problem("effective_dimension", format!("{range}: n, or k(x,x)/lambda"));
        }
    }
}

/// One of an error, a spectral distance, or a learning rate.
fn check_target(plan: &Fields) -> Target {
    let target = plan.object("target", &["error", "delta_spectral", "rate"]);
    let named = ["error", "delta_spectral", "rate"].into_iter().filter(|name| target.has(name)).count();
    if named != 1 {
        plan.problem("target", "must have exactly one of error, delta_spectral, rate".into());
    }
    if target.has("error") {
        return Target::Error(target.number("error", 1.0, |error| error > 0.0, "a number above 0"));
    }
    if target.has("delta_spectral") {
        let fits = |delta: f64| delta > 0.0 && delta <= 0.5;
        return Target::SpectralDelta(target.number("delta_spectral", 0.5, fits, "above 0 and at most 0.5"));
    }
    let rate = target.object("rate", &["r", "gamma", "alpha"]);
    let share = |name, default, least: f64| {
        rate.number(name, default, |value| (least..=1.0).contains(&value), &format!("a number from {least} to 1"))
    };
    let capacity = share("gamma", 1.0, 0.0);
    Target::Rate(Regularity { source: share("r", 0.5, 0.5), capacity, leverage: share("alpha", 1.0, capacity) })
}

/// n, d and the most that the mean square of the centred targets can be, summed. Which rows a training will hold out is
/// not known, but the squares of those it keeps, around their own mean, sum up to no more than those of all rows around
/// theirs. Labels are coded as ±1: one number for two, of variance 4p(1−p) ≤ 1, and one a label for k more, whose
/// variances sum up to 4(1 − Σp²) ≤ 4(1 − 1/k).
fn sizes(schema: &Schema) -> (u64, u64, f64) {
    let rows = default_training_rows(schema).max(2);
    let kept = rows as f64 / schema.labelled_rows().max(1) as f64;
    let variance = match schema.task {
        Task::Regression => {
            let all: f64 = schema.target_columns().filter_map(|column| column.std).map(|std| std * std).sum();
            all / kept.min(1.0)
        }
        Task::Classification => match schema.labels().len() {
            0..=2 => 1.0,
            more => 4.0 * (1.0 - 1.0 / more as f64),
        },
    };
    (rows, Encoding::of(schema, &Roles::of(schema, None, None)).input_dim() as u64, variance)
}
