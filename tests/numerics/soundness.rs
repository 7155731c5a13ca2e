//! What the guarantees and estimates say, held against how often it is true.

use crate::exact::problem;
use crate::golden::data;
use crate::tables::{Memory, fit};
use bochner::features::{FeatureMap, Kernel, MapKind, Sampling};
use bochner::linalg::{Cholesky, use_one_blas_thread};
use bochner::model::Predictor;
use bochner::solver::{BlockGram, Gram, NormalEquations, jackknife_weights, solve_ridge};
use bochner::theory::certificate::{empirical_bernstein, tolerance_rank};
use bochner::theory::conformal::conformal_quantile;
use bochner::theory::jackknife::group_variance;
use bochner::theory::wang::{theorem1_bound, threshold_proof};
use flate2::read::GzDecoder;
use ndarray::{Array1, Array2, Axis, s};
use serde_json::json;
use std::io::Read;

/// Inputs with mean 0 and variance 1, targets centred with variance 1, rows in a scattered order.
fn public(set: &str) -> (Array2<f64>, Array1<f64>) {
    let (inputs, targets) = if set == "concrete" { concrete() } else { data(set) };
    let n = inputs.nrows();
    let order: Vec<usize> = (0..n).map(|i| i * 1_009 % n).collect();
    let mut inputs = inputs.select(Axis(0), &order);
    for mut column in inputs.columns_mut() {
        let (mean, deviation) = (column.mean().unwrap(), column.std(0.0).max(1e-12));
        column.mapv_inplace(|value| (value - mean) / deviation);
    }
    let targets = targets.select(Axis(0), &order);
    let (mean, deviation) = (targets.mean().unwrap(), targets.std(0.0));
    (inputs, targets.mapv(|target| (target - mean) / deviation))
}

/// Yeh 1998, compressive strength of concrete.
fn concrete() -> (Array2<f64>, Array1<f64>) {
    let file = std::fs::File::open(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/concrete.csv.gz")).unwrap();
    let mut text = String::new();
    GzDecoder::new(file).read_to_string(&mut text).unwrap();
    let rows: Vec<Vec<f64>> =
        text.lines().skip(1).map(|line| line.split(',').map(|cell| cell.parse().unwrap()).collect()).collect();
    let width = rows[0].len();
    let table = Array2::from_shape_vec((rows.len(), width), rows.concat()).unwrap();
    (table.slice(s![.., ..width - 1]).to_owned(), table.column(width - 1).to_owned())
}

fn equations(features: &Array2<f64>, targets: &Array1<f64>) -> NormalEquations {
    let block = BlockGram::of(features.clone(), targets.view().insert_axis(Axis(1)), None);
    let mut gram = Gram::new(features.ncols(), 1);
    gram.add(&[block], 1);
    gram.into_normal_equations()
}

/// Exact predictions of held-out rows next to those of random features.
struct Comparison {
    kernel: Kernel,
    training: Array2<f64>,
    targets: Array1<f64>,
    held_out: Array2<f64>,
}

impl Comparison {
    fn of(set: &str, rows: usize) -> Self {
        let (inputs, targets) = public(set);
        let rows = rows.min(2 * inputs.nrows() / 3);
        let kernel = Kernel::Gaussian { bandwidth: (2.0 * inputs.ncols() as f64).sqrt() };
        Self {
            kernel,
            training: inputs.slice(s![..rows, ..]).to_owned(),
            targets: targets.slice(s![..rows]).to_owned(),
            held_out: inputs.slice(s![rows.., ..]).to_owned(),
        }
    }

    fn map(&self, seed: u64, feature_count: usize) -> FeatureMap {
        FeatureMap::sample(self.kernel, MapKind::Pair, Sampling::Plain, seed, feature_count, self.training.ncols())
    }

    /// Exact predictions of the held-out rows, Q, and the effective dimension.
    fn exact(&self, ridge: f64) -> (Array1<f64>, f64, f64) {
        let problem = problem(self.kernel, self.training.view(), self.targets.view().insert_axis(Axis(1)), ridge);
        let exact = problem.solve(None, &|| true).unwrap();
        let dimension = problem.dimension(&|| true).unwrap();
        assert!(dimension.standard_error == 0.0);
        (exact.predict(self.held_out.view()).column(0).to_owned(), exact.quadratic_form, dimension.value)
    }
}

/// Theorem 1 on two public sets, over 200 draws of the features at the smallest λ that it covers.
#[test]
fn the_mean_error_over_draws_is_below_theorem_one_on_public_sets() {
    const FEATURES: usize = 30;
    for set in ["diabetes", "breast_cancer"] {
        let comparison = Comparison::of(set, 200);
        let n = comparison.training.nrows();
        let ridge = threshold_proof(1.0, n, FEATURES, 0.05);
        let (exact, q, _) = comparison.exact(ridge);
        let error = |seed: u64| {
            let projector = comparison.map(seed, FEATURES).projector::<f64>();
            let equations = equations(&projector.transform(comparison.training.view()), &comparison.targets);
            let weights = solve_ridge(&equations, ridge, 1).unwrap().weights.column(0).to_owned();
            let gap = projector.transform(comparison.held_out.view()).dot(&weights) - &exact;
            gap.dot(&gap) / gap.len() as f64
        };
        let mean = (0..200).map(error).sum::<f64>() / 200.0;
        let bound = theorem1_bound(1.0, FEATURES / 2, q);
        assert!(mean > 0.0 && mean <= bound, "{set}: {mean} {bound}");
    }
}

/// What one draw of the features says: its squared distance to the exact method, and the jackknife estimate of that.
struct Run {
    error: f64,
    estimate: f64,
}

impl Comparison {
    /// By the code of the service.
    fn run(&self, seed: u64, draws: usize, ridge: f64, exact: &Array1<f64>) -> Run {
        let projector = self.map(seed, 2 * draws).projector::<f64>();
        let equations = equations(&projector.transform(self.training.view()), &self.targets);
        let held_out = projector.transform(self.held_out.view());
        let gap = held_out.dot(&solve_ridge(&equations, ridge, 1).unwrap().weights.column(0)) - exact;
        let without = jackknife_weights(&equations, ridge, (draws, GROUPS), 1).unwrap();
        let without = without.iter().map(|weights| held_out.dot(&weights.column(0))).collect();
        Run { error: gap.dot(&gap) / gap.len() as f64, estimate: spread(without) }
    }

    /// The same through kernel matrices, which are smaller where features are many: without a group the others count
    /// m/m_kept times.
    fn dual_run(&self, seed: u64, draws: usize, ridge: f64, exact: &Array1<f64>) -> Run {
        let projector = self.map(seed, 2 * draws).projector::<f64>();
        let (psi, held_out) = (projector.transform(self.training.view()), projector.transform(self.held_out.view()));
        let (n, groups) = (psi.nrows() as f64, GROUPS.min(draws));
        let solved = |approximate: &Array2<f64>, across: &Array2<f64>| {
            let mut system = approximate.clone();
            system.diag_mut().mapv_inplace(|value| value + n * ridge);
            across.dot(&Cholesky::factor(system, 1).unwrap().solve(&self.targets))
        };
        let of_group = |group: usize| {
            let columns: Vec<usize> = (0..2 * draws).filter(|column| column % draws % groups == group).collect();
            let (psi, held_out) = (psi.select(Axis(1), &columns), held_out.select(Axis(1), &columns));
            (psi.dot(&psi.t()), held_out.dot(&psi.t()), draws - columns.len() / 2)
        };
        let parts: Vec<(Array2<f64>, Array2<f64>, usize)> = (0..groups).map(of_group).collect();
        let (approximate, across) = (psi.dot(&psi.t()), held_out.dot(&psi.t()));
        let gap = solved(&approximate, &across) - exact;
        let without = parts.iter().map(|(own, own_across, kept)| {
            let scale = draws as f64 / *kept as f64;
            solved(&((&approximate - own) * scale), &((&across - own_across) * scale))
        });
        Run { error: gap.dot(&gap) / gap.len() as f64, estimate: spread(without.collect()) }
    }
}

/// The mean over rows of the variance over groups.
fn spread(without: Vec<Array1<f64>>) -> f64 {
    let of_row = |row: usize| group_variance(&without.iter().map(|of_group| of_group[row]).collect::<Vec<_>>());
    (0..without[0].len()).map(of_row).sum::<f64>() / without[0].len() as f64
}

const GROUPS: usize = 10;

/// The jackknife estimate of one run against the error measured over draws: four public sets, three λ. Nine runs in ten
/// are near where s is two to fifty times the effective dimension; of half of it two in three are, where that leaves a
/// draw for each group.
#[test]
fn the_jackknife_is_within_half_as_much_again_of_the_truth_nine_times_in_ten() {
    const DRAWS: u64 = 24;
    use_one_blas_thread();
    let (mut enough, mut few) = ((0, 0), (0, 0));
    for set in ["diabetes", "breast_cancer", "wine", "concrete"] {
        let mut comparison = Comparison::of(set, 200);
        let kept = comparison.held_out.nrows().min(100);
        comparison.held_out = comparison.held_out.slice(s![..kept, ..]).to_owned();
        let n = comparison.training.nrows();
        for ridge in [0.001, 0.01, 0.1].map(|factor| factor / (n as f64).sqrt()) {
            let (exact, _, dimension) = comparison.exact(ridge);
            for multiple in [0.5, 2.0, 10.0, 50.0] {
                let draws = (multiple * dimension / 2.0).round() as usize;
                if draws < GROUPS {
                    continue;
                }
                let by = if 2 * draws > n { Comparison::dual_run } else { Comparison::run };
                let found: Vec<Run> = (0..DRAWS).map(|seed| by(&comparison, seed, draws, ridge, &exact)).collect();
                let truth = found.iter().map(|run| run.error).sum::<f64>() / DRAWS as f64;
                let near = |run: &&Run| (1.0 / 1.5..=1.5).contains(&(run.estimate / truth));
                let (within, runs) = if multiple < 1.0 { &mut few } else { &mut enough };
                *within += found.iter().filter(near).count();
                *runs += found.len();
            }
        }
    }
    assert!(enough.1 == 36 * DRAWS as usize && enough.0 * 10 >= enough.1 * 9, "{enough:?}");
    assert!(few.1 >= 6 * DRAWS as usize && few.0 * 3 >= few.1 * 2, "{few:?}");
}

/// Both ways to the estimate are the same.
#[test]
fn leaving_out_groups_is_the_same_through_kernel_matrices() {
    let comparison = Comparison::of("wine", 100);
    let (exact, _, _) = comparison.exact(1e-3);
    let (run, dual) = (comparison.run(5, 47, 1e-3, &exact), comparison.dual_run(5, 47, 1e-3, &exact));
    assert!((run.error / dual.error - 1.0).abs() < 1e-6 && (run.estimate / dual.estimate - 1.0).abs() < 1e-6);
}

/// y = sin(3a) + noise, with independent rows from positions in an endless sequence.
fn noisy(first: usize, rows: usize) -> Memory {
    let cells = (first..first + rows).flat_map(|i| {
        let uniform = |number: usize| (mixed((4 * i + number) as u64) >> 11) as f64 / (1_u64 << 53) as f64;
        let a = uniform(0) * 2.0 - 1.0;
        // A sum of three uniform numbers is nearly normal.
        [a, (3.0 * a).sin() + 0.5 * (uniform(1) + uniform(2) + uniform(3) - 1.5)]
    });
    Memory { cells: cells.collect(), columns: 2 }
}

/// Intervals of 200 models, each on rows of its own, against fresh rows: the mean coverage is between 1 − δ and
/// 1 − δ + 1/(m+1), give or take what 200 splits leave to chance.
#[test]
fn conformal_intervals_cover_as_often_as_they_say() {
    const DELTA: f64 = 0.1;
    let fresh = noisy(1_000_000, 1_000);
    let rows: Vec<&[f64]> = fresh.cells.chunks(2).map(|row| &row[..1]).collect();
    let mut coverage = 0.0;
    let mut scores = 0;
    for split in 0..200 {
        let raw = json!({"features": {"count": 16, "seed": split}, "lambda": 1e-3, "guarantees": {"exact_rows": 0}});
        let model = fit(&noisy(split * 300, 300), &raw, 1).unwrap().model;
        let quantile = conformal_quantile(model.calibration_scores().unwrap(), DELTA);
        scores = model.calibration_scores().unwrap().len();
        let predictions = Predictor::new(model).predict(&rows);
        let covered =
            fresh.cells.chunks(2).zip(&predictions).filter(|(row, f)| (row[1] - *f).abs() <= quantile).count();
        coverage += covered as f64 / 1_000.0 / 200.0;
    }
    // One split's coverage has deviation √(δ(1−δ)/m).
    let chance = 4.0 * (DELTA * (1.0 - DELTA) / scores as f64 / 200.0).sqrt();
    assert!(coverage >= 1.0 - DELTA - chance, "{coverage} {scores}");
    assert!(coverage <= 1.0 - DELTA + 1.0 / (scores + 1) as f64 + chance, "{coverage} {scores}");
}

/// Certificates from 200 samples of a population whose differences are all known.
#[test]
fn certificates_hold_as_often_as_they_say() {
    const SHARE: f64 = 0.9;
    const DELTA: f64 = 0.1;
    const HELD_OUT: usize = 120;
    let comparison = Comparison::of("concrete", 300);
    let (exact, _, _) = comparison.exact(1e-3);
    let projector = comparison.map(3, 40).projector::<f64>();
    let equations = equations(&projector.transform(comparison.training.view()), &comparison.targets);
    let weights = solve_ridge(&equations, 1e-3, 1).unwrap().weights.column(0).to_owned();
    let population = (projector.transform(comparison.held_out.view()).dot(&weights) - &exact).mapv(f64::abs);
    let size = population.len();
    let largest = population.iter().copied().fold(0.0, f64::max);
    let truth = population.dot(&population) / size as f64;
    let rank = tolerance_rank(HELD_OUT, SHARE, DELTA).unwrap();
    let (mut tolerances, mut means) = (0, 0);
    for split in 0..200_usize {
        // With replacement, as rows from a population without end.
        let draw = |i: usize| population[(mixed((split * HELD_OUT + i) as u64) % size as u64) as usize];
        let mut sample: Vec<f64> = (0..HELD_OUT).map(draw).collect();
        sample.sort_by(f64::total_cmp);
        let limit = sample[rank - 1];
        let covered = population.iter().filter(|difference| **difference <= limit).count();
        tolerances += usize::from(covered as f64 >= SHARE * size as f64);
        let squares: Vec<f64> = sample.iter().map(|difference| difference * difference).collect();
        let mean = squares.iter().sum::<f64>() / HELD_OUT as f64;
        let variance = squares.iter().map(|square| (square - mean).powi(2)).sum::<f64>() / (HELD_OUT - 1) as f64;
        let bound = empirical_bernstein(HELD_OUT, mean, variance, largest * largest, DELTA).unwrap();
        means += usize::from(bound >= truth);
    }
    // 180 of 200 are promised; four deviations of the binomial below that is 163.
    assert!(tolerances >= 163 && means >= 163, "{tolerances} {means}");
    assert!(tolerances < 200, "a limit that never fails is wider than it says");
}

/// Scatters the bits of a number.
pub(crate) fn mixed(number: u64) -> u64 {
    let mut bits = number.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(0x1234_5678_9abc_def1);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}
