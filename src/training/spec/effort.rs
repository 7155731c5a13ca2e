//! How much a training may spend on choosing what the spec leaves out.

use super::fields::Fields;
use super::rules::{BandwidthRule, MetricRule};
use super::train_spec::TrainSpec;
use crate::dataset::{Schema, Task};
use crate::features::KernelShape;

/// Training rows up to which numbers have more features by default: a training still takes seconds.
const FEW_ROWS: u64 = 1_500;

/// ν of the matern kernel that a search tries.
const SEARCHED_NU: f64 = 1.5;

/// Inputs up to which a search tries a full metric by itself: its sums take d² numbers and its root d³ operations.
const MOST_FULL_INPUTS: usize = 256;

/// Feature counts by rows are multiples of this.
const COUNT_STEP: usize = 64;

/// Products of rows and squared features beyond which a count by rows stops growing: minutes on a few cores.
const LARGEST_FIT: f64 = 4e12;

/// The efforts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effort {
    /// Nothing is searched but λ: a gaussian kernel with the mean distance as its bandwidth, on 1,024 features.
    Fast,
    /// Kernel, metric, bandwidth and scaling by a search on a sample, for about the time of two more fits.
    Balanced,
    /// The same with more candidates on more rows, and twice the features.
    Thorough,
}

/// What a search may use.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct SearchSize {
    /// Rows of each candidate's fit.
    pub(crate) rows: usize,
    /// Those of them with a leave-one-out residual.
    pub(crate) compared: usize,
    /// Rounds of each form of metric.
    pub(crate) rounds: usize,
    /// Candidates that the search should be able to afford; it takes fewer features for them if it must.
    pub(crate) candidates: usize,
    /// Work of all candidates together, in fits of the model.
    pub(crate) fits: f64,
    /// The least work, in operations, whatever the size of the fit: about a second.
    pub(crate) least_operations: f64,
    /// Rows of a candidate that is fitted without features: of all of them, and of the best again.
    pub(crate) exact_rows: [usize; 2],
}

impl Effort {
    /// All of them with their names in a spec.
    pub(crate) const ALL: [(&'static str, Self); 3] =
        [("fast", Self::Fast), ("balanced", Self::Balanced), ("thorough", Self::Thorough)];

    /// The effort of a spec. By default balanced, but fast where λ is to be certified and no design rows could choose the
    /// kernel: a kernel chosen by the targets of the training rows would leave the certificate without its assumption.
    pub(crate) fn check(spec: &Fields, design_fraction: f64) -> Self {
        let certified = spec.says("lambda", "certified") && design_fraction == 0.0;
        spec.choice("effort", if certified { Self::Fast } else { Self::Balanced }, &Self::ALL)
    }

    /// Its name in specs and reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Fast => "fast",
            Self::Balanced => "balanced",
            Self::Thorough => "thorough",
        }
    }

    /// Whether a search chooses the kernel: where a spec has neither its name nor one of its parameters. A bandwidth says
    /// something about one kernel only.
    pub(crate) fn opens_kernel(self, kernel: &Fields) -> bool {
        let named = ["name", "nu", "order"].into_iter().any(|name| kernel.has(name));
        kernel.says("name", "search") || (self != Self::Fast && !named && !fixes_bandwidth(kernel))
    }

    /// The metric of a spec that has none, which a bandwidth in units of the inputs excludes.
    pub(crate) fn default_metric(self, kernel: &Fields, shape: KernelShape) -> MetricRule {
        if self == Self::Fast || fixes_bandwidth(kernel) || !shape.has_bandwidth() {
            MetricRule::None
        } else {
            MetricRule::Search
        }
    }

    /// The bandwidth of a spec that has none.
    pub(crate) fn default_bandwidth(self) -> BandwidthRule {
        match self {
            Self::Fast => BandwidthRule::MeanDistance,
            Self::Balanced | Self::Thorough => BandwidthRule::Search,
        }
    }

    /// What its search may use; none where nothing is searched.
    pub(crate) fn search_size(self) -> Option<SearchSize> {
        match self {
            Self::Fast => None,
            Self::Balanced => Some(SearchSize {
                rows: 8_192,
                compared: 2_048,
                rounds: 3,
                candidates: 32,
                fits: 0.9,
                least_operations: 1.5e10,
                exact_rows: [768, 1_536],
            }),
            Self::Thorough => Some(SearchSize {
                rows: 16_384,
                compared: 4_096,
                rounds: 5,
                candidates: 48,
                fits: 8.0,
                least_operations: 4e11,
                exact_rows: [1_536, 3_000],
            }),
        }
    }

    /// Features for this many training rows: in proportion to √n, between a least and a largest count, and no more than a
    /// fit of bounded size allows. Where features are cheap, some times as many as rows: their scatter would be most of the
    /// error. Numbers on few rows have more, since their λ and error bars come from the system of the rows.
    fn feature_count(self, rows: u64, task: Task) -> usize {
        let (per_root, least, most) = match self {
            Self::Fast => return 1_024,
            Self::Balanced => (16.0, 1_024, 4_096),
            Self::Thorough => (32.0, 2_048, 8_192),
        };
        let few_numbers = task == Task::Regression && rows <= FEW_ROWS;
        let (per_row, cheap) = match self {
            _ if few_numbers => (4.0, 4_096.0),
            Self::Thorough => (2.0, 4_096.0),
            Self::Fast | Self::Balanced => (2.0, 2_048.0),
        };
        let n = rows.max(1) as f64;
        let affordable = (LARGEST_FIT / n).sqrt();
        let wanted = (per_root * n.sqrt()).max(f64::min(cheap, per_row * n)).min(affordable) as usize;
        wanted.next_multiple_of(COUNT_STEP).clamp(least, most)
    }
}

/// Whether a spec has a bandwidth that is not searched for.
fn fixes_bandwidth(kernel: &Fields) -> bool {
    kernel.has("bandwidth") && !kernel.says("bandwidth", "search")
}

impl TrainSpec {
    /// The spec with a feature count that is left to the number of rows filled in.
    #[must_use]
    pub fn for_rows(&self, schema: &Schema) -> Self {
        if !self.open.count_by_rows {
            return self.clone();
        }
        let per_draw = self.map.columns_per_draw();
        let count = self.effort.feature_count(self.training_rows(schema), schema.task).min(self.feature_count);
        let mut spec = self.with_count((count - count % per_draw).max(per_draw));
        spec.open.count_by_rows = false;
        spec
    }

    /// What the search for kernel, metric, bandwidth and scaling may use; none where these are given, or are searched for
    /// by the rules of their own fields.
    pub(crate) fn search_size(&self) -> Option<SearchSize> {
        self.effort.search_size().filter(|_| self.kernel.has_bandwidth() && self.bandwidth == BandwidthRule::Search)
    }

    /// The kernels that a search tries.
    pub(crate) fn searched_kernels(&self) -> Vec<KernelShape> {
        if !self.open.kernel {
            return vec![self.kernel];
        }
        let shapes = [KernelShape::Gaussian, KernelShape::Matern { nu: SEARCHED_NU }, KernelShape::Laplace];
        let possible =
            |shape: &KernelShape| self.sampling.refusal(*shape).is_none() && self.metric.refusal(*shape).is_none();
        shapes.into_iter().filter(possible).collect()
    }

    /// Whether a full metric of this many inputs may be tried.
    pub(crate) fn tries_full_metric(&self, inputs: usize) -> bool {
        let products = !self.open.kernel && MetricRule::Full.refusal(self.kernel).is_some();
        match self.metric {
            MetricRule::None | MetricRule::Diagonal => false,
            MetricRule::Full => true,
            MetricRule::Search => !products && (self.effort == Effort::Fast || inputs <= MOST_FULL_INPUTS),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::training::SpecLimits;
    use serde_json::{Value, json};

    const LIMITS: SpecLimits = SpecLimits { feature_count: 16_384 };

    fn check(raw: &Value) -> TrainSpec {
        TrainSpec::check("", Some(raw), LIMITS).unwrap()
    }

    /// What a spec of the release before had for everything it left out.
    #[test]
    fn fast_is_the_default_of_earlier_releases() {
        let written = json!({
            "effort": "fast", "kernel": {"name": "gaussian", "bandwidth": "mean_distance", "metric": "none"},
            "features": {"count": 1024, "map": "pair", "sampling": "plain", "seed": 0}, "lambda": "search",
            "scaling": "standard", "missing": "mean", "spread": false, "error_bars": true, "updatable": false,
            "validation_fraction": 0.2, "guarantees": {"delta": 0.05, "exact_rows": 5000},
        });
        assert_eq!(check(&json!({"effort": "fast"})), check(&written));
        let stored = TrainSpec::check_stored("", &json!({"kernel": {"name": "matern", "bandwidth": "search"}}), LIMITS);
        let stored = stored.unwrap();
        assert_eq!((stored.effort, stored.metric, stored.open.kernel), (Effort::Fast, MetricRule::None, false));
    }

    #[test]
    fn balanced_opens_what_a_spec_leaves_out_and_nothing_else() {
        let open = |raw: Value| {
            let spec = check(&raw);
            assert_eq!(check(&spec.to_json()), spec, "{raw}");
            (spec.open.kernel, spec.metric, spec.bandwidth, spec.scaling.is_none(), spec.open.count_by_rows)
        };
        let (search, none) = (MetricRule::Search, MetricRule::None);
        let found = BandwidthRule::Search;
        for (raw, expected) in [
            (json!({}), (true, search, found, true, true)),
            (json!({"effort": "thorough"}), (true, search, found, true, true)),
            (json!({"kernel": {"name": "matern"}}), (false, search, found, true, true)),
            (json!({"kernel": {"metric": "none"}}), (true, none, found, true, true)),
            (json!({"kernel": {"bandwidth": 2.0}}), (false, none, BandwidthRule::Fixed(2.0), false, true)),
            (json!({"kernel": {"bandwidth": "median"}}), (false, none, BandwidthRule::Median, false, true)),
            (json!({"kernel": {"name": "angular"}}), (false, none, BandwidthRule::Fixed(1.0), false, true)),
            (json!({"scaling": "minmax", "features": {"count": 64}}), (true, search, found, false, false)),
            (json!({"lambda": "certified"}), (false, none, BandwidthRule::MeanDistance, false, false)),
            (json!({"lambda": "certified", "design_fraction": 0.2}), (true, search, found, true, true)),
        ] {
            assert_eq!(open(raw.clone()), expected, "{raw}");
        }
        let orthogonal = check(&json!({"features": {"sampling": "orthogonal"}}));
        assert!(!orthogonal.searched_kernels().contains(&KernelShape::Laplace));
        assert!(!check(&json!({"kernel": {"metric": "full"}})).searched_kernels().contains(&KernelShape::Laplace));
    }

    #[test]
    fn fields_that_contradict_a_search_are_refused() {
        for (raw, pointer) in [
            (json!({"effort": "slow"}), "/effort"),
            (json!({"effort": "fast", "kernel": {"name": "search"}}), "/kernel/name"),
            (json!({"kernel": {"name": "search", "bandwidth": 2.0}}), "/kernel/bandwidth"),
            (json!({"kernel": {"name": "search", "nu": 2.5}}), "/kernel/nu"),
            (json!({"effort": "fast", "features": {"count": "by_rows"}}), "/features/count"),
        ] {
            let problems = TrainSpec::check("", Some(&raw), LIMITS).unwrap_err();
            assert_eq!(problems[0].pointer, pointer, "{raw}");
        }
    }

    #[test]
    fn counts_grow_with_the_root_of_the_rows_within_limits() {
        let labels = |effort: Effort, rows| effort.feature_count(rows, Task::Classification);
        assert_eq!(
            [10, 700, 4_096, 16_384, 65_536, 1 << 17].map(|n| labels(Effort::Balanced, n)),
            [1_024, 1_408, 2_048, 2_048, 4_096, 4_096]
        );
        let count = |effort: Effort, rows| effort.feature_count(rows, Task::Regression);
        assert_eq!(
            [10, 300, 512, 1_024, 1_500, 1_501, 16_384, 65_536].map(|n| count(Effort::Balanced, n)),
            [1_024, 1_216, 2_048, 4_096, 4_096, 2_048, 2_048, 4_096]
        );
        assert_eq!([10, 16_384, 65_536, 1 << 30].map(|n| count(Effort::Thorough, n)), [2_048, 4_096, 7_872, 2_048]);
        assert_eq!(count(Effort::Balanced, 1_000_000), 2_048); // bounded by the work
    }
}
