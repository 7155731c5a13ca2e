//! What to train: raw JSON to a checked spec. Only a checked spec can be trained on.

use super::check_kernel::{
    check_bandwidth, check_count, check_kernel, check_map, check_metric, check_sampling, check_scaling,
    refuse_for_chosen, refuse_for_exact,
};
use super::effort::Effort;
use super::fields::Fields;
use super::learner::Learner;
use super::open_choices::OpenChoices;
use super::pool::PoolSpec;
use super::rules::{BandwidthRule, ClassWeight, GuaranteeSpec, IntervalRule, LambdaRule, MetricRule};
use super::shares::split_rule::{SplitRule, check_cross_validation, refuse_for_split};
use super::shares::{DEFAULT_VALIDATION_FRACTION, check_sum, held_out};
use crate::dataset::{HeldOut, Roles, ScalingRule, Schema, Task};
use crate::features::{FeatureMap, Kernel, KernelShape, MapKind, Sampling};
use crate::model::MissingRule;
use crate::request::problem::Problem;
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
#[allow(clippy::struct_excessive_bools)] // each is a switch of its own
pub struct TrainSpec {
    /// What may be spent on choosing what the spec leaves out.
    pub effort: Effort,
    /// What is minimised; by default, that of the task.
    pub learner: Option<Learner>,
    /// How classes count against each other.
    pub class_weight: ClassWeight,
    /// Which kernel.
    pub kernel: KernelShape,
    /// Its bandwidth, for kernels that have one.
    pub bandwidth: BandwidthRule,
    /// What the kernel learns about the relevance of inputs.
    pub metric: MetricRule,
    /// s; for the exact learner, that of the features its search uses.
    pub feature_count: usize,
    /// Frequencies to columns.
    pub map: MapKind,
    /// How frequencies are drawn.
    pub sampling: Sampling,
    /// What the rows are to choose.
    pub open: OpenChoices,
    /// The candidates of a sampling by rows.
    pub pool: PoolSpec,
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
    /// Whether importance and partial dependence of the columns are measured and kept.
    pub explanations: bool,
    /// The column that says how much a row counts.
    pub sample_weight: Option<String>,
    /// Share of the labelled rows held out to measure the error.
    pub validation_fraction: f64,
    /// Share of the labelled rows held out for probabilities and for scores; by default, that of the task.
    pub calibration_fraction: Option<f64>,
    /// Share of the labelled rows kept apart to choose scaling, bandwidth and λ.
    pub design_fraction: f64,
    /// By what rows are split into these shares.
    pub split: SplitRule,
    /// The folds of a cross-validation, if there is to be one.
    pub cross_validation: Option<usize>,
    /// Whether trainings on fewer rows are to show what more rows would bring.
    pub learning_curve: bool,
    /// For the guarantees.
    pub guarantees: GuaranteeSpec,
}

/// What a spec may ask for.
#[derive(Debug, Clone, Copy)]
pub struct SpecLimits {
    /// Largest s.
    pub feature_count: usize,
}

impl TrainSpec {
    /// Checks a raw spec found at `pointer`, collecting every problem.
    pub fn check(pointer: &str, raw: Option<&Value>, limits: SpecLimits) -> Result<Self, Vec<Problem>> {
        let problems = RefCell::new(Vec::new());
        let known = [
            "effort",
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
            "explanations",
            "sample_weight",
            "validation_fraction",
            "calibration_fraction",
            "design_fraction",
            "split",
            "cross_validation",
            "learning_curve",
            "guarantees",
        ];
        let spec = Fields::new(pointer, raw, &known, &problems);
        let kernel_fields = spec.object("kernel", &["name", "bandwidth", "metric", "nu", "order"]);
        let features =
            spec.object("features", &[&["count", "map", "sampling", "seed"], &PoolSpec::FIELDS[..]].concat());

        let share = |name, default| {
            spec.number(name, default, |share| (0.0..1.0).contains(&share), "a number from 0 to below 1")
        };
        let learners = Learner::ALL.map(|(name, learner)| (name, Some(learner)));
        let learners = [&learners[..], &[("search", None)]].concat();
        let design_fraction = share("design_fraction", 0.0);
        let effort = Effort::check(&spec, design_fraction);
        let kernel = check_kernel(&kernel_fields, effort);
        let map = check_map(&features, kernel);
        let metric = check_metric(&kernel_fields, kernel, effort);
        let bandwidth = check_bandwidth(&kernel_fields, kernel, (metric, effort));
        let learner = spec.choice("learner", None, &learners);
        let spread = spec.boolean("spread", false);
        let sampling = check_sampling(&features, kernel);
        let open = OpenChoices::check(&features, &kernel_fields, (effort, learner, sampling));
        let feature_count = check_count(&features, map, limits.feature_count as u64, open);
        let exchangeable = sampling.draws_are_exchangeable();
        let mut checked = Self {
            effort,
            learner,
            class_weight: spec.choice("class_weight", ClassWeight::None, &ClassWeight::ALL),
            kernel,
            bandwidth,
            metric,
            feature_count,
            map,
            sampling,
            open,
            pool: PoolSpec::check(&features, open.fields_as(sampling), map, feature_count),
            seed: features.integer("seed", 0, |_| true, "a whole number from 0 to 2^64 - 1"),
            lambda: LambdaRule::check(&spec),
            scaling: check_scaling(&spec, kernel, (bandwidth, metric, effort)),
            missing: spec.choice(
                "missing",
                MissingRule::Mean,
                &[("mean", MissingRule::Mean), ("refuse", MissingRule::Refuse)],
            ),
            spread,
            intervals: IntervalRule::check(&spec, spread),
            error_bars: spec.boolean("error_bars", learner != Some(Learner::ExactKrr) && exchangeable),
            updatable: spec.boolean("updatable", false),
            explanations: spec.boolean("explanations", false),
            sample_weight: spec.text("sample_weight"),
            validation_fraction: share("validation_fraction", DEFAULT_VALIDATION_FRACTION),
            calibration_fraction: spec.has("calibration_fraction").then(|| share("calibration_fraction", 0.0)),
            design_fraction,
            split: SplitRule::check(&spec),
            cross_validation: check_cross_validation(&spec),
            learning_curve: spec.boolean("learning_curve", false),
            guarantees: GuaranteeSpec::check(&spec.object("guarantees", &GuaranteeSpec::FIELDS)),
        };
        check_sum(&spec, &checked);
        checked.open.learner = checked.check_open_learner(&spec);
        if checked.lambda == LambdaRule::Certified && map.bound(kernel).is_none() {
            spec.problem(
                "lambda",
                "no theorem certifies a lambda for the features of this kernel; use 'search' or a number".into(),
            );
        }
        refuse_for_split(&checked, &spec);
        refuse_for_chosen(&checked, &spec);
        if checked.is_exact() {
            refuse_for_exact(&checked, &spec, &features);
        }
        let problems = problems.into_inner();
        if problems.is_empty() { Ok(checked) } else { Err(problems) }
    }

    /// The same for a spec that an earlier training wrote out. Releases without `effort` wrote what is fast now.
    pub fn check_stored(pointer: &str, raw: &Value, limits: SpecLimits) -> Result<Self, Vec<Problem>> {
        let mut raw = raw.clone();
        if let Some(fields) = raw.as_object_mut() {
            fields.entry("effort").or_insert_with(|| json!(Effort::Fast.name()));
        }
        Self::check(pointer, Some(&raw), limits)
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
        self.open.learner &= task == Task::Regression;
        self.learner = (!self.open.learner).then_some(learner);
        self.error_bars &= task == Task::Regression;
        self
    }

    /// The shares of the labelled rows that are not fitted on.
    pub(crate) fn held_out(&self, task: Task) -> HeldOut {
        held_out(task, (self.validation_fraction, self.calibration_fraction, self.design_fraction))
    }

    /// For one of several trainings of which only the errors are kept: without what the final model alone needs.
    pub(crate) fn of_a_repetition(&self) -> Self {
        Self {
            error_bars: false,
            updatable: false,
            explanations: false,
            cross_validation: None,
            learning_curve: false,
            guarantees: GuaranteeSpec { exact_rows: 0, ..self.guarantees },
            ..self.clone()
        }
    }

    /// The role of each column of a dataset.
    pub fn roles(&self, schema: &Schema) -> Roles {
        Roles::of(schema, self.sample_weight.as_deref(), self.split.column())
    }

    /// Samples a map of this spec for a kernel with its bandwidth.
    pub(crate) fn sample_map(&self, kernel: Kernel, feature_count: usize, input_dim: usize) -> FeatureMap {
        FeatureMap::sample(kernel, self.map, self.sampling, self.seed, feature_count, input_dim)
    }

    /// The same with draws for searches, which the model does not use.
    pub(crate) fn sample_search_map(&self, kernel: Kernel, feature_count: usize, input_dim: usize) -> FeatureMap {
        let seed = FeatureMap::seed_for_searches(self.seed);
        FeatureMap::sample(kernel, self.map, self.sampling, seed, feature_count, input_dim)
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
    fn a_metric_brings_its_bandwidth_and_scaling() {
        let raw = json!({"effort": "fast", "kernel": {"metric": "search"}});
        let spec = TrainSpec::check("", Some(&raw), LIMITS).unwrap();
        assert_eq!((spec.metric, spec.bandwidth), (MetricRule::Search, BandwidthRule::Search));
        assert_eq!(spec.scaling, Some(ScalingRule::Standard));
        assert_eq!(TrainSpec::check("", Some(&spec.to_json()), LIMITS).unwrap(), spec);
        for (kernel, pointer) in [
            (json!({"name": "linear", "metric": "search"}), "/spec/kernel/metric"),
            (json!({"name": "cauchy", "metric": "full"}), "/spec/kernel/metric"),
            (json!({"metric": "full", "bandwidth": "grid"}), "/spec/kernel/bandwidth"),
        ] {
            assert_eq!(problems(&json!({"kernel": kernel}))[0].0, pointer, "{kernel}");
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
        assert_eq!(check(json!({"effort": "fast", "scaling": "search"})).unwrap_err()[0].pointer, "/scaling");
    }
}
