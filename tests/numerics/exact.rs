//! Exact kernel ridge regression against the golden solutions.

use crate::golden::{assert_close, data, feature_map, kernel, load, map_kind, number, vector};
use bochner::features::{FeatureMap, Kernel, MapKind, Precision, Sampling};
use bochner::linalg::Cholesky;
use bochner::solver::{ExactKrr, ExactProblem, FeatureSource, Preconditioner, SolveError, spectral_delta};
use bochner::theory::papers::avron::Preconditioning;
use ndarray::{Array1, Array2, ArrayView2, Axis};
use serde_json::Value;

/// A problem without features, solved densely where that is possible.
pub(crate) fn problem<'a>(
    kernel: Kernel,
    inputs: ArrayView2<'a, f64>,
    targets: ArrayView2<'a, f64>,
    ridge: f64,
) -> ExactProblem<'a> {
    ExactProblem {
        kernel,
        inputs,
        targets,
        ridge,
        tolerance: 1e-8,
        features: None,
        precision: Precision::Mixed,
        preconditioner: None,
        memory: 1 << 28,
        threads: 2,
        progress: None,
    }
}

fn solve(problem: &ExactProblem) -> ExactKrr {
    problem.solve(None, &|| true).unwrap()
}

#[test]
fn the_exact_solution_is_the_golden_one() {
    for set in ["diabetes", "syn1d", "syn3d"] {
        let (inputs, targets) = data(set);
        let file = load(&format!("guarantees_{set}.json"));
        for golden_kernel in file["kernels"].as_array().unwrap() {
            let exact_kernel = kernel(golden_kernel);
            for case in golden_kernel["lambdas"].as_array().unwrap() {
                let column = targets.view().insert_axis(Axis(1));
                let exact = solve(&problem(exact_kernel, inputs.view(), column, number(&case["lam"])));
                assert!(exact.evidence.relative_residual < 1e-12);
                assert_close(exact.quadratic_form / number(&case["Q"]), 1.0, 1e-8, "Q");
                assert_close(exact.fitted_square / number(&case["Kalpha_norm2"]), 1.0, 1e-8, "|K alpha|^2");
                for (found, expected) in exact.coefficients.iter().zip(&vector(&case["alpha_first5"])) {
                    assert_close(*found, *expected, 1e-9, "alpha");
                }
                // f = Kα on the training rows, and Q = αᵀ(y − nλα).
                let fitted = exact.predict(inputs.view());
                assert_close((&fitted * &exact.coefficients).sum(), exact.quadratic_form, 1e-9, "alpha' K alpha");
            }
        }
    }
}

/// Iterations with the features of paper A as the preconditioner, and with none: the golden counts.
#[test]
fn conjugate_gradients_take_the_golden_number_of_iterations() {
    for set in ["diabetes", "syn3d"] {
        let (inputs, targets) = data(set);
        let column = targets.view().insert_axis(Axis(1));
        let file = load(&format!("pcg_{set}.json"));
        for case in file["explicit"].as_array().unwrap() {
            let map = feature_map(case);
            let make = |inputs: ArrayView2<f64>| map.projector::<f32>().transform(inputs);
            let features = FeatureSource { count: map.feature_count(), make: &make };
            let found = solve(&ExactProblem {
                features: Some(&features),
                precision: Precision::Double,
                preconditioner: Some(Preconditioner::Features),
                ..problem(kernel(case), inputs.view(), column, number(&case["lam"]))
            });
            let expected = number(&case["iterations"]);
            assert!(
                (found.evidence.iterations as f64 - expected).abs() <= 2.0,
                "{set} {:?} {expected}",
                found.evidence
            );
            assert!(found.evidence.converged);
        }
        let plain = |case: &&Value| case["s"] == 0;
        for case in file["statistical"].as_array().unwrap().iter().filter(plain) {
            let found = solve(&ExactProblem {
                precision: Precision::Double,
                preconditioner: Some(Preconditioner::None),
                ..problem(kernel(case), inputs.view(), column, number(&case["lam"]))
            });
            let expected = number(&case["iterations_mean"]);
            assert!(
                (found.evidence.iterations as f64 - expected).abs() <= 2.0,
                "{set} {:?} {expected}",
                found.evidence
            );
        }
    }
}

/// Iterations over random features and how near these come to the kernel, as the golden means of many draws say, for
/// the paper's ridge and for the damped one.
#[test]
fn random_features_precondition_as_well_as_the_golden_means_say() {
    let (mut seen, mut capped) = (0, 0);
    // Distances have long tails, so that there are more draws of them than of iterations.
    for (set, draws, distances) in [("syn3d", 6, 40), ("diabetes", 3, 12)] {
        let (inputs, targets) = data(set);
        let column = targets.view().insert_axis(Axis(1));
        let file = load(&format!("pcg_{set}.json"));
        for case in file["statistical"].as_array().unwrap().iter().filter(|case| case["s"] != 0) {
            let s = case["s"].as_u64().unwrap() as usize;
            let map =
                |seed: u64| FeatureMap::sample(kernel(case), map_kind(case), Sampling::Plain, seed, s, inputs.ncols());
            let solved = |seed: u64, kind: Preconditioner| {
                let make = |inputs: ArrayView2<f64>| map(seed).projector::<f32>().transform(inputs);
                let features = FeatureSource { count: s, make: &make };
                let found = solve(&ExactProblem {
                    features: Some(&features),
                    precision: Precision::Double,
                    preconditioner: Some(kind),
                    ..problem(kernel(case), inputs.view(), column, number(&case["lam"]))
                });
                found.evidence
            };
            for (kind, field) in [
                (Preconditioner::Features, "iterations_mean"),
                (Preconditioner::DampedFeatures, "iterations_mean_theta_plus_0p3_n_over_s"),
            ] {
                if number(&case[field]) > 1_000.0 {
                    // More than a solve may take: it stops there and says so.
                    let found = solved(0, kind);
                    assert!(found.iterations >= 1_000 && !found.converged, "{field} {found:?} {case}");
                    capped += 1;
                    continue;
                }
                let mean = (0..draws).map(|seed| solved(seed, kind).iterations as f64).sum::<f64>() / draws as f64;
                let spread = number(&case["iterations_sd"]).max(1.0);
                let error = spread * (1.0 / draws as f64 + 1.0 / number(&case["draws"])).sqrt();
                assert!((mean - number(&case[field])).abs() <= 4.0 * error + 1.0, "{set} {field} {mean} {case}");
                seen += 1;
            }
            let delta = |seed: u64| {
                let features = map(seed).projector::<f64>().transform(inputs.view());
                let shift = inputs.nrows() as f64 * number(&case["lam"]);
                spectral_delta(kernel(case), inputs.view(), features.view(), shift, 2).unwrap()
            };
            let deltas: Array1<f64> = (0..distances).map(delta).collect();
            let error = deltas.std(1.0) * (1.0 / deltas.len() as f64 + 1.0 / number(&case["draws"])).sqrt();
            assert_close(deltas.mean().unwrap(), number(&case["measured_delta_mean"]), 4.0 * error, "mean distance");
        }
    }
    assert_eq!((seen, capped), (46, 2));
}

/// Every way to the solution ends at the same one: dense, and tiles in f32 with any preconditioner, started
/// anywhere, on any number of threads to the same bits.
#[test]
fn every_preconditioner_ends_at_the_dense_solution() {
    let (inputs, targets) = data("diabetes");
    let two = ndarray::stack![Axis(1), targets, targets.mapv(|y| y * y)];
    for kernel in [Kernel::Gaussian { bandwidth: 3.0 }, Kernel::Laplace { bandwidth: 9.0 }] {
        let dense = solve(&problem(kernel, inputs.view(), two.view(), 1e-4));
        let map = FeatureMap::sample(kernel, MapKind::Pair, Sampling::Plain, 0, 200, inputs.ncols());
        let make = |inputs: ArrayView2<f64>| map.projector::<f32>().transform(inputs);
        let features = FeatureSource { count: 200, make: &make };
        let size = dense.coefficients.iter().map(|value| value * value).sum::<f64>().sqrt();
        for kind in [
            Preconditioner::None,
            Preconditioner::Features,
            Preconditioner::DampedFeatures,
            Preconditioner::PivotedCholesky,
        ] {
            let exact = ExactProblem {
                features: Some(&features),
                preconditioner: Some(kind),
                ..problem(kernel, inputs.view(), two.view(), 1e-4)
            };
            let found = solve(&exact);
            assert!(found.evidence.converged && found.evidence.relative_residual <= 1e-8, "{:?}", found.evidence);
            let gap = (&found.coefficients - &dense.coefficients).mapv(|gap| gap * gap).sum().sqrt();
            assert!(gap < 1e-5 * size, "{kind:?} {gap:e} {size:e}");
            assert_close(found.quadratic_form / dense.quadratic_form, 1.0, 1e-6, "Q");
            let on_three = solve(&ExactProblem { threads: 3, ..exact });
            assert_eq!(found.coefficients, on_three.coefficients);
            let warm = exact.solve(Some(&dense.coefficients * 0.99), &|| true).unwrap();
            assert!(warm.evidence.converged && warm.evidence.iterations <= found.evidence.iterations);
            let (near, far) = (found.predict(inputs.view()), dense.predict(inputs.view()));
            assert!((near - far).iter().all(|gap: &f64| gap.abs() < 1e-5));
        }
    }
}

/// A pivoted factor beats features of the same rank, and a request to stop is heard.
#[test]
fn pivots_need_fewer_iterations_and_work_can_be_stopped() {
    let (inputs, targets) = data("diabetes");
    let column = targets.view().insert_axis(Axis(1));
    let with = |kind: Preconditioner| ExactProblem {
        preconditioner: Some(kind),
        ..problem(Kernel::Gaussian { bandwidth: 3.0 }, inputs.view(), column, 1e-5)
    };
    let count = |kind: Preconditioner| solve(&with(kind)).evidence.iterations;
    let (pivoted, none) = (count(Preconditioner::PivotedCholesky), count(Preconditioner::None));
    assert!(3 * pivoted < none, "{pivoted} {none}");
    let stopped = with(Preconditioner::None).solve(None, &|| false);
    assert!(matches!(stopped, Err(SolveError::Stopped)));
}

/// An iterated solve tells how far its residual is on the way to the tolerance, and never less than before.
#[test]
fn a_solve_tells_how_far_it_is() {
    let (inputs, targets) = data("diabetes");
    let column = targets.view().insert_axis(Axis(1));
    let told = std::sync::Mutex::new(Vec::new());
    let note = |fraction: f64| told.lock().unwrap().push(fraction);
    let watched = ExactProblem {
        preconditioner: Some(Preconditioner::None),
        progress: Some(&note),
        ..problem(Kernel::Gaussian { bandwidth: 3.0 }, inputs.view(), column, 1e-4)
    };
    let found = solve(&watched);
    let told = told.into_inner().unwrap();
    // Residuals of conjugate gradients rise at times, and then nothing is told.
    assert!(told.len() * 5 > found.evidence.iterations, "{} of {:?}", told.len(), found.evidence);
    assert!(told.windows(2).all(|pair| pair[0] < pair[1]), "{told:?}");
    assert!(told[0] > 0.0 && told[0] < 0.3 && (0.9..=1.0).contains(told.last().unwrap()), "{told:?}");
    let halfway = told.iter().filter(|fraction| **fraction < 0.5).count();
    assert!((3..told.len() - 3).contains(&halfway), "{halfway} of {}", told.len());
}

/// Rows without a pattern and targets that are all zero have an answer.
#[test]
fn zero_targets_give_zero_coefficients() {
    let inputs = Array2::from_shape_fn((50, 2), |(i, j)| (i * 3 + j) as f64);
    let zeros = Array2::zeros((50, 1));
    let exact = ExactProblem {
        preconditioner: Some(Preconditioner::PivotedCholesky),
        ..problem(Kernel::Gaussian { bandwidth: 1.0 }, inputs.view(), zeros.view(), 1e-3)
    };
    let found = solve(&exact);
    assert!(found.evidence.converged && found.coefficients.iter().all(|value| *value == 0.0));
}

/// s_λ against the golden trace: exactly where the solve is dense, within five standard errors where signs
/// estimate it.
#[test]
fn the_kernel_dimension_is_the_golden_one() {
    for set in ["diabetes", "syn1d", "syn3d"] {
        let (inputs, targets) = data(set);
        let column = targets.view().insert_axis(Axis(1));
        for golden_kernel in load(&format!("guarantees_{set}.json"))["kernels"].as_array().unwrap() {
            for case in golden_kernel["lambdas"].as_array().unwrap() {
                let expected = number(&case["effective_dim"]);
                let dense = problem(kernel(golden_kernel), inputs.view(), column, number(&case["lam"]));
                let found = dense.dimension(&|| true).unwrap();
                assert_close(found.value / expected, 1.0, 1e-7, "exact trace");
                assert!(found.standard_error == 0.0);
                let iterated = ExactProblem { preconditioner: Some(Preconditioner::None), ..dense };
                let found = iterated.dimension(&|| true).unwrap();
                let gap = (found.value - expected).abs();
                assert!(gap <= 5.0 * found.standard_error, "{set} {found:?} {expected}");
            }
        }
    }
}

/// At a λ too small for the iterations allowed there is no dimension, not one with an error of any size.
#[test]
fn a_dimension_whose_solves_were_cut_short_is_an_error() {
    let (inputs, targets) = data("diabetes");
    let column = targets.view().insert_axis(Axis(1));
    let dense = problem(Kernel::Gaussian { bandwidth: 4.5 }, inputs.view(), column, 1e-11);
    assert_eq!(dense.dimension(&|| true).unwrap().standard_error, 0.0);
    let iterated = ExactProblem { preconditioner: Some(Preconditioner::None), tolerance: 1e-4, ..dense };
    assert!(!solve(&iterated).evidence.converged);
    assert!(matches!(iterated.dimension(&|| true), Err(SolveError::NotConverged { .. })));
}

/// fᵀ(K + nλI)⁻¹f at f = Kα, the bias of Lemma 2 over λ: densely and by iteration.
#[test]
fn the_form_of_the_fit_is_the_golden_one() {
    let mut seen = 0;
    for set in ["diabetes", "syn1d", "syn3d"] {
        let (inputs, targets) = data(set);
        let column = targets.view().insert_axis(Axis(1));
        for golden_kernel in load(&format!("guarantees_{set}.json"))["kernels"].as_array().unwrap() {
            for case in golden_kernel["lambdas"].as_array().unwrap() {
                let Some(bias) = case["avron_lemma2"]["bias"].as_f64() else { continue };
                let dense = problem(kernel(golden_kernel), inputs.view(), column, number(&case["lam"]));
                let iterated = ExactProblem { preconditioner: Some(Preconditioner::PivotedCholesky), ..dense };
                for problem in [dense, iterated] {
                    let found = problem.fitted_form(&solve(&problem), &|| true).unwrap();
                    assert_close(found * number(&case["lam"]) / bias, 1.0, 1e-6, "bias");
                    seen += 1;
                }
            }
        }
    }
    assert!(seen > 20, "{seen}");
}

/// The iterations that a measured Δ implies are enough: a plain dense iteration with the golden features has then
/// brought the error down as far as it says, in the norm of the system.
#[test]
fn a_measured_delta_implies_enough_iterations() {
    let mut seen = 0;
    for set in ["diabetes", "syn3d"] {
        let (inputs, targets) = data(set);
        for case in load(&format!("pcg_{set}.json"))["explicit"].as_array().unwrap() {
            let shift = inputs.nrows() as f64 * number(&case["lam"]);
            let features = feature_map(case).projector::<f64>().transform(inputs.view());
            let delta = spectral_delta(kernel(case), inputs.view(), features.view(), shift, 2).unwrap();
            let Some(implied) = Preconditioning::of(delta, 1e-6) else { continue };
            let n = targets.len();
            let exact = Array2::from_shape_fn((n, n), |(i, j)| kernel(case).evaluate(inputs.row(i), inputs.row(j)));
            let shifted = |matrix: Array2<f64>| matrix + Array2::<f64>::eye(n) * shift;
            let (a, p) = (shifted(exact), shifted(features.dot(&features.t())));
            let inverse = |matrix: &Array2<f64>, v: &Array1<f64>| {
                let factor = Cholesky::factor(matrix.clone(), 1).unwrap();
                factor.solve_columns(v.clone().insert_axis(Axis(1))).column(0).to_owned()
            };
            let solution = inverse(&a, &targets);
            let energy = |error: &Array1<f64>| error.dot(&a.dot(error)).sqrt();
            let (mut x, mut residual) = (Array1::<f64>::zeros(n), targets.clone());
            let mut z = inverse(&p, &residual);
            let mut direction = z.clone();
            for _ in 0..implied.iterations {
                let image = a.dot(&direction);
                let step = residual.dot(&z) / direction.dot(&image);
                let before = residual.dot(&z);
                x += &(&direction * step);
                residual -= &(&image * step);
                z = inverse(&p, &residual);
                direction = &z + &(&direction * (residual.dot(&z) / before));
            }
            let left = energy(&(&x - &solution)) / energy(&solution);
            assert!(left <= 1e-6, "{set} {delta} {implied:?} {left:e}");
            seen += 1;
        }
    }
    assert!(seen > 0, "{seen}");
}

/// Δ between the features' kernel and the kernel, against the golden generalised eigenvalues.
#[test]
fn the_spectral_distance_is_the_golden_one() {
    let mut seen = 0;
    for set in ["diabetes", "syn1d", "syn3d"] {
        let (inputs, _) = data(set);
        for case in load(&format!("features_{set}.json"))["cases"].as_array().unwrap() {
            let Some(expected) = case["measured_delta"]["delta"].as_f64() else { continue };
            let features = feature_map(case).projector::<f64>().transform(inputs.view());
            let shift = inputs.nrows() as f64 * number(&case["lam"]);
            let found = spectral_delta(kernel(case), inputs.view(), features.view(), shift, 2).unwrap();
            assert_close(found / expected, 1.0, 1e-5, "spectral distance");
            seen += 1;
        }
    }
    for set in ["diabetes", "syn3d"] {
        let (inputs, _) = data(set);
        for case in load(&format!("pcg_{set}.json"))["explicit"].as_array().unwrap() {
            let features = feature_map(case).projector::<f64>().transform(inputs.view());
            let shift = inputs.nrows() as f64 * number(&case["lam"]);
            let found = spectral_delta(kernel(case), inputs.view(), features.view(), shift, 2).unwrap();
            assert_close(found / number(&case["measured_delta"]["delta"]), 1.0, 1e-6, "spectral distance");
            seen += 1;
        }
    }
    assert!(seen > 13, "{seen}");
}
