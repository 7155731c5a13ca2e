//! Classifiers against the golden optima.

use crate::golden::{assert_close, data, feature_map, indices, load, matrix, number, vector};
use bochner::features::Wave;
use bochner::linalg::Real;
use bochner::solver::{
    Certificate, ClassRows, ClassifierSettings, ClassifierSolution, ClassifierWeights, FeatureBlocks, Loss,
    solve_classifier,
};
use ndarray::{Array2, ArrayView2, s};
use serde_json::Value;
use std::convert::Infallible;
use std::ops::Range;

/// Features held in memory, cut into blocks.
pub(crate) struct Held<T> {
    pub(crate) features: Array2<T>,
    pub(crate) block_rows: usize,
}

impl<T: Real> FeatureBlocks<T> for Held<T> {
    type Error = Infallible;

    fn block_count(&self) -> usize {
        self.features.nrows().div_ceil(self.block_rows)
    }

    fn feature_count(&self) -> usize {
        self.features.ncols()
    }

    fn rows(&self, block: usize) -> Range<usize> {
        block * self.block_rows..((block + 1) * self.block_rows).min(self.features.nrows())
    }

    fn visit(&self, block: usize, visit: &mut dyn FnMut(ArrayView2<T>)) -> Result<(), Infallible> {
        visit(self.features.slice(s![self.rows(block), ..]));
        Ok(())
    }
}

pub(crate) fn settings(loss: Loss, ridge: f64, tolerance: f64) -> ClassifierSettings {
    ClassifierSettings { loss, ridge, tolerance, pass_limit: 3000, preconditioner_rows: None, threads: 2 }
}

/// A golden set in one precision: features and class indices.
pub(crate) struct Golden<T> {
    pub(crate) held: Held<T>,
    pub(crate) classes: Vec<usize>,
    pub(crate) class_count: usize,
    pub(crate) file: Value,
}

impl<T: Wave> Golden<T> {
    pub(crate) fn load(set: &str) -> Self {
        let file = load(&format!("classification_{set}.json"));
        let (inputs, targets) = data(set);
        let features = feature_map(&file).projector::<T>().transform(inputs.view());
        // Binary targets are ±1, class indices otherwise.
        let classes: Vec<usize> = targets.iter().map(|target| target.max(0.0) as usize).collect();
        let class_count = classes.iter().max().unwrap() + 1;
        Self { held: Held { features, block_rows: 64 }, classes, class_count, file }
    }

    pub(crate) fn cases(&self, loss: &str) -> Vec<Value> {
        let cases = self.file["cases"].as_array().unwrap().iter();
        let found: Vec<Value> = cases.filter(|case| case["loss"] == loss).cloned().collect();
        assert_eq!(found.len(), 3, "three λ for {loss}");
        found
    }

    pub(crate) fn solve(&self, settings: &ClassifierSettings) -> ClassifierSolution {
        self.solve_from(settings, None)
    }

    pub(crate) fn solve_from(
        &self,
        settings: &ClassifierSettings,
        start: Option<&ClassifierWeights>,
    ) -> ClassifierSolution {
        let weights = vec![1.0; self.classes.len()];
        let rows = ClassRows { classes: &self.classes, weights: &weights, class_count: self.class_count };
        solve_classifier(&self.held, rows, settings, start).unwrap()
    }

    /// f(x) at the golden rows, rows×k.
    fn decisions(&self, solution: &ClassifierSolution) -> Array2<f64> {
        let features = self.held.features.mapv(T::to_f64);
        let all = features.dot(&solution.function.weights) + &solution.function.intercepts;
        all.select(ndarray::Axis(0), &indices(&self.file["rows"]))
    }
}

fn ridge(case: &Value) -> f64 {
    number(&case["lam"])
}

/// Within 1e-8 absolutely and relatively.
fn assert_optimal(found: f64, case: &Value, what: &str) {
    let expected = number(&case["objective"]);
    assert_close(found, expected, 1e-8 * expected.min(1.0), what);
}

#[test]
fn logistic_and_squared_hinge_reach_the_golden_optima() {
    let golden = Golden::<f64>::load("breast_cancer");
    for (name, loss) in [("logistic", Loss::Logistic), ("squared_hinge", Loss::SquaredHinge)] {
        for case in golden.cases(name) {
            let solution = golden.solve(&settings(loss, ridge(&case), 1e-11));
            assert!(solution.evidence.converged, "{name}: {:?}", solution.evidence);
            assert_optimal(solution.evidence.objectives[0], &case, name);
            let decisions = golden.decisions(&solution);
            for (found, expected) in decisions.column(0).iter().zip(&vector(&case["decision"])) {
                assert_close(*found, *expected, 1e-4, name);
            }
        }
    }
}

#[test]
fn softmax_reaches_the_golden_optima() {
    let golden = Golden::<f64>::load("wine");
    for case in golden.cases("multinomial") {
        let solution = golden.solve(&settings(Loss::Logistic, ridge(&case), 1e-11));
        assert!(solution.evidence.converged, "{:?}", solution.evidence);
        assert_eq!(solution.evidence.objectives.len(), 1);
        assert_optimal(solution.evidence.objectives[0], &case, "multinomial");
        assert!(solution.function.intercepts.sum().abs() < 1e-12);
        for (found, expected) in solution.function.intercepts.iter().zip(&vector(&case["bias"])) {
            assert_close(*found, *expected, 1e-4, "intercept");
        }
        for (found, expected) in golden.decisions(&solution).iter().zip(&matrix(&case["logits"])) {
            assert_close(*found, *expected, 1e-4, "logit");
        }
    }
}

/// The gap is at most 1e-6 when asked for, and the decision values are right when more is asked for.
#[test]
fn hinge_closes_the_duality_gap() {
    let golden = Golden::<f64>::load("breast_cancer");
    for case in golden.cases("hinge") {
        for tolerance in [1e-6, 1e-8] {
            let solution = golden.solve(&settings(Loss::Hinge, ridge(&case), tolerance));
            assert!(solution.evidence.converged, "{:?}", solution.evidence);
            let Certificate::DualityGap(gap) = solution.evidence.certificate else { panic!("a gap proves it") };
            let excess = solution.evidence.objectives[0] - number(&case["objective"]);
            assert!(gap <= 1e-6 && (-1e-10..=gap + 1e-10).contains(&excess), "gap {gap:e}, excess {excess:e}");
            if tolerance < 1e-6 {
                for (found, expected) in golden.decisions(&solution).column(0).iter().zip(&vector(&case["decision"])) {
                    assert_close(*found, *expected, 1e-4, "hinge");
                }
            }
        }
    }
}

#[test]
fn hinge_one_versus_rest_closes_every_gap() {
    let golden = Golden::<f64>::load("wine");
    for case in golden.cases("hinge_one_vs_rest") {
        let solution = golden.solve(&settings(Loss::Hinge, ridge(&case), 1e-9));
        assert!(solution.evidence.converged, "{:?}", solution.evidence);
        let Certificate::DualityGap(gap) = solution.evidence.certificate else { panic!("a gap is proved") };
        let decisions = golden.decisions(&solution);
        for (class, expected) in case["classes"].as_array().unwrap().iter().enumerate() {
            let (objective, optimum) = (solution.evidence.objectives[class], number(&expected["objective"]));
            assert_close(objective, optimum, 1e-8, "objective");
            assert!(objective - optimum <= gap + 1e-14, "{objective} is further from {optimum} than {gap:e}");
            for (found, expected) in decisions.column(class).iter().zip(&vector(&expected["decision"])) {
                assert_close(*found, *expected, 1e-4, "decision");
            }
        }
    }
}

/// A gap is a proof in f32 too, where rounding leaves the dual point furthest from feasible: for loose tolerances, and
/// for those that cannot be reached. Rounded features have an optimum of their own, less than 5e-8 away.
#[test]
fn no_objective_in_single_precision_is_further_from_the_optimum_than_its_gap() {
    for (set, name) in [("breast_cancer", "hinge"), ("wine", "hinge_one_vs_rest")] {
        let golden = Golden::<f32>::load(set);
        for case in golden.cases(name) {
            let optima: Vec<f64> = match case["classes"].as_array() {
                Some(classes) => classes.iter().map(|class| number(&class["objective"])).collect(),
                None => vec![number(&case["objective"])],
            };
            for tolerance in [1e-3, 5e-5, 1e-6, 1e-8] {
                let evidence = golden.solve(&settings(Loss::Hinge, ridge(&case), tolerance)).evidence;
                let Certificate::DualityGap(gap) = evidence.certificate else { panic!("a gap is proved") };
                for (objective, optimum) in evidence.objectives.iter().zip(&optima) {
                    assert!(objective - optimum <= gap + 5e-8, "{name}, {tolerance:e}: {optimum}, {evidence:?}");
                }
            }
        }
    }
}

/// In f32 the objective is the same to 1e-5.
#[test]
fn single_precision_reaches_the_same_objective() {
    for (set, name, loss) in [
        ("breast_cancer", "logistic", Loss::Logistic),
        ("breast_cancer", "squared_hinge", Loss::SquaredHinge),
        ("breast_cancer", "hinge", Loss::Hinge),
        ("wine", "multinomial", Loss::Logistic),
    ] {
        let golden = Golden::<f32>::load(set);
        for case in golden.cases(name) {
            let tolerance = if loss == Loss::Hinge { 5e-5 } else { 1e-6 };
            let solution = golden.solve(&settings(loss, ridge(&case), tolerance));
            assert!(solution.evidence.converged, "{name}: {:?}", solution.evidence);
            assert_close(solution.evidence.objectives[0], number(&case["objective"]), 1e-5, name);
        }
    }
}

/// A start at the solution of a larger λ changes the way, not the end.
#[test]
fn a_warm_start_ends_at_the_same_optimum_in_fewer_passes() {
    let golden = Golden::<f64>::load("breast_cancer");
    let (wide, narrow) = (settings(Loss::Logistic, 1.2e-3, 1e-10), settings(Loss::Logistic, 1e-3, 1e-10));
    let start = golden.solve(&wide).function;
    let (cold, warm) = (golden.solve(&narrow), golden.solve_from(&narrow, Some(&start)));
    assert_close(warm.evidence.objectives[0], cold.evidence.objectives[0], 1e-9, "objective");
    assert!(warm.evidence.passes < cold.evidence.passes, "{:?} {:?}", warm.evidence, cold.evidence);
}
