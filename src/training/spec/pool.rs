//! What a spec says about features that are chosen by rows: the pool of candidates and the rows that score it.

use super::fields::Fields;
use crate::features::{CappedConstants, MapKind, Sampling};
use crate::training::TrainSpec;
use serde_json::{Value, json};

/// Columns of a pool at most.
pub const LARGEST_POOL: usize = 20_000;

/// The default pool is so many times the features. [S, §V]
const POOL_MULTIPLE: usize = 10;

/// Rows that score a pool by default, at most.
const DEFAULT_POOL_ROWS: u64 = 100_000;
const LARGEST_POOL_ROWS: u64 = 1 << 40;

/// The candidates that features are chosen from, and how they are scored. Samplings without a pool ignore it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PoolSpec {
    /// Columns of the pool, as the feature count.
    pub size: usize,
    /// About how many training rows score it, at most.
    pub rows: usize,
    /// λ of the scores; by default 1/n or the λ of the model, as the sampling has it.
    pub lambda: Option<f64>,
    /// Of the capped density.
    pub constants: CappedConstants,
}

impl PoolSpec {
    /// The fields of `features` that belong to samplings by rows.
    pub(crate) const FIELDS: [&'static str; 4] = ["pool", "pool_rows", "pool_lambda", "constants"];

    /// The pool of `count` features, unless a spec says otherwise.
    pub(crate) fn default_size(count: usize) -> usize {
        (POOL_MULTIPLE * count).min(LARGEST_POOL).max(count)
    }

    /// Each of them with whether it belongs to a sampling.
    pub(crate) fn fields_of(sampling: Sampling) -> [(&'static str, bool); 4] {
        let [pool, rows, lambda, constants] = Self::FIELDS;
        let capped = sampling == Sampling::Capped;
        let has_lambda = sampling.has_pool() && !matches!(sampling, Sampling::Eerf | Sampling::Lkrf);
        [(pool, sampling.has_pool()), (rows, sampling.has_pool()), (lambda, has_lambda || capped), (constants, capped)]
    }

    /// Reads them for a sampling of `count` features.
    pub(crate) fn check(features: &Fields, sampling: Sampling, map: MapKind, count: usize) -> Self {
        let name = sampling.name();
        let reasons = [
            "chooses no features from a pool",
            "chooses no features from a pool",
            "has no lambda of its own",
            "has no constants to choose",
        ];
        for ((field, belongs), reason) in Self::fields_of(sampling).into_iter().zip(reasons) {
            if features.has(field) && !belongs {
                features.problem(field, format!("sampling {name} {reason}; remove it"));
            }
        }
        if sampling.has_pool() && count > LARGEST_POOL {
            let detail = format!("chooses at most {LARGEST_POOL} features; use fewer features or sampling plain");
            features.problem("sampling", format!("{name} {detail}"));
        }
        let per_draw = map.columns_per_draw();
        let fits =
            |size: u64| size >= count as u64 && size <= LARGEST_POOL as u64 && size.is_multiple_of(per_draw as u64);
        let even = if per_draw == 2 { ", even" } else { "" };
        let requirement = format!("a whole number from {count}, the features to choose, to {LARGEST_POOL}{even}");
        let default = Self::default_size(count);
        let positive = |lambda: f64| lambda > 0.0 && lambda.is_finite();
        let size = if features.says("count", "auto") {
            if features.has("pool") && sampling.has_pool() {
                features.problem("pool", "is ten times the count, which is 'auto'; remove it or set a count".into());
            }
            default
        } else {
            features.integer("pool", default as u64, fits, &requirement) as usize
        };
        Self {
            size,
            rows: features.integer(
                "pool_rows",
                DEFAULT_POOL_ROWS,
                |rows| (2..=LARGEST_POOL_ROWS).contains(&rows),
                "a whole number from 2",
            ) as usize,
            lambda: features
                .has("pool_lambda")
                .then(|| features.number("pool_lambda", 1.0, positive, "a number above 0")),
            constants: features.choice(
                "constants",
                CappedConstants::Practical,
                &[("practical", CappedConstants::Practical), ("paper", CappedConstants::Paper)],
            ),
        }
    }

    /// Adds the fields that belong to a sampling.
    pub(crate) fn write(self, sampling: Sampling, features: &mut Value) {
        if sampling.has_pool() {
            features["pool"] = json!(self.size);
            features["pool_rows"] = json!(self.rows);
        }
        if let Some(lambda) = self.lambda {
            features["pool_lambda"] = json!(lambda);
        }
        if sampling == Sampling::Capped {
            features["constants"] = json!(self.constants);
        }
    }
}

impl TrainSpec {
    /// The object `features` with every default written out.
    pub(crate) fn features_json(&self) -> Value {
        if self.is_exact() {
            return json!({"seed": self.seed});
        }
        let mut features =
            json!({"count": self.feature_count, "map": self.map, "sampling": self.sampling, "seed": self.seed});
        self.pool.write(self.open.fields_as(self.sampling), &mut features);
        if self.open.sampling {
            features["sampling"] = json!("search");
        }
        if self.open.count_by_rows {
            features["count"] = json!("by_rows");
        }
        if let (true, Some(members)) = (self.open.count, features.as_object_mut()) {
            members.insert("count".to_owned(), json!("auto"));
            members.shift_remove("pool");
        }
        features
    }
}

#[cfg(test)]
mod tests {
    use crate::training::{SpecLimits, TrainSpec};
    use serde_json::{Value, json};

    fn check(features: Value) -> Result<TrainSpec, Vec<(String, String)>> {
        let limits = SpecLimits { feature_count: 65_536 };
        let found = TrainSpec::check("", Some(&json!({"features": features})), limits);
        found.map_err(|problems| problems.into_iter().map(|problem| (problem.pointer, problem.detail)).collect())
    }

    #[test]
    fn the_default_pool_is_ten_times_the_features_and_round_trips() {
        for sampling in ["leverage", "elss1", "elss2", "eerf", "lkrf", "pooled_ridge"] {
            let spec = check(json!({"count": 200, "sampling": sampling})).unwrap();
            assert_eq!((spec.pool.size, spec.pool.rows, spec.pool.lambda), (2_000, 100_000, None));
            let limits = SpecLimits { feature_count: 65_536 };
            assert_eq!(TrainSpec::check("", Some(&spec.to_json()), limits).unwrap(), spec, "{sampling}");
        }
        assert_eq!(check(json!({"count": 4_000, "sampling": "elss1"})).unwrap().pool.size, 20_000);
        let plain = check(json!({"count": 200})).unwrap().to_json();
        assert!(plain["features"].get("pool").is_none() && plain["features"].get("constants").is_none());
        let capped = check(json!({"count": 20, "sampling": "capped", "pool_lambda": 1e-6})).unwrap().to_json();
        assert_eq!(
            (&capped["features"]["constants"], &capped["features"]["pool_lambda"]),
            (&json!("practical"), &json!(1e-6))
        );
    }

    #[test]
    fn what_does_not_fit_the_sampling_is_refused_with_the_reason() {
        for (features, pointer, part) in [
            (json!({"count": 200, "sampling": "elss1", "pool": 198}), "/features/pool", "from 200, the features"),
            (json!({"count": 200, "sampling": "elss1", "pool": 2001}), "/features/pool", "even"),
            (json!({"count": 200, "sampling": "elss1", "pool": 20_002}), "/features/pool", "to 20000"),
            (json!({"count": 20_002, "sampling": "elss1"}), "/features/sampling", "at most 20000 features"),
            (json!({"sampling": "elss1", "pool_rows": 1}), "/features/pool_rows", "from 2"),
            (json!({"sampling": "leverage", "pool_lambda": 0}), "/features/pool_lambda", "above 0"),
            (json!({"pool": 4_000}), "/features/pool", "sampling plain chooses no features from a pool"),
            (json!({"sampling": "eerf", "pool_lambda": 1.0}), "/features/pool_lambda", "no lambda of its own"),
            (json!({"sampling": "elss1", "constants": "paper"}), "/features/constants", "no constants"),
            (json!({"sampling": "elss3"}), "/features/sampling", "did you mean 'elss2'?"),
        ] {
            let problems = check(features.clone()).expect_err("must be refused");
            assert!(
                problems.iter().any(|(place, detail)| place == pointer && detail.contains(part)),
                "{features}: {problems:?}"
            );
        }
    }
}
