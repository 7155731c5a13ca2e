//! Exact kernels against golden values, and how fast their estimates converge.

use crate::golden::{assert_close, kernel, load, map_kind, matrix, number, vector};
use bochner::features::{FeatureMap, Kernel, MapKind, Sampling};
use ndarray::{Array2, Axis};

const GAUSSIAN: Kernel = Kernel::Gaussian { bandwidth: 1.3 };
const SAMPLINGS: [Sampling; 4] =
    [Sampling::Plain, Sampling::Orthogonal, Sampling::Structured, Sampling::QuasiMonteCarlo];

fn golden_pairs() -> (Array2<f64>, Array2<f64>) {
    let file = load("kernels.json");
    (matrix(&file["A"]), matrix(&file["B"]))
}

/// Pairs of points for a kernel: the golden ones, or for splines those on [0, 1].
fn pairs_for(kernel: Kernel) -> (Array2<f64>, Array2<f64>) {
    let Kernel::Spline { .. } = kernel else { return golden_pairs() };
    let file = load("kernels.json");
    let column = |name: &str| vector(&file[name]).insert_axis(Axis(1));
    (column("spline_a"), column("spline_b"))
}

/// The kernels with parameters of their golden values.
fn kernels() -> Vec<Kernel> {
    let file = load("kernels.json");
    let mut kernels: Vec<Kernel> = file["kernels"].as_array().unwrap().iter().map(kernel).collect();
    kernels.extend(file["spline"].as_array().unwrap().iter().map(kernel));
    assert_eq!(kernels.len(), 13);
    kernels
}

/// ψ(aᵢ)ᵀψ(bᵢ) of one draw, for every pair.
fn estimates(kernel: Kernel, kind: MapKind, sampling: Sampling, feature_count: usize, seed: u64) -> Vec<f64> {
    let (left, right) = pairs_for(kernel);
    let projector = FeatureMap::sample(kernel, kind, sampling, seed, feature_count, left.ncols()).projector::<f64>();
    let (left, right) = (projector.transform(left.view()), projector.transform(right.view()));
    (&left * &right).sum_axis(Axis(1)).to_vec()
}

fn exact(kernel: Kernel) -> Vec<f64> {
    let (left, right) = pairs_for(kernel);
    (0..left.nrows()).map(|i| kernel.evaluate(left.row(i), right.row(i))).collect()
}

/// k(2(x−x')) of kernels that are functions of the difference.
fn exact_at_twice(kernel: Kernel) -> Option<Vec<f64>> {
    let (left, right) = pairs_for(kernel);
    let twice = |i: usize| kernel.evaluate((2.0 * &left.row(i)).view(), (2.0 * &right.row(i)).view());
    kernel.shape().has_bandwidth().then(|| (0..left.nrows()).map(twice).collect())
}

/// Mean and standard error of the estimates of each pair over `seeds` draws.
fn moments(seeds: u64, estimates: impl Fn(u64) -> Vec<f64>) -> Vec<(f64, f64)> {
    let draws: Vec<Vec<f64>> = (0..seeds).map(estimates).collect();
    let of_pair = |pair: usize| {
        let mean = draws.iter().map(|draw| draw[pair]).sum::<f64>() / seeds as f64;
        let variance = draws.iter().map(|draw| (draw[pair] - mean).powi(2)).sum::<f64>() / (seeds - 1) as f64;
        (mean, variance)
    };
    (0..draws[0].len()).map(of_pair).collect()
}

/// Root mean squared error over pairs and seeds.
fn error(kernel: Kernel, kind: MapKind, sampling: Sampling, feature_count: usize) -> f64 {
    const SEEDS: u64 = 60;
    let exact = exact(kernel);
    let square = |seed| {
        let estimates = estimates(kernel, kind, sampling, feature_count, seed);
        estimates.iter().zip(&exact).map(|(a, b)| (a - b).powi(2)).sum::<f64>()
    };
    ((0..SEEDS).map(square).sum::<f64>() / (SEEDS as f64 * exact.len() as f64)).sqrt()
}

#[test]
fn every_kernel_is_the_golden_one() {
    let file = load("kernels.json");
    let (left, right) = golden_pairs();
    for case in file["kernels"].as_array().unwrap() {
        for (i, &expected) in vector(&case["values"]).iter().enumerate() {
            let found = kernel(case).evaluate(left.row(i), right.row(i));
            assert_close(found, expected, 1e-12 * expected.abs().max(1.0), &format!("{:?} pair {i}", kernel(case)));
        }
    }
    for case in file["spline"].as_array().unwrap() {
        for (found, &expected) in exact(kernel(case)).iter().zip(&vector(&case["values"])) {
            assert_close(*found, expected, 1e-12, "spline");
        }
        let bound = MapKind::Spline.bound(kernel(case).shape());
        match case["feature_sup"].as_f64() {
            Some(sup) => assert_close(bound.unwrap(), sup * sup, 1e-11, "bound of the spline feature"),
            None => assert_eq!(bound, None),
        }
    }
}

/// Unbiased within five standard errors, for every kernel, map and sampling that go together; structured directions are
/// nearly so, see below.
#[test]
fn estimates_are_unbiased() {
    const SEEDS: u64 = 400;
    for kernel in kernels() {
        for &kind in MapKind::serving(kernel.shape()) {
            for sampling in SAMPLINGS.into_iter().filter(|sampling| sampling.refusal(kernel.shape()).is_none()) {
                let found = moments(SEEDS, |seed| estimates(kernel, kind, sampling, 64, seed));
                let doubled = exact_at_twice(kernel);
                for (pair, ((mean, variance), exact)) in found.into_iter().zip(exact(kernel)).enumerate() {
                    let bias = if sampling == Sampling::Structured { 0.005 } else { 1e-12 * exact.abs().max(1.0) };
                    // Heavy-tailed draws that matter are rare, and a sample without them has too small a
                    // variance; that of independent draws is known: (½(1 + k(2Δ)) − k²)/32, and for signs
                    // (1 − k²)/64.
                    let known = match kind {
                        MapKind::Sign => (1.0 - exact * exact) / 64.0,
                        _ => doubled.as_ref().map_or(0.0, |k2| (0.5 * (1.0 + k2[pair]) - exact * exact) / 32.0),
                    };
                    let tolerance = 5.0 * (variance.max(known) / SEEDS as f64).sqrt() + bias;
                    assert_close(mean, exact, tolerance, &format!("{kernel:?} {kind:?} {sampling:?}"));
                }
            }
        }
    }
}

/// Structured directions are biased by less than 0.005, seen with a standard error below 0.0006.
#[test]
fn structured_estimates_are_nearly_unbiased() {
    for kernel in kernels().into_iter().filter(|kernel| Sampling::Structured.refusal(kernel.shape()).is_none()) {
        let found = moments(1_000, |seed| estimates(kernel, MapKind::Pair, Sampling::Structured, 4_096, seed));
        for ((mean, variance), exact) in found.into_iter().zip(exact(kernel)) {
            assert!((variance / 1_000.0).sqrt() < 0.000_6, "{kernel:?}: {variance}");
            assert_close(mean, exact, 0.005, &format!("{kernel:?}"));
        }
    }
}

/// The variance of one estimate is the golden closed form.
#[test]
fn plain_estimates_have_the_golden_variance() {
    const SEEDS: u64 = 2_000;
    let golden = load("kernels.json");
    let cases = golden["estimate_variance"].as_array().unwrap();
    let mut groups: Vec<(Kernel, MapKind)> = Vec::new();
    for case in cases {
        let group = (kernel(case), map_kind(case));
        if !groups.contains(&group) {
            groups.push(group);
        }
    }
    assert_eq!(groups.len(), 9);
    for group in groups {
        let found = moments(SEEDS, |seed| estimates(group.0, group.1, Sampling::Plain, 64, seed));
        for case in cases.iter().filter(|case| (kernel(case), map_kind(case)) == group) {
            let (_, variance) = found[case["pair_index"].as_u64().unwrap() as usize];
            let expected = number(&case["variance"]);
            // The variance of a sample variance is about 2σ⁴/n for sums of 32 or 64 bounded terms.
            let tolerance = 5.0 * expected * (2.2 / SEEDS as f64).sqrt();
            assert_close(variance, expected, tolerance, &format!("{group:?}"));
        }
    }
}

/// The root mean squared error falls as 1/√s or faster: a slope of at most −1/2 in the logarithms.
#[test]
fn the_error_falls_as_one_over_root_s() {
    for kernel in kernels() {
        for &kind in MapKind::serving(kernel.shape()) {
            let slope = |sampling| {
                (error(kernel, kind, sampling, 1_024) / error(kernel, kind, sampling, 64)).ln() / 16_f64.ln()
            };
            let plain = slope(Sampling::Plain);
            assert!((plain + 0.5).abs() < 0.08, "{kernel:?} {kind:?}: {plain}");
            for sampling in SAMPLINGS.into_iter().filter(|sampling| sampling.refusal(kernel.shape()).is_none()) {
                let slope = slope(sampling);
                assert!(slope < -0.4, "{kernel:?} {kind:?} {sampling:?}: {slope}");
            }
        }
    }
}

/// Orthogonal directions and Sobol points have a lower error than independent draws at the same s.
#[test]
fn dependent_draws_are_better_for_the_gaussian_kernel() {
    for kind in [MapKind::Pair, MapKind::Phase] {
        let plain = error(GAUSSIAN, kind, Sampling::Plain, 128);
        for sampling in [Sampling::Orthogonal, Sampling::QuasiMonteCarlo] {
            let better = error(GAUSSIAN, kind, sampling, 128);
            assert!(better < 0.97 * plain, "{kind:?} {sampling:?}: {better} against {plain}");
        }
    }
}
