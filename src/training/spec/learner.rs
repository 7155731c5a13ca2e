//! What is minimised, and the choice between random features and the exact kernel method where a spec leaves it to the rows.

use super::effort::Effort;
use super::fields::Fields;
use super::open_choices::OpenChoices;
use super::rules::{BandwidthRule, LambdaRule, MetricRule};
use super::train_spec::TrainSpec;
use crate::dataset::{Schema, Task};
use crate::features::KernelShape;
use crate::solver::{DENSE_ROWS, Loss};
use crate::theory::LossKind;
use serde::Serialize;

/// The learners.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Learner {
    /// Squared error: of numbers, or of labels as ±1.
    Ridge,
    /// Logistic loss, softmax for three or more labels.
    Logistic,
    /// Hinge loss, one label against the rest for three or more: a support vector machine.
    Hinge,
    /// Squared hinge loss, likewise.
    SquaredHinge,
    /// Squared error over the kernel's own space, no features: exact kernel ridge regression, the reference.
    ExactKrr,
}

impl Learner {
    /// All of them with their names in a spec.
    pub(crate) const ALL: [(&'static str, Self); 5] = [
        ("ridge", Self::Ridge),
        ("logistic", Self::Logistic),
        ("hinge", Self::Hinge),
        ("squared_hinge", Self::SquaredHinge),
        ("exact_krr", Self::ExactKrr),
    ];

    /// The default.
    pub fn for_task(task: Task) -> Self {
        match task {
            Task::Regression => Self::Ridge,
            Task::Classification => Self::Logistic,
        }
    }

    /// Its loss, where the fit takes more than a linear system.
    pub(crate) fn loss(self) -> Option<Loss> {
        match self {
            Self::Ridge | Self::ExactKrr => None,
            Self::Logistic => Some(Loss::Logistic),
            Self::Hinge => Some(Loss::Hinge),
            Self::SquaredHinge => Some(Loss::SquaredHinge),
        }
    }

    /// Its loss, as theorems tell them apart.
    pub(crate) fn loss_kind(self) -> LossKind {
        match self {
            Self::Ridge | Self::ExactKrr => LossKind::Squared,
            Self::Logistic => LossKind::Logistic,
            Self::Hinge => LossKind::Hinge,
            Self::SquaredHinge => LossKind::SquaredHinge,
        }
    }

    /// Whether its decision values are log odds as they are, so that probabilities need no calibration.
    pub(crate) fn gives_log_odds(self) -> bool {
        self == Self::Logistic
    }

    /// The names of all learners.
    pub fn names() -> [&'static str; 5] {
        Self::ALL.map(|(name, _)| name)
    }

    pub(crate) fn name(self) -> &'static str {
        Self::ALL.iter().find(|(_, learner)| *learner == self).map_or("", |(name, _)| name)
    }
}

/// Why an option excludes the exact method: it needs features, or a theorem on them.
const NEEDS_FEATURES: &str = "needs random features, and learner search may keep the exact kernel method, which has none; use \
     learner ridge";

/// Why there is nothing to compare.
const CANNOT_SEARCH: &str = "search compares kernels at their own bandwidths, and learns a metric from kernels with gradients: leave \
     kernel.bandwidth out, and use kernel gaussian, matern with nu 1.5 or 2.5, or metric none; or use learner ridge";

impl TrainSpec {
    /// Whether the rows choose the learner: where the spec says so, or leaves it out of a thorough search, and asks for nothing
    /// that the exact method lacks.
    pub(crate) fn check_open_learner(&self, spec: &Fields) -> bool {
        let lacking = self.lacking_without_features();
        if !spec.has("learner") {
            let for_features = !lacking.is_empty() || spec.has("features") || spec.has("error_bars") && self.error_bars;
            return self.effort == Effort::Thorough && !for_features && self.can_search_exactly();
        }
        if !spec.says("learner", "search") {
            return false;
        }
        for name in &lacking {
            spec.problem(name, NEEDS_FEATURES.into());
        }
        if self.effort == Effort::Fast {
            spec.problem("learner", "is searched with effort balanced or thorough; set effort, or use ridge".into());
        } else if !self.can_search_exactly() {
            spec.problem("learner", CANNOT_SEARCH.into());
        }
        lacking.is_empty() && self.can_search_exactly()
    }

    /// The fields of a spec that the exact method cannot have.
    fn lacking_without_features(&self) -> Vec<&'static str> {
        let fields = [
            ("spread", self.spread),
            ("updatable", self.updatable),
            ("sample_weight", self.sample_weight.is_some()),
            ("design_fraction", self.design_fraction > 0.0),
            ("lambda", self.lambda == LambdaRule::Certified),
        ];
        fields.into_iter().filter(|(_, asked)| *asked).map(|(name, _)| name).collect()
    }

    /// Whether candidates of the exact method can be searched for: a metric is learned from kernels with a gradient.
    pub(crate) fn can_search_exactly(&self) -> bool {
        let smooth = |shape: &KernelShape| match *shape {
            KernelShape::Gaussian => true,
            KernelShape::Matern { nu } => [1.5, 2.5].contains(&nu),
            KernelShape::Laplace
            | KernelShape::Cauchy
            | KernelShape::Angular
            | KernelShape::Spline { .. }
            | KernelShape::Linear => false,
        };
        let kernels = self.searched_kernels();
        let has_gradient = self.metric == MetricRule::None || kernels.iter().any(smooth);
        self.effort != Effort::Fast && self.bandwidth == BandwidthRule::Search && has_gradient
    }

    /// The spec of the exact method, for a spec that leaves the learner open or has it.
    #[must_use]
    pub(crate) fn as_exact(&self) -> Self {
        let open = OpenChoices { learner: false, ..self.open };
        Self { learner: Some(Learner::ExactKrr), error_bars: false, open, ..self.clone() }
    }

    /// Whether a training on these rows compares the exact method with random features.
    pub(crate) fn weighs_exact(&self, schema: &Schema) -> bool {
        self.open.learner && schema.task == Task::Regression && self.training_rows(schema) <= DENSE_ROWS as u64
    }
}

#[cfg(test)]
mod tests {
    use crate::training::{Learner, SpecLimits, TrainSpec};
    use serde_json::{Value, json};

    const LIMITS: SpecLimits = SpecLimits { feature_count: 4096 };

    #[test]
    fn the_learner_is_open_where_the_spec_says_so() {
        for (raw, open) in [
            (json!({}), false),
            (json!({"learner": "ridge"}), false),
            (json!({"learner": "exact_krr"}), false),
            (json!({"learner": "search"}), true),
            (json!({"learner": "search", "features": {"count": 64}, "error_bars": true}), true),
            (json!({"learner": "search", "error_bars": false, "lambda": 1e-4}), true),
            (json!({"learner": "search", "effort": "thorough", "kernel": {"name": "matern", "nu": 2.5}}), true),
            (json!({"learner": "search", "kernel": {"name": "laplace", "metric": "none"}}), true),
            (json!({"effort": "thorough"}), true),
            (json!({"effort": "thorough", "error_bars": false, "lambda": 1e-4}), true),
            (json!({"effort": "thorough", "learner": "ridge"}), false),
            (json!({"effort": "thorough", "features": {"count": 64}}), false),
            (json!({"effort": "thorough", "error_bars": true}), false),
            (json!({"effort": "thorough", "updatable": true}), false),
            (json!({"effort": "thorough", "design_fraction": 0.2}), false),
            (json!({"effort": "thorough", "kernel": {"bandwidth": 2.0}}), false),
        ] {
            let spec = TrainSpec::check("", Some(&raw), LIMITS).unwrap();
            assert_eq!(spec.open.learner, open, "{raw}");
            assert_eq!(TrainSpec::check("", Some(&spec.to_json()), LIMITS).unwrap(), spec, "{raw}");
        }
    }

    #[test]
    fn what_needs_features_is_refused_beside_a_search_for_the_learner() {
        for (raw, pointer) in [
            (json!({"learner": "search", "spread": true}), "/spread"),
            (json!({"learner": "search", "updatable": true}), "/updatable"),
            (json!({"learner": "search", "sample_weight": "w"}), "/sample_weight"),
            (json!({"learner": "search", "design_fraction": 0.2}), "/design_fraction"),
            (json!({"learner": "search", "effort": "fast"}), "/learner"),
            (json!({"learner": "search", "kernel": {"bandwidth": 2.0}}), "/learner"),
            (json!({"learner": "search", "kernel": {"name": "laplace"}}), "/learner"),
        ] {
            let problems = TrainSpec::check("", Some(&raw), LIMITS).unwrap_err();
            assert_eq!(problems[0].pointer, pointer, "{raw}");
        }
    }

    /// Labels have no such choice, and a stored spec says so.
    #[test]
    fn a_task_closes_the_choice_for_labels_alone() {
        let spec = TrainSpec::check("", Some(&json!({"learner": "search"})), LIMITS).unwrap();
        let learner = |spec: TrainSpec| spec.to_json()["learner"].clone();
        let of = |task| spec.clone().for_task(task);
        assert_eq!(learner(of(crate::dataset::Task::Regression)), Value::from("search"));
        let of_labels = of(crate::dataset::Task::Classification);
        assert_eq!((of_labels.learner, of_labels.open.learner), (Some(Learner::Logistic), false));
    }
}
