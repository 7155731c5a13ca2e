//! Exact kernels against golden values, and how fast their estimates converge.

use crate::golden::{assert_close, load, matrix, number, vector};
use bochner::features::{Bandwidth, FeatureMap, Kernel, KernelName, MapKind, Sampling};
use ndarray::{Array2, Axis};

const GAUSSIAN: Kernel = Kernel::Gaussian { bandwidth: 1.3 };

fn golden_pairs() -> (Array2<f64>, Array2<f64>) {
    let file = load("kernels.json");
    (matrix(&file["A"]), matrix(&file["B"]))
}

/// ψ(aᵢ)ᵀψ(bᵢ) of one draw, for every golden pair.
fn estimates(feature_count: usize, seed: u64) -> Vec<f64> {
    let (left, right) = golden_pairs();
    let map = FeatureMap::sample(GAUSSIAN, MapKind::Pair, Sampling::Plain, seed, feature_count, left.ncols());
    let projector = map.projector::<f64>();
    let (left, right) = (projector.transform(left.view()), projector.transform(right.view()));
    (&left * &right).sum_axis(Axis(1)).to_vec()
}

#[test]
fn the_gaussian_kernel_is_the_golden_one() {
    let file = load("kernels.json");
    let (left, right) = golden_pairs();
    let mut seen = 0;
    for kernel in file["kernels"].as_array().unwrap().iter().filter(|kernel| kernel["kernel"] == "gaussian") {
        let exact = Kernel::Gaussian { bandwidth: number(&kernel["params"]["sigma"]) };
        for (i, &expected) in vector(&kernel["values"]).iter().enumerate() {
            assert_close(exact.evaluate(left.row(i), right.row(i)), expected, 1e-12, "kernel");
        }
        seen += 1;
    }
    assert!(seen > 0);
}

#[test]
fn the_mean_distance_rule_is_the_golden_bandwidth() {
    for set in ["diabetes", "syn1d", "syn3d"] {
        let file = load(&format!("data_{set}.json"));
        let variances = matrix(&file["X"]).var_axis(Axis(0), 0.0).to_vec();
        let Kernel::Gaussian { bandwidth } = Kernel::resolve(KernelName::Gaussian, Bandwidth::MeanDistance, &variances);
        let expected = number(&file["bandwidths"]["gaussian"]);
        assert_close(bandwidth, expected, 1e-6 * expected, "bandwidth");
    }
}

/// Unbiased within five standard errors, with the golden variance of one estimate.
#[test]
fn estimates_are_unbiased_with_the_golden_variance() {
    const SEEDS: u64 = 2_000;
    let (left, right) = golden_pairs();
    let draws: Vec<Vec<f64>> = (0..SEEDS).map(|seed| estimates(64, seed)).collect();
    let moments = |pair: usize| {
        let mean = draws.iter().map(|draw| draw[pair]).sum::<f64>() / SEEDS as f64;
        let variance = draws.iter().map(|draw| (draw[pair] - mean).powi(2)).sum::<f64>() / (SEEDS - 1) as f64;
        (mean, variance)
    };
    for pair in 0..left.nrows() {
        let (mean, variance) = moments(pair);
        let exact = GAUSSIAN.evaluate(left.row(pair), right.row(pair));
        assert_close(mean, exact, 5.0 * (variance / SEEDS as f64).sqrt() + 1e-12, "mean of the estimate");
    }
    let golden = load("kernels.json");
    let cases = golden["estimate_variance"].as_array().unwrap();
    let mut seen = 0;
    for case in cases.iter().filter(|case| case["kernel"] == "gaussian" && case["map"] == "pair") {
        let (_, variance) = moments(case["pair_index"].as_u64().unwrap() as usize);
        let expected = number(&case["variance"]);
        // The variance of a sample variance is at most about 2σ⁴/n for these light tails.
        assert_close(variance, expected, 5.0 * expected * (2.0 / SEEDS as f64).sqrt(), "variance of the estimate");
        seen += 1;
    }
    assert!(seen >= 4);
}

/// The root mean squared error falls as 1/√s: a slope of −1/2 in the logarithms.
#[test]
fn the_error_falls_as_one_over_root_s() {
    let (left, right) = golden_pairs();
    let exact: Vec<f64> = (0..left.nrows()).map(|i| GAUSSIAN.evaluate(left.row(i), right.row(i))).collect();
    let error = |feature_count: usize| {
        const SEEDS: u64 = 200;
        let square: f64 = (0..SEEDS)
            .flat_map(|seed| {
                estimates(feature_count, seed).into_iter().zip(&exact).map(|(a, b)| (a - b).powi(2)).collect::<Vec<_>>()
            })
            .sum();
        (square / (SEEDS as f64 * exact.len() as f64)).sqrt()
    };
    let slope = (error(4_096) / error(64)).ln() / (4_096_f64 / 64.0).ln();
    assert!((slope + 0.5).abs() < 0.03, "slope {slope}");
}
