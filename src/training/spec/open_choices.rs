//! What a spec leaves to the rows about its kernel and its features.

use super::effort::Effort;
use super::fields::Fields;
use super::learner::Learner;
use super::memory::estimate_memory;
use super::pool::PoolSpec;
use crate::dataset::Schema;
use crate::features::{MapKind, Sampling};
use crate::model::FeatureTrials;
use crate::training::TrainSpec;

/// The most features that are tried, and the fewest.
const LARGEST_TRIED: usize = 2_048;
const SMALLEST_TRIED: usize = 32;

/// The samplings that a search tries.
pub(crate) const CANDIDATES: [Sampling; 3] = [Sampling::Plain, Sampling::Leverage, Sampling::PooledRidge];

/// Which of them are open. What the spec has in their place is a cap for the count, plain for the sampling and gaussian for
/// the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[allow(clippy::struct_excessive_bools)] // each is a switch of its own
pub struct OpenChoices {
    /// `features.count` is `auto`.
    pub count: bool,
    /// `features.count` is `by_rows`: the number of rows decides, and nothing in them.
    pub count_by_rows: bool,
    /// `features.sampling` is `search`.
    pub sampling: bool,
    /// `kernel.name` is `search`.
    pub kernel: bool,
    /// `learner` is `search`: for numbers the exact kernel method, where random features have a larger error.
    pub learner: bool,
}

impl OpenChoices {
    pub(crate) fn check(
        features: &Fields,
        kernel: &Fields,
        (effort, learner, sampling): (Effort, Option<Learner>, Sampling),
    ) -> Self {
        // A pool is as large as its count allows, and the exact method has no features.
        let sampling_is_open = features.says("sampling", "search");
        let fixed =
            sampling.has_pool() || sampling_is_open || features.has("pool") || learner == Some(Learner::ExactKrr);
        let left_out = effort != Effort::Fast && !features.has("count") && !fixed;
        let open = Self {
            count: features.says("count", "auto"),
            count_by_rows: left_out || features.says("count", "by_rows"),
            sampling: sampling_is_open,
            kernel: effort.opens_kernel(kernel),
            learner: false, // decided when everything else is known
        };
        if features.says("count", "by_rows") && (effort == Effort::Fast || fixed) {
            let detail = "'by_rows' needs effort balanced or thorough and a sampling without a pool; set a number";
            features.problem("count", detail.into());
        }
        open
    }

    /// The sampling whose fields a spec may have.
    pub(crate) fn fields_as(self, sampling: Sampling) -> Sampling {
        if self.sampling { Sampling::Leverage } else { sampling }
    }

    /// Whether trials of features are to be made.
    pub(crate) fn any(self) -> bool {
        self.count || self.sampling
    }
}

/// The cap of a count that is open: the largest count that may be asked for.
pub(crate) fn largest_count(map: MapKind, most: u64) -> usize {
    let largest = usize::try_from(most).unwrap_or(usize::MAX);
    (largest - largest % map.columns_per_draw()).max(map.columns_per_draw())
}

impl TrainSpec {
    /// The spec with another feature count, and the pool that belongs to it.
    #[must_use]
    pub(crate) fn with_count(&self, feature_count: usize) -> Self {
        let pool = if self.open.count { self.pool.with_default_size(feature_count) } else { self.pool };
        Self { feature_count, pool, ..self.clone() }
    }

    /// The spec with another sampling; where that has no error bars, without them.
    #[must_use]
    pub(crate) fn with_sampling(&self, sampling: Sampling) -> Self {
        let error_bars = self.error_bars && sampling.draws_are_exchangeable();
        Self { sampling, error_bars, ..self.clone() }
    }

    /// The spec with what the rows chose for a model filled in.
    #[must_use]
    pub(crate) fn settled(&self, trials: Option<&FeatureTrials>) -> Self {
        let Some(trials) = trials.filter(|_| self.open.any()) else { return self.clone() };
        let spec = if self.open.count { self.with_count(trials.feature_count) } else { self.clone() };
        let chosen = Sampling::ALL.iter().find(|(name, _)| *name == trials.sampling).map(|(_, sampling)| *sampling);
        if let Some(sampling) = chosen.filter(|_| self.open.sampling) { spec.with_sampling(sampling) } else { spec }
    }

    /// The spec with an open count capped so that the training fits into memory, and a count by rows settled; other counts
    /// stay.
    #[must_use]
    pub fn within_memory(&self, schema: &Schema, threads: usize, memory: u64) -> Self {
        let mut spec = self.for_rows(schema);
        let open = self.open.count || self.open.count_by_rows;
        while open && spec.feature_count > SMALLEST_TRIED && estimate_memory(&spec, schema, threads) > memory {
            let half = spec.feature_count / 2;
            spec = spec.with_count(half - half % spec.map.columns_per_draw());
        }
        spec
    }

    /// Counts to try, each twice the one before, up to the cap, the number of rows, or what takes too long.
    pub(crate) fn ladder(&self, rows: usize) -> Vec<usize> {
        let per_draw = self.map.columns_per_draw();
        let most = self.feature_count.min(LARGEST_TRIED).min((rows - rows % per_draw).max(SMALLEST_TRIED));
        let mut counts: Vec<usize> = std::iter::successors(Some(SMALLEST_TRIED), |count| Some(count * 2))
            .take_while(|count| *count < most)
            .collect();
        counts.push(most);
        counts
    }
}

impl PoolSpec {
    /// The default pool of another count.
    fn with_default_size(self, count: usize) -> Self {
        Self { size: Self::default_size(count), ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::training::SpecLimits;
    use serde_json::{Value, json};

    fn check(features: Value, most: usize) -> Result<TrainSpec, Vec<String>> {
        let found = TrainSpec::check("", Some(&json!({"features": features})), SpecLimits { feature_count: most });
        found.map_err(|problems| problems.into_iter().map(|problem| problem.pointer).collect())
    }

    #[test]
    fn open_choices_round_trip_and_are_capped_by_the_limit() {
        for (features, most, cap) in [
            (json!({"count": "auto"}), 16_384, 16_384),
            (json!({"count": "auto", "sampling": "leverage", "pool_rows": 500}), 1_001, 1_000),
            (json!({"count": "auto", "sampling": "search"}), 4_096, 4_096),
            (json!({"count": 128, "sampling": "search", "pool": 512}), 4_096, 128),
        ] {
            let spec = check(features.clone(), most).unwrap();
            assert_eq!(spec.feature_count, cap);
            let again = TrainSpec::check("", Some(&spec.to_json()), SpecLimits { feature_count: most }).unwrap();
            assert_eq!(again, spec, "{features}");
        }
        let pooled = json!({"count": "auto", "sampling": "leverage", "pool": 512});
        assert_eq!(check(pooled, 4_096).unwrap_err(), ["/features/pool"]);
        assert_eq!(check(json!({"count": "auto", "pool": 512}), 4_096).unwrap_err(), ["/features/pool"]);
        assert_eq!(check(json!({"count": "most"}), 4_096).unwrap_err(), ["/features/count"]);
        assert_eq!(check(json!({"sampling": "searched"}), 4_096).unwrap_err(), ["/features/sampling"]);
        let certified = json!({"features": {"count": "auto"}, "lambda": "certified"});
        let refused = TrainSpec::check("", Some(&certified), SpecLimits { feature_count: 64 }).unwrap_err();
        assert_eq!(refused[0].pointer, "/lambda");
    }

    #[test]
    fn the_ladder_doubles_up_to_the_cap_or_the_rows() {
        let spec = check(json!({"count": "auto"}), 500).unwrap();
        assert_eq!(spec.ladder(100_000), [32, 64, 128, 256, 500]);
        assert_eq!(spec.ladder(101), [32, 64, 100]);
        assert_eq!(check(json!({"count": "auto"}), 16_384).unwrap().ladder(100_000).last(), Some(&2_048));
        assert_eq!(spec.ladder(3), [32]);
        assert_eq!(check(json!({"count": "auto"}), 20).unwrap().ladder(1_000), [20]);
    }
}
