//! What to train: raw JSON to a checked spec. Only a checked spec can be trained on.

use super::fields::{Fields, Problem};
use crate::dataset::{ScalingRule, Schema, Task};
use crate::features::{Bandwidth, KernelName, MapKind, Sampling};
use crate::model::MissingRule;
use crate::theory::wang;
use serde_json::{Value, json};
use std::cell::RefCell;

/// How λ is chosen. λ is per sample everywhere: (1/n)Σ(yᵢ−f(xᵢ))² + λ‖w‖².
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum LambdaRule {
    /// 1/√n, n the training rows.
    InverseSqrtN,
    /// The smallest λ that meets the condition of W's Theorem 1.
    Certified,
    /// Given.
    Fixed(f64),
}

/// What the guarantees are computed for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GuaranteeSpec {
    /// δ.
    pub delta: f64,
    /// Up to this many training rows the exact kernel system is solved.
    pub exact_rows: usize,
}

/// A checked training spec.
#[derive(Debug, Clone, PartialEq)]
pub struct TrainSpec {
    /// Which kernel.
    pub kernel: KernelName,
    /// Its bandwidth.
    pub bandwidth: Bandwidth,
    /// s.
    pub feature_count: usize,
    /// Frequencies to columns.
    pub map: MapKind,
    /// How frequencies are drawn.
    pub sampling: Sampling,
    /// Decides everything random.
    pub seed: u64,
    /// λ.
    pub lambda: LambdaRule,
    /// Of the inputs.
    pub scaling: ScalingRule,
    /// About missing input cells.
    pub missing: MissingRule,
    /// Share of the labelled rows held out.
    pub validation_fraction: f64,
    /// For the guarantees.
    pub guarantees: GuaranteeSpec,
}

/// What a spec may ask for.
#[derive(Debug, Clone, Copy)]
pub struct SpecLimits {
    /// Largest s.
    pub feature_count: usize,
}

/// The dense exact solve costs 8n² bytes and n³/3 operations: 200 MB and a second or two here.
const LARGEST_EXACT_ROWS: u64 = 5_000;
const DEFAULT_FEATURE_COUNT: u64 = 1_024;
const DEFAULT_VALIDATION_FRACTION: f64 = 0.2;
const DEFAULT_DELTA: f64 = 0.05;

/// The one learner there is so far.
#[derive(Debug, Clone, Copy)]
enum Learner {
    Ridge,
}

impl TrainSpec {
    /// Checks a raw spec found at `pointer`, collecting every problem.
    pub fn check(pointer: &str, raw: Option<&Value>, limits: SpecLimits) -> Result<Self, Vec<Problem>> {
        let problems = RefCell::new(Vec::new());
        let known =
            ["learner", "kernel", "features", "lambda", "scaling", "missing", "validation_fraction", "guarantees"];
        let spec = Fields::new(pointer, raw, &known, &problems);
        let kernel = spec.object("kernel", &["name", "bandwidth"]);
        let features = spec.object("features", &["count", "map", "sampling", "seed"]);
        let guarantees = spec.object("guarantees", &["delta", "exact_rows"]);

        let Learner::Ridge = spec.choice("learner", Learner::Ridge, &[("ridge", Learner::Ridge)]);
        let most = limits.feature_count as u64;
        let checked = Self {
            kernel: kernel.choice("name", KernelName::Gaussian, &[("gaussian", KernelName::Gaussian)]),
            bandwidth: kernel.choice_or_number(
                "bandwidth",
                Bandwidth::MeanDistance,
                &[("mean_distance", Bandwidth::MeanDistance)],
                |value| (value > 0.0 && value.is_finite()).then_some(Bandwidth::Fixed(value)),
                "a number above 0",
            ),
            feature_count: features.integer(
                "count",
                DEFAULT_FEATURE_COUNT.min(most) & !1,
                |count| count >= 2 && count.is_multiple_of(2) && count <= most,
                &format!("an even number from 2 to {most}: the pair map makes two columns of each draw"),
            ) as usize,
            map: features.choice("map", MapKind::Pair, &[("pair", MapKind::Pair)]),
            sampling: features.choice("sampling", Sampling::Plain, &[("plain", Sampling::Plain)]),
            seed: features.integer("seed", 0, |_| true, "a whole number from 0 to 2^64 - 1"),
            lambda: spec.choice_or_number(
                "lambda",
                LambdaRule::InverseSqrtN,
                &[("inverse_sqrt_n", LambdaRule::InverseSqrtN), ("certified", LambdaRule::Certified)],
                |value| (value > 0.0 && value.is_finite()).then_some(LambdaRule::Fixed(value)),
                "a number above 0",
            ),
            scaling: spec.choice(
                "scaling",
                ScalingRule::Standard,
                &[("standard", ScalingRule::Standard), ("minmax", ScalingRule::Minmax), ("none", ScalingRule::None)],
            ),
            missing: spec.choice(
                "missing",
                MissingRule::Mean,
                &[("mean", MissingRule::Mean), ("refuse", MissingRule::Refuse)],
            ),
            validation_fraction: spec.number(
                "validation_fraction",
                DEFAULT_VALIDATION_FRACTION,
                |share| (0.0..1.0).contains(&share),
                "a number from 0 to below 1",
            ),
            guarantees: GuaranteeSpec {
                delta: guarantees.number(
                    "delta",
                    DEFAULT_DELTA,
                    |delta| delta > 0.0 && delta < 1.0,
                    "a number between 0 and 1",
                ),
                exact_rows: guarantees.integer(
                    "exact_rows",
                    LARGEST_EXACT_ROWS,
                    |rows| rows <= LARGEST_EXACT_ROWS,
                    &format!("a whole number up to {LARGEST_EXACT_ROWS}; 0 skips the exact solve"),
                ) as usize,
            },
        };
        let problems = problems.into_inner();
        if problems.is_empty() { Ok(checked) } else { Err(problems) }
    }

    /// What stands between this spec and a data set; `pointer` is where the data set was named.
    pub fn check_against(&self, schema: &Schema, pointer: &str) -> Result<(), Vec<Problem>> {
        let mut problems = Vec::new();
        let mut problem = |detail: String| problems.push(Problem { pointer: pointer.to_owned(), detail });
        if schema.task != Task::Regression {
            problem(format!(
                "learner ridge predicts numbers, and the target '{}' holds labels",
                schema.target_column().name
            ));
        }
        if self.missing == MissingRule::Refuse {
            let inputs = schema.columns.iter().enumerate().filter(|(index, _)| *index != schema.target);
            for (_, column) in inputs.filter(|(_, column)| column.missing > 0) {
                problem(format!(
                    "column '{}' has {} missing cells and missing is 'refuse'",
                    column.name, column.missing
                ));
            }
        }
        if problems.is_empty() { Ok(()) } else { Err(problems) }
    }

    /// λ for this many training rows.
    pub fn resolve_lambda(&self, training_rows: usize) -> f64 {
        match self.lambda {
            LambdaRule::InverseSqrtN => 1.0 / (training_rows as f64).sqrt(),
            LambdaRule::Certified => {
                wang::threshold_proof(self.map.bound(), training_rows, self.feature_count, self.guarantees.delta)
            }
            LambdaRule::Fixed(value) => value,
        }
    }

    /// The spec with every default written out.
    pub fn to_json(&self) -> Value {
        json!({
            "learner": "ridge",
            "kernel": {
                "name": self.kernel,
                "bandwidth": match self.bandwidth {
                    Bandwidth::MeanDistance => json!("mean_distance"),
                    Bandwidth::Fixed(value) => json!(value),
                },
            },
            "features": {
                "count": self.feature_count,
                "map": self.map,
                "sampling": self.sampling,
                "seed": self.seed,
            },
            "lambda": match self.lambda {
                LambdaRule::InverseSqrtN => json!("inverse_sqrt_n"),
                LambdaRule::Certified => json!("certified"),
                LambdaRule::Fixed(value) => json!(value),
            },
            "scaling": self.scaling,
            "missing": self.missing,
            "validation_fraction": self.validation_fraction,
            "guarantees": {"delta": self.guarantees.delta, "exact_rows": self.guarantees.exact_rows},
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: SpecLimits = SpecLimits { feature_count: 4096 };

    fn problems(raw: &Value) -> Vec<(String, String)> {
        let problems = TrainSpec::check("/spec", Some(raw), LIMITS).expect_err("must be refused");
        problems.into_iter().map(|problem| (problem.pointer, problem.detail)).collect()
    }

    #[test]
    fn defaults_round_trip() {
        let spec = TrainSpec::check("/spec", None, LIMITS).unwrap();
        assert_eq!(TrainSpec::check("/spec", Some(&spec.to_json()), LIMITS).unwrap(), spec);
    }

    #[test]
    fn unknown_fields_are_named_with_the_nearest_known_one() {
        let found = problems(&json!({"lamda": 0.1, "features": {"cuont": 8}}));
        assert_eq!(found.len(), 2);
        assert_eq!(found[0].0, "/spec/lamda");
        assert!(found[0].1.contains("did you mean 'lambda'?"));
        assert_eq!(found[1].0, "/spec/features/cuont");
        assert!(found[1].1.contains("did you mean 'count'?"));
    }

    #[test]
    fn values_out_of_range_are_refused_all_at_once() {
        let raw = json!({
            "lambda": -1.0, "features": {"count": 0, "seed": -3}, "kernel": {"bandwidth": 0, "name": "gausian"},
            "validation_fraction": 1.0, "guarantees": {"delta": 0}, "learner": 7,
        });
        let pointers: Vec<String> = problems(&raw).into_iter().map(|(pointer, _)| pointer).collect();
        for pointer in [
            "/spec/lambda",
            "/spec/features/count",
            "/spec/features/seed",
            "/spec/kernel/bandwidth",
            "/spec/kernel/name",
            "/spec/validation_fraction",
            "/spec/guarantees/delta",
            "/spec/learner",
        ] {
            assert!(pointers.iter().any(|found| found == pointer), "{pointer} in {pointers:?}");
        }
        assert_eq!(problems(&json!([1]))[0].1, "must be an object");
    }

    #[test]
    fn the_certified_lambda_meets_the_condition_of_the_theorem() {
        let spec = TrainSpec::check("", Some(&json!({"lambda": "certified"})), LIMITS).unwrap();
        let lambda = spec.resolve_lambda(10_000);
        assert!(lambda >= wang::threshold_proof(1.0, 10_000, 1_024, 0.05));
    }
}
