//! The number of features that a goal requires, theorem by theorem, before anything is trained.
//!
//! Only the mean square of the targets is known, so Theorem 1 is used with its worst Q (Remark 1).

/// The number of features by each theorem.
mod choices;

/// The number of features for an error.
mod errors;

/// The number of features that is not enough.
mod lower_bounds;

pub use lower_bounds::{LowerBound, lower_bounds};

use super::Form;
use super::papers::rudi_rosasco::{Regularity, WORST_CASE, rate, worst_case_rate};
use choices::PlannedSampling;
use errors::{Constant, absolute_constant, relative_constant};
use serde::Serialize;

/// The model to plan: its rows, kernel and λ.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PlanProblem {
    /// n, the training rows.
    pub sample_count: usize,
    /// d, the inputs after encoding.
    pub input_dim: usize,
    /// b = sup ψ².
    pub feature_bound: f64,
    /// k(x, x), an upper bound on the eigenvalues of K/n.
    pub kernel_diagonal: f64,
    /// s/m: 2 for the pair map, 1 for the others.
    pub columns_per_draw: usize,
    /// How λ will be chosen.
    pub ridge: PlannedRidge,
    /// δ, the probability that a guarantee may fail with.
    pub failure_probability: f64,
    /// (1/n)Σy² of the centred targets.
    pub target_mean_square: f64,
    /// d(λ), if it is known.
    pub effective_dimension: Option<f64>,
    /// Whether the kernel is the gaussian, of which alone a lower bound is known.
    pub gaussian: bool,
}

/// How λ will be chosen.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum PlannedRidge {
    /// A given value.
    Fixed(f64),
    /// 1/√n.
    InverseSqrtN,
    /// The smallest that a bound certifies for the planned number of features.
    Certified,
}

/// The goal of a plan.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Target {
    /// E(f_s − f)² at most this.
    Error(f64),
    /// Δ at most this.
    SpectralDelta(f64),
    /// The learning rate of the exact method, under these assumptions.
    Rate(Regularity),
}

/// The number of features that one theorem requires for a goal.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Choice {
    /// The id of the guarantee that uses the same theorem.
    pub id: &'static str,
    /// `Requirement`, or `Rate` if the paper leaves a constant open.
    pub form: Form,
    /// s; none if no number of features is enough.
    pub feature_count: Option<u64>,
    /// The λ at which the count holds.
    pub ridge: f64,
    /// The cost of training and serving that many features.
    pub cost: Option<Cost>,
    /// The count and what it guarantees, for a reader who is not a specialist.
    pub statement: String,
}

/// The cost of a number of features.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Cost {
    /// Gram matrix, frequencies and weights during training.
    pub memory_bytes: f64,
    /// To make the features of all rows, their Gram matrix and its Cholesky factor.
    pub training_flops: f64,
    /// To predict one row.
    pub prediction_flops: f64,
}

/// The theorems that bound E(f_s − f)².
const ERROR_THEOREMS: [(&str, Constant); 2] =
    [("wang.remark1", absolute_constant), ("bochner.theorem1_relative", relative_constant)];

const F64_BYTES: f64 = 8.0;

impl Cost {
    /// 2nmd + ns² + s³/3 to train and 2md + 2s to predict, for s features by m draws in d dimensions on n rows.
    fn of(problem: &PlanProblem, feature_count: f64) -> Self {
        let (n, d, s) = (problem.sample_count as f64, problem.input_dim as f64, feature_count);
        let m = s / problem.columns_per_draw as f64;
        Self {
            memory_bytes: F64_BYTES * (s * s + m * d + s),
            training_flops: 2.0 * n * m * d + n * s * s + s * s * s / 3.0,
            prediction_flops: 2.0 * m * d + 2.0 * s,
        }
    }
}

/// The features that each theorem needs for an error, without words, costs and remedies: what a curve is drawn from.
pub fn counts_for_error(problem: &PlanProblem, error: f64) -> Vec<(&'static str, Option<u64>)> {
    ERROR_THEOREMS.iter().map(|&(id, constant)| (id, problem.count_for_error(error, constant))).collect()
}

/// One choice for each theorem that covers the goal.
pub fn plan(problem: &PlanProblem, target: Target) -> Vec<Choice> {
    match target {
        Target::Error(error) => {
            ERROR_THEOREMS.iter().map(|&(id, constant)| problem.for_error(id, error, constant)).collect()
        }
        Target::SpectralDelta(delta) => vec![
            problem.for_delta("avron.theorem7", delta, PlannedSampling::Plain),
            problem.for_delta("avron.lemma6", delta, PlannedSampling::Leverage),
        ],
        Target::Rate(regularity) => {
            let PlanProblem { feature_bound: b, sample_count: n, failure_probability: delta, .. } = *problem;
            let without_leverage = Regularity { leverage: 1.0, ..regularity };
            vec![
                problem.for_rate("rudi_rosasco.theorem1", worst_case_rate(b, n, delta), WORST_CASE),
                problem.for_rate("rudi_rosasco.theorem2", rate(without_leverage, b, n, delta), without_leverage),
                problem.for_rate("rudi_rosasco.theorem3", rate(regularity, b, n, delta), regularity),
                problem.for_classifier("li.corollary1", PlannedSampling::Plain),
                problem.for_classifier("li.corollary2", PlannedSampling::Leverage),
            ]
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::theory::papers::{avron, wang};

    const PROBLEM: PlanProblem = PlanProblem {
        sample_count: 16_000,
        input_dim: 8,
        feature_bound: 1.0,
        kernel_diagonal: 1.0,
        columns_per_draw: 2,
        ridge: PlannedRidge::Fixed(0.1),
        failure_probability: 0.05,
        target_mean_square: 1.0,
        effective_dimension: Some(20.0),
        gaussian: true,
    };

    /// Remark 1: (1/(m·0.1))·1 ≤ 0.01 at m = 1000 draws, 2000 columns.
    #[test]
    fn remark_1_by_hand() {
        let choice = &plan(&PROBLEM, Target::Error(0.01))[0];
        assert_eq!((choice.id, choice.feature_count), ("wang.remark1", Some(2_000)));
        let cost = choice.cost.unwrap();
        assert_eq!(cost.memory_bytes, 8.0 * (4_000_000.0 + 8_000.0 + 2_000.0));
        assert_eq!(cost.prediction_flops, 20_000.0);
        assert!((cost.training_flops - (256e6 + 64e9 + 8e9 / 3.0)).abs() < 1.0);
    }

    /// The planned count meets the error, and one draw fewer does not.
    #[test]
    fn the_relative_count_is_the_smallest() {
        let certified = PlanProblem { ridge: PlannedRidge::Certified, ..PROBLEM };
        for problem in [PROBLEM, certified] {
            let choice = &plan(&problem, Target::Error(0.05))[1];
            let bound = |columns: u64| {
                let ridge = problem.ridge(columns as usize);
                let c = relative_constant(&problem, columns as usize, ridge).unwrap();
                c / (columns / 2) as f64 * wang::worst_quadratic_form(1.0, ridge)
            };
            let columns = choice.feature_count.unwrap();
            assert!(bound(columns) <= 0.05 && bound(columns - 2) > 0.05, "{columns}");
        }
    }

    /// With a certified λ the count is enough at its own λ, and one draw fewer at its own λ is not.
    #[test]
    fn a_certified_ridge_is_that_of_the_planned_count() {
        let certified = PlanProblem { ridge: PlannedRidge::Certified, effective_dimension: None, ..PROBLEM };
        let choice = &plan(&certified, Target::SpectralDelta(0.5))[0];
        let columns = choice.feature_count.unwrap() as usize;
        assert_eq!(choice.ridge, certified.ridge(columns));
        let need = |columns: usize| {
            let ridge = certified.ridge(columns);
            let draws = avron::draws_for_delta(1.0 / ridge, 16_000_f64.min(1.0 / ridge), 0.5, 0.05);
            2 * draws.ceil() as usize
        };
        assert!(need(columns) <= columns && need(columns - 2) > columns - 2, "{columns}");
        let classifier = &plan(&certified, Target::Rate(WORST_CASE))[3];
        assert_eq!(classifier.ridge, certified.ridge(classifier.feature_count.unwrap() as usize));
    }

    #[test]
    fn every_statement_has_its_probability_and_its_assumptions() {
        for target in [Target::Error(0.05), Target::SpectralDelta(0.25), Target::Rate(WORST_CASE)] {
            for choice in plan(&PROBLEM, target) {
                assert!(choice.statement.contains("probability at least 95%"), "{}", choice.statement);
                assert!(choice.statement.contains(" if "), "{}", choice.statement);
            }
        }
    }

    #[test]
    fn a_small_ridge_is_refused_with_one_that_is_large_enough() {
        let small = PlanProblem { ridge: PlannedRidge::Fixed(1e-6), ..PROBLEM };
        for choice in plan(&small, Target::Error(0.05)) {
            assert_eq!((choice.feature_count, choice.cost), (None, None));
            assert!(choice.statement.contains("use lambda ≥ "), "{}", choice.statement);
        }
        // The relative bound reaches where Theorem 1 does not.
        let between = plan(&PlanProblem { ridge: PlannedRidge::Fixed(0.01), ..PROBLEM }, Target::Error(0.1));
        assert_eq!(between[0].feature_count, None);
        assert!(between[1].feature_count.is_some());
    }

    /// The λ in a refusal is enough, and one slightly smaller is not.
    #[test]
    fn the_ridge_in_a_refusal_reaches_the_error() {
        let concrete = PlanProblem { sample_count: 824, target_mean_square: 279.0, ..PROBLEM };
        let few = PlanProblem { sample_count: 20, input_dim: 3, ..PROBLEM };
        let mut named_any = 0;
        for (problem, error) in [
            (PlanProblem { ridge: PlannedRidge::Fixed(0.05), ..concrete }, 30.0),
            (PlanProblem { ridge: PlannedRidge::Fixed(1e-6), ..concrete }, 30.0),
            (PlanProblem { ridge: PlannedRidge::Certified, ..few }, 0.1),
            (PlanProblem { ridge: PlannedRidge::Fixed(0.01), ..few }, 0.1),
            (PlanProblem { ridge: PlannedRidge::Fixed(0.01), sample_count: 2, ..PROBLEM }, 0.1),
        ] {
            for (index, choice) in plan(&problem, Target::Error(error)).iter().enumerate() {
                let Some(named) = choice.statement.split("use lambda ≥ ").nth(1) else { continue };
                let named: f64 = named.strip_suffix('.').and_then(|number| number.parse().ok()).unwrap();
                let at = |ridge| {
                    let fixed = PlanProblem { ridge: PlannedRidge::Fixed(ridge), ..problem };
                    plan(&fixed, Target::Error(error)).swap_remove(index)
                };
                assert!(at(named).feature_count.is_some(), "{} {}", choice.statement, at(named).statement);
                assert_eq!(at(0.998 * named).feature_count, None, "{}", choice.statement);
                named_any += 1;
            }
        }
        assert!(named_any >= 6, "{named_any}");
    }

    /// With few rows the certified λ is too small for Theorem 1 at few features and large enough at many.
    #[test]
    fn a_certified_ridge_may_be_enough_only_with_more_features() {
        let few = PlanProblem { sample_count: 20, ridge: PlannedRidge::Certified, ..PROBLEM };
        let choice = &plan(&few, Target::Error(0.1))[0];
        let columns = choice.feature_count.unwrap() as usize;
        assert!(choice.ridge >= wang::threshold(1.0, 20, columns, 0.05), "{}", choice.statement);
        assert!(wang::remark1_bound(1.0, columns / 2, 1.0, choice.ridge) <= 0.1);
    }

    #[test]
    fn counts_that_are_too_large_are_refused_without_a_cost() {
        let huge = PlanProblem {
            sample_count: 1 << 40,
            input_dim: 1 << 40,
            ridge: PlannedRidge::Fixed(1e-300),
            effective_dimension: None,
            ..PROBLEM
        };
        let above = PlanProblem { ridge: PlannedRidge::Fixed(1e6), ..PROBLEM };
        for (problem, target, part) in [
            (huge, Target::SpectralDelta(1e-300), "would be required"),
            (
                PlanProblem { ridge: PlannedRidge::Certified, ..huge },
                Target::SpectralDelta(1e-300),
                "would be required",
            ),
            (
                PlanProblem { ridge: PlannedRidge::Certified, ..PROBLEM },
                Target::SpectralDelta(1e-9),
                "would be required",
            ),
            (above, Target::SpectralDelta(0.5), "the upper bound on the eigenvalues of K/n"),
        ] {
            let choice = &plan(&problem, target)[0];
            assert_eq!((choice.feature_count, choice.cost), (None, None));
            assert!(choice.statement.contains(part), "{}", choice.statement);
        }
        for choice in &plan(&above, Target::Rate(WORST_CASE))[3..] {
            assert_eq!(choice.feature_count, None, "{}", choice.statement);
        }
    }

    #[test]
    fn spectral_targets_and_rates_name_their_theorems() {
        let ids = |target| plan(&PROBLEM, target).iter().map(|choice| choice.id).collect::<Vec<_>>();
        assert_eq!(ids(Target::SpectralDelta(0.5)), ["avron.theorem7", "avron.lemma6"]);
        assert_eq!(ids(Target::Rate(WORST_CASE)).len(), 5);
        let [plain, leverage] = &plan(&PROBLEM, Target::SpectralDelta(0.25))[..] else { panic!() };
        assert!(plain.feature_count.unwrap() < plan(&PROBLEM, Target::SpectralDelta(0.1))[0].feature_count.unwrap());
        assert_eq!(leverage.feature_count.map(|count| count % 2), Some(0));
        assert_eq!(plan(&PROBLEM, Target::SpectralDelta(0.6))[0].feature_count, None);
        for choice in plan(&PROBLEM, Target::Rate(WORST_CASE)) {
            assert_eq!(choice.form == Form::Rate, choice.id.starts_with("rudi_rosasco"));
        }
    }
}
