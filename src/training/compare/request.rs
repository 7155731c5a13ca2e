//! What is to be compared: samplings, feature counts or label counts, repetitions.

use crate::dataset::{Schema, Task};
use crate::features::Sampling;
use crate::request::problem::Problem;
use crate::training::spec::fields::Fields;
use crate::training::{LambdaRule, PoolSpec, SpecLimits, TrainSpec};
use serde_json::{Value, json};
use std::cell::RefCell;
use std::collections::BTreeSet;

/// The inputs themselves instead of features of them.
const LINEAR: &str = "linear";

/// Entries of a list, and fits of a comparison: what is more is a mistake or an attack.
const LONGEST_LIST: usize = 32;
const MOST_TRIALS: usize = 20_000;
const MOST_REPEATS: u64 = 1_000;

/// Labelled rows below which there is nothing to compare on.
const FEWEST_ROWS: u64 = 10;

/// Share of the rows for λ where the learner searches it by validation loss.
const VALIDATION_FRACTION: f64 = 0.2;

/// Fields of a training spec that a comparison takes; it decides about the others itself.
const SPEC_FIELDS: [&str; 8] =
    ["learner", "class_weight", "kernel", "features", "lambda", "scaling", "missing", "sample_weight"];

/// One way to make features.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Contender {
    /// A sampling, or `linear`.
    pub(super) name: String,
    /// Whether the inputs themselves are the features.
    pub(super) is_linear: bool,
    /// A spec for each feature count.
    pub(super) specs: Vec<TrainSpec>,
}

/// A checked comparison; only this one runs.
#[derive(Debug, Clone, PartialEq)]
pub struct CompareSpec {
    pub(super) contenders: Vec<Contender>,
    pub(super) feature_counts: Vec<usize>,
    /// Labelled rows of each class; all of them if empty.
    pub(super) labels_per_class: Vec<usize>,
    pub(super) repeats: u64,
    /// Share of the labelled rows that errors are measured on.
    pub(super) test_fraction: f64,
    /// Use at most this many labelled rows, chosen at random.
    pub(super) row_limit: Option<usize>,
    /// Of the first repetition; each has one more than the one before.
    pub(super) seed: u64,
    /// As given.
    base: Value,
}

impl CompareSpec {
    /// The fields of a request.
    pub const FIELDS: [&'static str; 7] =
        ["samplings", "features", "labels_per_class", "repeats", "test_fraction", "rows", "spec"];

    /// Checks the fields of a request, collecting every problem.
    pub fn check(raw: &Value, limits: SpecLimits) -> Result<Self, Vec<Problem>> {
        let problems = RefCell::new(Vec::new());
        let known: Vec<&str> = Self::FIELDS.into_iter().chain(["type", "dataset"]).collect();
        let fields = Fields::new("", Some(raw), &known, &problems);
        let base = raw.get("spec").cloned().unwrap_or_else(|| json!({}));
        check_base(&fields, &base);
        let names = texts(&fields, raw, "samplings", &["plain", "leverage", "pooled_ridge"]);
        let feature_counts = counts(&fields, raw, "features").unwrap_or_else(|| vec![20, 50, 100, 200]);
        let labels_per_class = counts(&fields, raw, "labels_per_class").unwrap_or_default();
        if !labels_per_class.is_empty() && feature_counts.len() != 1 {
            fields.problem("features", "must be one count if labels_per_class is given, for example [100]".into());
        }
        let repeats = |repeats: u64| (1..=MOST_REPEATS).contains(&repeats);
        let repeats = fields.integer("repeats", 20, repeats, &format!("a whole number from 1 to {MOST_REPEATS}"));
        let share = |share: f64| share > 0.0 && share < 1.0;
        let test_fraction = fields.number("test_fraction", 0.2, share, "a number above 0 and below 1");
        let row_limit = fields.has("rows").then(|| {
            let rows = fields.integer(
                "rows",
                FEWEST_ROWS,
                |rows| (FEWEST_ROWS..=1 << 40).contains(&rows),
                "a whole number from 10",
            );
            rows as usize
        });
        let sizes = feature_counts.len().max(labels_per_class.len());
        let trials = names.len().saturating_mul(sizes).saturating_mul(repeats as usize);
        if trials > MOST_TRIALS {
            fields.problem("repeats", format!("would make {trials} fits, and at most {MOST_TRIALS} are allowed"));
        }
        let contenders = if problems.borrow().is_empty() {
            contenders(&names, &feature_counts, &base, limits, &problems)
        } else {
            Vec::new()
        };
        let seed = contenders.first().and_then(|first| first.specs.first()).map_or(0, |spec| spec.seed);
        let problems = problems.into_inner();
        if !problems.is_empty() {
            return Err(problems);
        }
        Ok(Self { contenders, feature_counts, labels_per_class, repeats, test_fraction, row_limit, seed, base })
    }

    /// Every reason why this comparison cannot run on a dataset.
    pub fn check_against(&self, schema: &Schema) -> Result<(), Vec<Problem>> {
        let mut problems = Vec::new();
        let mut problem = |pointer: &str, detail: String| problems.push(Problem::new(pointer, detail));
        if schema.targets.len() != 1 {
            problem("/dataset", format!("a comparison takes one target; this dataset has {}", schema.targets.len()));
        }
        if !self.labels_per_class.is_empty() && schema.task == Task::Regression {
            let detail = "counts rows of each label, and the target holds numbers; remove it, or upload with task=classification";
            problem("/labels_per_class", detail.into());
        }
        if schema.labelled_rows() < FEWEST_ROWS {
            let rows = schema.labelled_rows();
            problem("/dataset", format!("only {rows} rows have a target; a comparison needs {FEWEST_ROWS}"));
        }
        let all = self.contenders.iter().flat_map(|contender| &contender.specs);
        let found: BTreeSet<(String, String)> = all
            .filter_map(|spec| self.with_shares(spec, schema.task).check_against(schema, "/dataset").err())
            .flatten()
            .map(|problem| (problem.pointer, problem.detail))
            .collect();
        problems.extend(found.into_iter().map(|(pointer, detail)| Problem { pointer, detail }));
        if problems.is_empty() { Ok(()) } else { Err(problems) }
    }

    /// A spec with the shares of a comparison: the calibration rows are the test rows, and validation rows are held out
    /// only where λ is searched on them.
    pub(super) fn with_shares(&self, spec: &TrainSpec, task: Task) -> TrainSpec {
        let searches = spec.learner_for(task).loss().is_some() && spec.lambda == LambdaRule::Search;
        TrainSpec {
            validation_fraction: if searches { VALIDATION_FRACTION * (1.0 - self.test_fraction) } else { 0.0 },
            calibration_fraction: Some(self.test_fraction),
            ..spec.clone()
        }
    }

    /// The fits that will be made.
    pub fn trial_count(&self) -> usize {
        let sizes = self.feature_counts.len().max(self.labels_per_class.len());
        self.contenders.len() * sizes * self.repeats as usize
    }

    /// The request with every default written out.
    pub fn to_json(&self) -> Value {
        let names: Vec<&str> = self.contenders.iter().map(|contender| contender.name.as_str()).collect();
        let mut request = json!({
            "samplings": names,
            "features": self.feature_counts,
            "repeats": self.repeats,
            "test_fraction": self.test_fraction,
            "spec": self.base,
        });
        if !self.labels_per_class.is_empty() {
            request["labels_per_class"] = json!(self.labels_per_class);
        }
        if let Some(rows) = self.row_limit {
            request["rows"] = json!(rows);
        }
        request
    }
}

/// Refuses what a comparison decides itself.
fn check_base(fields: &Fields, base: &Value) {
    let spec = fields.object("spec", &SPEC_FIELDS);
    if base.get("features").is_some_and(|features| !features.is_object()) {
        spec.problem("features", "must be an object".into());
    }
    let features = base.get("features").and_then(Value::as_object);
    for name in ["count", "sampling"].into_iter().filter(|name| features.is_some_and(|given| given.contains_key(*name)))
    {
        let own = if name == "count" { "features" } else { "samplings" };
        spec.problem("features", format!("{name} differs from trial to trial: use {own} instead"));
    }
    if base.get("learner").and_then(Value::as_str) == Some("exact_krr") {
        spec.problem("learner", "exact_krr draws no features to compare; choose another learner".into());
    }
}

/// Every sampling with its spec for every count. Problems point at the sampling or the count in the request.
fn contenders(
    names: &[String],
    feature_counts: &[usize],
    base: &Value,
    limits: SpecLimits,
    problems: &RefCell<Vec<Problem>>,
) -> Vec<Contender> {
    let mut found: Vec<Problem> = Vec::new();
    let mut contenders = Vec::new();
    for (place, name) in names.iter().enumerate() {
        let mut specs = Vec::new();
        for (at, count) in feature_counts.iter().enumerate() {
            match TrainSpec::check("/spec", Some(&trial_spec(base, name, *count)), limits) {
                Ok(spec) => specs.push(spec),
                Err(refused) => found.extend(refused.into_iter().map(|problem| match problem.pointer.as_str() {
                    "/spec/features/sampling" => Problem::new(format!("/samplings/{place}"), problem.detail),
                    "/spec/features/count" => Problem::new(format!("/features/{at}"), problem.detail),
                    _ => problem,
                })),
            }
        }
        contenders.push(Contender { name: name.clone(), is_linear: name == LINEAR, specs });
    }
    let mut problems = problems.borrow_mut();
    for problem in found {
        if !problems.contains(&problem) {
            problems.push(problem);
        }
    }
    contenders
}

/// The spec of one trial: the base with sampling and count, and without what only takes time.
fn trial_spec(base: &Value, name: &str, count: usize) -> Value {
    let mut spec = base.clone();
    if name == LINEAR {
        let seed = base["features"].get("seed").cloned().unwrap_or(json!(0));
        spec["kernel"] = json!({"name": "linear"});
        spec["features"] = json!({"count": count, "seed": seed});
    } else {
        if spec["features"].is_null() {
            spec["features"] = json!({});
        }
        remove_foreign(&mut spec["features"], name);
        spec["features"]["sampling"] = json!(name);
        spec["features"]["count"] = json!(count);
    }
    spec["effort"] = json!("fast"); // a comparison is about samplings, at what the base spec says or leaves to a rule
    spec["error_bars"] = json!(false);
    spec["guarantees"] = json!({"exact_rows": 0});
    spec
}

/// Takes away what other samplings of the comparison are to be told.
fn remove_foreign(features: &mut Value, name: &str) {
    let Some((_, sampling)) = Sampling::ALL.iter().find(|(known, _)| *known == name) else { return };
    let Some(features) = features.as_object_mut() else { return };
    for (field, belongs) in PoolSpec::fields_of(*sampling) {
        if !belongs {
            features.shift_remove(field);
        }
    }
}

/// A list of different texts.
fn texts(fields: &Fields, raw: &Value, name: &str, default: &[&str]) -> Vec<String> {
    let Some(given) = raw.get(name) else { return default.iter().map(|&text| text.to_owned()).collect() };
    let texts: Option<Vec<String>> =
        given.as_array().and_then(|list| list.iter().map(|text| text.as_str().map(str::to_owned)).collect());
    match texts {
        Some(texts) if is_list(&texts) => texts,
        _ => {
            fields.problem(name, format!("must be a list of 1 to {LONGEST_LIST} different names"));
            Vec::new()
        }
    }
}

/// A list of different whole numbers above 0, ascending; none if it is not given.
fn counts(fields: &Fields, raw: &Value, name: &str) -> Option<Vec<usize>> {
    let given = raw.get(name)?;
    let whole =
        |number: &Value| number.as_u64().filter(|count| *count > 0).and_then(|count| usize::try_from(count).ok());
    let counts: Option<Vec<usize>> = given.as_array().and_then(|list| list.iter().map(whole).collect());
    match counts {
        Some(mut counts) if is_list(&counts) => {
            counts.sort_unstable();
            Some(counts)
        }
        _ => {
            fields.problem(name, format!("must be a list of 1 to {LONGEST_LIST} different whole numbers from 1"));
            None
        }
    }
}

fn is_list<T: Ord>(list: &[T]) -> bool {
    (1..=LONGEST_LIST).contains(&list.len()) && list.iter().collect::<BTreeSet<_>>().len() == list.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: SpecLimits = SpecLimits { feature_count: 256 };

    fn pointers(raw: &Value) -> Vec<String> {
        let problems = CompareSpec::check(raw, LIMITS).expect_err("must be refused");
        problems.into_iter().map(|problem| problem.pointer).collect()
    }

    #[test]
    fn a_request_with_its_defaults_is_the_same_request() {
        let raw = json!({"samplings": ["plain", "linear"], "features": [50, 20], "spec": {"features": {"seed": 7}}});
        let spec = CompareSpec::check(&raw, LIMITS).unwrap();
        assert_eq!((spec.feature_counts.as_slice(), spec.repeats, spec.seed), (&[20, 50][..], 20, 7));
        assert_eq!(spec.trial_count(), 80);
        assert_eq!(CompareSpec::check(&spec.to_json(), LIMITS).unwrap(), spec);
        let few = json!({"samplings": ["plain"], "features": [20], "labels_per_class": [5, 10, 20], "rows": 500});
        let few = CompareSpec::check(&few, LIMITS).unwrap();
        assert_eq!(few.trial_count(), 60);
        assert_eq!(CompareSpec::check(&few.to_json(), LIMITS).unwrap(), few);
    }

    #[test]
    fn every_problem_is_told_at_its_place() {
        for (raw, pointer) in [
            (json!({"samplings": ["plain", "plane"]}), "/samplings/1"),
            (json!({"samplings": ["plain", "plain"]}), "/samplings"),
            (json!({"samplings": []}), "/samplings"),
            (json!({"samplings": "plain"}), "/samplings"),
            (json!({"samplings": ["plain"], "features": [20, 512]}), "/features/1"),
            (json!({"samplings": ["plain"], "features": [21]}), "/features/0"),
            (json!({"samplings": ["plain"], "features": [0]}), "/features"),
            (json!({"samplings": ["plain"], "features": [20, 50], "labels_per_class": [5]}), "/features"),
            (json!({"samplings": ["plain"], "repeats": 0}), "/repeats"),
            (json!({"samplings": ["plain"], "repeats": 1001}), "/repeats"),
            (json!({"samplings": ["plain"], "test_fraction": 1.0}), "/test_fraction"),
            (json!({"samplings": ["plain"], "rows": 3}), "/rows"),
            (json!({"samplings": ["plain"], "spec": {"features": {"count": 8}}}), "/spec/features"),
            (json!({"samplings": ["plain"], "spec": {"features": 3}}), "/spec/features"),
            (json!({"samplings": ["plain"], "spec": 3}), "/spec"),
            (json!({"samplings": ["plain"], "spec": {"kernel": 3}}), "/spec/kernel"),
            (json!({"samplings": ["linear"], "spec": {"features": [], "kernel": []}}), "/spec/features"),
            (json!({"samplings": ["plain"], "spec": {"learner": "exact_krr"}}), "/spec/learner"),
            (json!({"samplings": ["plain"], "spec": {"validation_fraction": 0.1}}), "/spec/validation_fraction"),
            (json!({"samplings": ["plain"], "spec": {"kernel": {"name": "laplace"}}, "smplings": 1}), "/smplings"),
            (json!({"samplings": ["orthogonal"], "spec": {"kernel": {"name": "laplace"}}}), "/samplings/0"),
        ] {
            assert!(pointers(&raw).contains(&pointer.to_owned()), "{raw}: {:?}", pointers(&raw));
        }
    }
}
