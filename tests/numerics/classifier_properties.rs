//! What must hold of every classifier: weights are repetitions, threads change nothing, degenerate data
//! ends in finite numbers.

use crate::classification::{Golden, Held, settings};
use bochner::solver::{ClassRows, ClassifierSettings, ClassifierSolution, Loss, solve_classifier};
use ndarray::{Array1, Array2, Axis};

const LOSSES: [Loss; 3] = [Loss::Logistic, Loss::SquaredHinge, Loss::Hinge];

/// n×s features in [−1, 1] that depend on nothing but their indices.
fn features(n: usize, s: usize) -> Array2<f64> {
    Array2::from_shape_fn((n, s), |(i, j)| ((i * 37 + j * 101 + i * j * 13) as f64 * 0.7).sin())
}

fn solve(
    features: &Array2<f64>,
    classes: &[usize],
    weights: &[f64],
    class_count: usize,
    settings: &ClassifierSettings,
) -> ClassifierSolution {
    let held = Held { features: features.clone(), block_rows: 50 };
    let solution = solve_classifier(&held, ClassRows { classes, weights, class_count }, settings, None).unwrap();
    assert!(solution.function.weights.iter().chain(&solution.function.intercepts).all(|value| value.is_finite()));
    assert!(solution.evidence.objectives.iter().all(|value| value.is_finite() && *value >= 0.0));
    assert!(solution.evidence.gradient_norm.is_finite());
    solution
}

/// The slow, obvious objective of class against rest, or of softmax, summed over the problems.
fn objective(
    loss: Loss,
    ridge: f64,
    features: &Array2<f64>,
    classes: &[usize],
    weights: &[f64],
    w: &Array2<f64>,
    b: &Array1<f64>,
) -> f64 {
    let decisions = features.dot(w) + b;
    let k = w.ncols();
    let mut total = 0.0;
    for ((row, &class), &weight) in decisions.rows().into_iter().zip(classes).zip(weights) {
        if loss == Loss::Logistic && k > 1 {
            total += weight * (row.iter().map(|z| z.exp()).sum::<f64>().ln() - row[class]);
            continue;
        }
        for (j, z) in row.iter().enumerate() {
            let positive = if k == 1 { class == 1 } else { class == j };
            let margin = if positive { *z } else { -z };
            total += weight
                * match loss {
                    Loss::Logistic => (1.0 + (-margin).exp()).ln(),
                    Loss::Hinge => (1.0 - margin).max(0.0),
                    Loss::SquaredHinge => (1.0 - margin).max(0.0).powi(2),
                };
        }
    }
    total / weights.iter().sum::<f64>() + ridge * w.iter().map(|value| value * value).sum::<f64>()
}

/// At the solution the slow objective is what is reported, and its finite differences vanish.
#[test]
fn the_gradient_vanishes_by_finite_differences() {
    let (n, s, ridge) = (120, 6, 0.01);
    let psi = features(n, s);
    let weights: Vec<f64> = (0..n).map(|i| 0.5 + (i % 4) as f64).collect();
    for loss in [Loss::Logistic, Loss::SquaredHinge] {
        for class_count in [2, 4] {
            let classes: Vec<usize> = (0..n).map(|i| (i * i + i / 3) % class_count).collect();
            let solution = solve(&psi, &classes, &weights, class_count, &settings(loss, ridge, 1e-12));
            let (w, b) = (solution.function.weights, solution.function.intercepts);
            let at = |w: &Array2<f64>, b: &Array1<f64>| objective(loss, ridge, &psi, &classes, &weights, w, b);
            let reported: f64 = solution.evidence.objectives.iter().sum();
            assert!((at(&w, &b) - reported).abs() < 1e-12);
            let step = 1e-5;
            for j in 0..w.ncols() {
                for i in 0..=s {
                    let moved = |by: f64| {
                        let (mut w, mut b) = (w.clone(), b.clone());
                        if i < s {
                            w[[i, j]] += by;
                        } else {
                            b[j] += by;
                        }
                        at(&w, &b)
                    };
                    let slope = (moved(step) - moved(-step)) / (2.0 * step);
                    assert!(slope.abs() < 1e-6, "{loss:?} {class_count}: {slope:e}");
                }
            }
        }
    }
}

#[test]
fn integer_weights_are_repeated_rows() {
    let (n, s) = (90, 5);
    let psi = features(n, s);
    let repeats: Vec<usize> = (0..n).map(|i| i % 4).collect(); // zero among them
    let repeated: Vec<usize> = (0..n).flat_map(|i| std::iter::repeat_n(i, repeats[i])).collect();
    let weights: Vec<f64> = repeats.iter().map(|count| *count as f64).collect();
    for loss in LOSSES {
        for class_count in [2, 3] {
            let classes: Vec<usize> = (0..n).map(|i| (i / 2) % class_count).collect();
            let many: Vec<usize> = repeated.iter().map(|i| classes[*i]).collect();
            let settings = settings(loss, 0.01, 1e-9);
            let weighted = solve(&psi, &classes, &weights, class_count, &settings);
            let ones = vec![1.0; repeated.len()];
            let repeated = solve(&psi.select(Axis(0), &repeated), &many, &ones, class_count, &settings);
            for (a, b) in weighted.evidence.objectives.iter().zip(&repeated.evidence.objectives) {
                assert!((a - b).abs() < 1e-8, "{loss:?}: {a} {b}");
            }
            let difference = &weighted.function.weights - &repeated.function.weights;
            assert!(difference.iter().all(|value| value.abs() < 1e-3), "{loss:?}: {difference}");
        }
    }
}

#[test]
fn any_number_of_threads_gives_the_same_bits() {
    for (set, loss) in [("breast_cancer", Loss::Logistic), ("breast_cancer", Loss::Hinge), ("wine", Loss::Logistic)] {
        let golden = Golden::<f32>::load(set);
        let on = |threads: usize| golden.solve(&ClassifierSettings { threads, ..settings(loss, 1e-4, 1e-5) });
        let (one, two, five) = (on(1), on(2), on(5));
        assert!(one.function.weights == two.function.weights && one.function.weights == five.function.weights);
        assert!(one.function.intercepts == two.function.intercepts && one.evidence == two.evidence);
    }
}

/// A limit on the passes is kept, and the answer says that it is unfinished.
#[test]
fn an_unfinished_solve_says_so() {
    let golden = Golden::<f64>::load("breast_cancer");
    for loss in LOSSES {
        let solution = golden.solve(&ClassifierSettings { pass_limit: 4, ..settings(loss, 1e-6, 1e-10) });
        assert!(!solution.evidence.converged);
        assert!(solution.evidence.passes <= 8, "{:?}", solution.evidence);
        assert!(solution.function.weights.iter().all(|weight| weight.is_finite()));
    }
}

#[test]
fn separable_data_with_a_vanishing_ridge() {
    let n = 80;
    let psi = features(n, 10);
    let classes: Vec<usize> = psi.column(0).iter().map(|value| usize::from(*value > 0.1)).collect();
    for loss in LOSSES {
        let solution = solve(&psi, &classes, &vec![1.0; n], 2, &settings(loss, 1e-10, 1e-4));
        let decisions = psi.dot(&solution.function.weights) + &solution.function.intercepts;
        let right = decisions.iter().zip(&classes).filter(|(value, class)| (**value > 0.0) == (**class == 1)).count();
        assert_eq!(right, n, "{loss:?} {:?}", solution.evidence);
    }
}

#[test]
fn a_class_of_one_row_a_class_of_none_and_a_single_class() {
    let n = 60;
    let psi = features(n, 4);
    let mut classes: Vec<usize> = (0..n).map(|i| i % 2).collect();
    classes[7] = 2;
    for loss in LOSSES {
        for class_count in [3, 4] {
            let solution = solve(&psi, &classes, &vec![1.0; n], class_count, &settings(loss, 0.01, 1e-4));
            assert!(solution.evidence.converged, "{loss:?} {class_count}: {:?}", solution.evidence);
        }
        let alone = solve(&psi, &vec![1; n], &vec![1.0; n], 2, &settings(loss, 0.01, 1e-6));
        assert!(alone.evidence.objectives[0] < 1e-3, "{loss:?} {:?}", alone.evidence);
    }
}

#[test]
fn fifty_classes() {
    let n = 500;
    let psi = features(n, 20);
    let classes: Vec<usize> = (0..n).map(|i| (i * 7 + i / 50) % 50).collect();
    for loss in LOSSES {
        let solution = solve(&psi, &classes, &vec![1.0; n], 50, &settings(loss, 1e-3, 1e-5));
        assert!(solution.evidence.converged, "{loss:?} {:?}", solution.evidence);
        assert_eq!(solution.function.weights.dim(), (20, 50));
    }
}
