//! What to train: raw JSON to a checked spec. Only a checked spec can be trained on.

use super::check_kernel::{
    check_bandwidth, check_count, check_kernel, check_map, check_sampling, check_scaling, refuse_for_exact,
};
use super::fields::Fields;
use super::learner::Learner;
use super::rules::{BandwidthRule, ClassWeight, GuaranteeSpec, IntervalRule, LambdaRule};
use crate::dataset::{HeldOut, Roles, ScalingRule, Schema, Task};
use crate::features::{FeatureMap, Kernel, KernelShape, MapKind, Sampling};
use crate::model::MissingRule;
use crate::request::problem::Problem;
use crate::theory::ours::relative::smallest_certified_ridge;
use serde_json::{Value, json};
use std::cell::RefCell;

/// A checked training spec.
///
/// ```
/// use bochner::training::{SpecLimits, TrainSpec};
/// use serde_json::json;
///
/// let limits = SpecLimits { feature_count: 4096 };
/// let raw = json!({"kernel": {"name": "matern", "nu": 2.5}, "features": {"count": 512}, "lambda": 1e-4});
/// let spec = TrainSpec::check("", Some(&raw), limits).unwrap();
/// assert_eq!((spec.feature_count, spec.seed), (512, 0)); // what is left out has its default
///
/// let misspelt = json!({"kernel": {"name": "gausian"}, "lamda": 1e-4});
/// let problems = TrainSpec::check("/spec", Some(&misspelt), limits).unwrap_err();
/// let pointers: Vec<&str> = problems.iter().map(|problem| problem.pointer.as_str()).collect();
/// assert!(pointers.contains(&"/spec/kernel/name") && pointers.contains(&"/spec/lamda")); // every problem at once
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct TrainSpec {
    /// What is minimised; by default, that of the task.
    pub learner: Option<Learner>,
    /// How classes count against each other.
    pub class_weight: ClassWeight,
    /// Which kernel.
    pub kernel: KernelShape,
    /// Its bandwidth, for kernels that have one.
    pub bandwidth: BandwidthRule,
    /// s; for the exact learner, that of the features its search uses.
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
    pub scaling: Option<ScalingRule>,
    /// About missing input cells.
    pub missing: MissingRule,
    /// Whether the model keeps what its predictive spread needs: s²/2 numbers.
    pub spread: bool,
    /// What conformal intervals are measured in.
    pub intervals: IntervalRule,
    /// Whether the model keeps weights without groups of features: ten times its weights.
    pub error_bars: bool,
    /// Whether the model keeps what adding rows later needs: s²/2 numbers.
    pub updatable: bool,
    /// The column that says how much a row counts.
    pub sample_weight: Option<String>,
    /// Share of the labelled rows held out to measure the error.
    pub validation_fraction: f64,
    /// Share of the labelled rows held out for probabilities and for scores; by default, that of the task.
    pub calibration_fraction: Option<f64>,
    /// For the guarantees.
    pub guarantees: GuaranteeSpec,
}

/// What a spec may ask for.
#[derive(Debug, Clone, Copy)]
pub struct SpecLimits {
    /// Largest s.
    pub feature_count: usize,
}

const DEFAULT_VALIDATION_FRACTION: f64 = 0.2;
/// Of labels: for their probabilities, and for the scores of label sets.
const DEFAULT_CALIBRATION_FRACTION: f64 = 0.1;

/// Training rows under the default shares.
pub(crate) fn default_training_rows(schema: &Schema) -> u64 {
    let shares = held_out(schema.task, DEFAULT_VALIDATION_FRACTION, None);
    fitted_on(schema, shares)
}

/// How many of the labelled rows these shares leave for training; more only where every label must keep a row.
fn fitted_on(schema: &Schema, held_out: HeldOut) -> u64 {
    let rows = schema.labelled_rows();
    let taken = |share: f64| if share > 0.0 { ((share * rows as f64).round() as u64).max(1) } else { 0 };
    rows.saturating_sub(taken(held_out.validation) + taken(held_out.calibration))
}

/// The shares of the labelled rows that are not fitted on.
fn held_out(task: Task, validation: f64, calibration: Option<f64>) -> HeldOut {
    let default = if task == Task::Classification { DEFAULT_CALIBRATION_FRACTION } else { 0.0 };
    HeldOut { validation, calibration: calibration.unwrap_or(default.min((1.0 - validation) / 2.0)) }
}

impl TrainSpec {
    /// Checks a raw spec found at `pointer`, collecting every problem.
    pub fn check(pointer: &str, raw: Option<&Value>, limits: SpecLimits) -> Result<Self, Vec<Problem>> {
        let problems = RefCell::new(Vec::new());
        let known = [
            "learner",
            "class_weight",
            "kernel",
            "features",
            "lambda",
            "scaling",
            "missing",
            "spread",
            "intervals",
            "error_bars",
            "updatable",
            "sample_weight",
            "validation_fraction",
            "calibration_fraction",
            "guarantees",
        ];
        let spec = Fields::new(pointer, raw, &known, &problems);
        let kernel_fields = spec.object("kernel", &["name", "bandwidth", "nu", "order"]);
        let features = spec.object("features", &["count", "map", "sampling", "seed"]);

        let share = |name, default| {
            spec.number(name, default, |share| (0.0..1.0).contains(&share), "a number from 0 to below 1")
        };
        let learners = Learner::ALL.map(|(name, learner)| (name, Some(learner)));
        let kernel = check_kernel(&kernel_fields);
        let map = check_map(&features, kernel);
        let bandwidth = check_bandwidth(&kernel_fields, kernel);
        let learner = spec.choice("learner", None, &learners);
        let spread = spec.boolean("spread", false);
        let checked = Self {
            learner,
            class_weight: spec.choice("class_weight", ClassWeight::None, &ClassWeight::ALL),
            kernel,
            bandwidth,
            feature_count: check_count(&features, map, limits.feature_count as u64),
            map,
            sampling: check_sampling(&features, kernel),
            seed: features.integer("seed", 0, |_| true, "a whole number from 0 to 2^64 - 1"),
            lambda: LambdaRule::check(&spec),
            scaling: check_scaling(&spec, kernel, bandwidth),
            missing: spec.choice(
                "missing",
                MissingRule::Mean,
                &[("mean", MissingRule::Mean), ("refuse", MissingRule::Refuse)],
            ),
            spread,
            intervals: IntervalRule::check(&spec, spread),
            error_bars: spec.boolean("error_bars", learner != Some(Learner::ExactKrr)),
            updatable: spec.boolean("updatable", false),
            sample_weight: spec.text("sample_weight"),
            validation_fraction: share("validation_fraction", DEFAULT_VALIDATION_FRACTION),
            calibration_fraction: spec.has("calibration_fraction").then(|| share("calibration_fraction", 0.0)),
            guarantees: GuaranteeSpec::check(&spec.object("guarantees", &GuaranteeSpec::FIELDS)),
        };
        if checked.validation_fraction + checked.calibration_fraction.unwrap_or(0.0) >= 1.0 {
            spec.problem(
                "calibration_fraction",
                "validation_fraction and calibration_fraction must sum to less than 1".into(),
            );
        }
        if checked.lambda == LambdaRule::Certified && map.bound(kernel).is_none() {
            spec.problem(
                "lambda",
                "no theorem certifies a lambda for the features of this kernel; use 'search' or a number".into(),
            );
        }
        if checked.is_exact() {
            refuse_for_exact(&checked, &spec, &features);
        }
        let problems = problems.into_inner();
        if problems.is_empty() { Ok(checked) } else { Err(problems) }
    }

    /// Whether the exact kernel method is trained, without features.
    pub(crate) fn is_exact(&self) -> bool {
        self.learner == Some(Learner::ExactKrr)
    }

    /// The learner for a task.
    pub fn learner_for(&self, task: Task) -> Learner {
        self.learner.unwrap_or(Learner::for_task(task))
    }

    /// The spec with what it leaves to the task written out.
    #[must_use]
    pub fn for_task(mut self, task: Task) -> Self {
        let learner = self.learner_for(task);
        self.calibration_fraction = Some(self.held_out(task).calibration);
        self.learner = Some(learner);
        self.error_bars &= task == Task::Regression;
        self
    }

    /// The shares of the labelled rows that are not fitted on.
    pub(crate) fn held_out(&self, task: Task) -> HeldOut {
        held_out(task, self.validation_fraction, self.calibration_fraction)
    }

    /// About how many of the labelled rows are fitted on.
    pub(crate) fn training_rows(&self, schema: &Schema) -> u64 {
        fitted_on(schema, self.held_out(schema.task))
    }

    /// The role of each column of a dataset.
    pub fn roles(&self, schema: &Schema) -> Roles {
        Roles::of(schema, self.sample_weight.as_deref())
    }

    /// λ for this many training rows, unless it is to be searched for.
    pub fn resolve_lambda(&self, training_rows: usize) -> Option<f64> {
        match self.lambda {
            LambdaRule::Search => None,
            LambdaRule::InverseSqrtN => Some(1.0 / (training_rows as f64).sqrt()),
            LambdaRule::Certified => self
                .map
                .bound(self.kernel)
                .map(|b| smallest_certified_ridge(b, training_rows, self.feature_count, self.guarantees.delta)),
            LambdaRule::Fixed(value) => Some(value),
        }
    }

    /// Samples a map of this spec for a kernel with its bandwidth.
    pub(crate) fn sample_map(&self, kernel: Kernel, feature_count: usize, input_dim: usize) -> FeatureMap {
        FeatureMap::sample(kernel, self.map, self.sampling, self.seed, feature_count, input_dim)
    }

    /// Whether nothing about the kernel or λ was taken from the rows.
    pub(crate) fn is_fixed_in_advance(&self) -> bool {
        let bandwidth = !self.kernel.has_bandwidth() || matches!(self.bandwidth, BandwidthRule::Fixed(_));
        bandwidth && self.scaling == Some(ScalingRule::None) && self.lambda != LambdaRule::Search
    }

    /// The spec with every default written out.
    pub fn to_json(&self) -> Value {
        let mut kernel = json!({"name": self.kernel.name()});
        if self.kernel.has_bandwidth() {
            kernel["bandwidth"] = self.bandwidth.to_json();
        }
        match self.kernel {
            KernelShape::Matern { nu } => kernel["nu"] = json!(nu),
            KernelShape::Spline { order } => kernel["order"] = json!(order),
            _ => {}
        }
        let mut spec = json!({
            "learner": self.learner.map(Learner::name),
            "kernel": kernel,
            "features": if self.is_exact() {
                json!({"seed": self.seed})
            } else {
                json!({"count": self.feature_count, "map": self.map, "sampling": self.sampling, "seed": self.seed})
            },
            "lambda": self.lambda.to_json(),
            "scaling": self.scaling.map_or(json!("search"), |rule| json!(rule)),
            "missing": self.missing,
            "spread": self.spread,
            "error_bars": self.error_bars,
            "updatable": self.updatable,
            "validation_fraction": self.validation_fraction,
            "guarantees": self.guarantees.to_json(),
        });
        if let (None, Some(spec)) = (self.learner, spec.as_object_mut()) {
            spec.shift_remove("learner");
        }
        if self.intervals == IntervalRule::Scaled {
            spec["intervals"] = json!("scaled");
        }
        if self.class_weight == ClassWeight::Balanced {
            spec["class_weight"] = json!("balanced");
        }
        if let Some(share) = self.calibration_fraction {
            spec["calibration_fraction"] = json!(share);
        }
        if let Some(column) = &self.sample_weight {
            spec["sample_weight"] = json!(column);
        }
        spec
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::theory::ours::relative::slack;
    use crate::theory::papers::wang;

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
    fn kernels_maps_and_samplings_must_fit_each_other() {
        let spec = |kernel: &str| TrainSpec::check("", Some(&json!({"kernel": {"name": kernel}})), LIMITS).unwrap();
        for (kernel, map) in [("laplace", MapKind::Pair), ("angular", MapKind::Sign), ("spline", MapKind::Spline)] {
            assert_eq!(spec(kernel).map, map);
            assert_eq!(TrainSpec::check("", Some(&spec(kernel).to_json()), LIMITS).unwrap(), spec(kernel));
        }
        for (raw, pointer) in [
            (json!({"kernel": {"name": "angular", "bandwidth": 1}}), "/spec/kernel/bandwidth"),
            (json!({"kernel": {"name": "gaussian", "nu": 1}}), "/spec/kernel/nu"),
            (json!({"kernel": {"name": "spline", "order": 3}}), "/spec/kernel/order"),
            (json!({"kernel": {"name": "laplace"}, "features": {"sampling": "orthogonal"}}), "/spec/features/sampling"),
            (json!({"kernel": {"name": "cauchy"}, "features": {"sampling": "structured"}}), "/spec/features/sampling"),
            (json!({"kernel": {"name": "angular"}, "features": {"map": "pair"}}), "/spec/features/map"),
            (json!({"kernel": {"name": "linear"}, "lambda": "certified"}), "/spec/lambda"),
            (json!({"kernel": {"name": "spline"}, "scaling": "standard"}), "/spec/scaling"),
        ] {
            assert_eq!(problems(&raw)[0].0, pointer, "{raw}");
        }
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
    fn scaling_is_searched_for_with_the_bandwidth_alone() {
        let check = |raw: Value| TrainSpec::check("", Some(&raw), LIMITS);
        let searched = check(json!({"kernel": {"bandwidth": "search"}})).unwrap();
        assert_eq!(searched.to_json()["scaling"], "search");
        assert_eq!(check(searched.to_json()).unwrap(), searched, "the spec with its defaults is the same spec");
        let given = check(json!({"kernel": {"bandwidth": "search"}, "scaling": "unit"})).unwrap();
        assert_eq!(given.scaling, Some(ScalingRule::Unit));
        assert_eq!(check(json!({"scaling": "search"})).unwrap_err()[0].pointer, "/scaling");
    }

    #[test]
    fn the_certified_lambda_is_the_smallest_of_any_bound() {
        let spec = TrainSpec::check("", Some(&json!({"lambda": "certified"})), LIMITS).unwrap();
        let lambda = spec.resolve_lambda(10_000).unwrap();
        assert!(slack(1.0, lambda, 10_000, 1_024, 0.05).is_some());
        assert!(lambda < wang::threshold(1.0, 10_000, 1_024, 0.05));
    }
}
