//! What the guarantees and estimates say, held against how often it is true.

use crate::exact::problem;
use crate::golden::data;
use crate::tables::{RowsInMemory, fit};
use bochner::features::{FeatureMap, Kernel, MapKind, Sampling};
use bochner::linalg::{Cholesky, use_one_blas_thread};
use bochner::model::Predictor;
use bochner::solver::{
    ComparedRows, DrawError, GramSums, NormalEquations, jackknife_weights, pool_multiple, pool_predictions, solve_ridge,
};
use bochner::theory::ours::certificate::{certificate_mean, certificate_tolerance};
use bochner::theory::ours::conformal::conformal_quantile;
use bochner::theory::ours::jackknife::group_variance;
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
    GramSums::of(features.clone(), targets.view().insert_axis(Axis(1)), None).unwrap().finish().into_normal_equations()
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

/// What one draw of the features says: its squared distance to the exact method, and the jackknife estimate of that.
struct Run {
    error: f64,
    estimate: f64,
}

impl Comparison {
    /// By the code of the service: from a pool of draws where that is affordable.
    fn run(&self, seed: u64, draws: usize, ridge: f64, exact: &Array1<f64>) -> Run {
        let n = self.training.nrows();
        match pool_multiple(n, 2 * draws, 1) {
            Some(multiple) => {
                let error = self.grouped_run(seed, draws, ridge, exact).error;
                Run { error, estimate: self.pooled(seed, (multiple * draws, draws), ridge) }
            }
            None if 2 * draws > n => self.dual_run(seed, draws, ridge, exact),
            None => self.grouped_run(seed, draws, ridge, exact),
        }
    }

    /// The estimate from parts of a pool, of which the draws of the model are the first.
    fn pooled(&self, seed: u64, counts: (usize, usize), ridge: f64) -> f64 {
        let projector = self.map(seed, 2 * counts.0).projector::<f64>();
        let equations = equations(&projector.transform(self.training.view()), &self.targets);
        let features = projector.transform(self.held_out.view());
        let rows = ComparedRows { features: features.view(), fitted: None };
        let found = pool_predictions(&equations, ridge, counts, &rows, 1).unwrap().unwrap();
        DrawError::from_pool(&found).unwrap().mean
    }

    /// From leaving out groups.
    fn grouped_run(&self, seed: u64, draws: usize, ridge: f64, exact: &Array1<f64>) -> Run {
        let projector = self.map(seed, 2 * draws).projector::<f64>();
        let equations = equations(&projector.transform(self.training.view()), &self.targets);
        let held_out = projector.transform(self.held_out.view());
        let gap = held_out.dot(&solve_ridge(&equations, ridge, 1).unwrap().weights.column(0)) - exact;
        let without = jackknife_weights(&equations, ridge, (draws, GROUPS), 1).unwrap().weights;
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

/// The jackknife estimate of one run against the error measured over draws: four public sets, three λ, and s from half
/// to fifty times the effective dimension. Nine runs in ten are near, all together and for each of these s.
#[test]
fn the_jackknife_is_within_half_as_much_again_of_the_truth_nine_times_in_ten() {
    const DRAWS: usize = 24;
    const MULTIPLES: [f64; 5] = [0.5, 1.0, 2.0, 10.0, 50.0];
    use_one_blas_thread();
    let mut within = [0; MULTIPLES.len()];
    for set in ["diabetes", "breast_cancer", "wine", "concrete"] {
        let mut comparison = Comparison::of(set, 200);
        let kept = comparison.held_out.nrows().min(100);
        comparison.held_out = comparison.held_out.slice(s![..kept, ..]).to_owned();
        let n = comparison.training.nrows();
        for ridge in [0.001, 0.01, 0.1].map(|factor| factor / (n as f64).sqrt()) {
            let (exact, _, dimension) = comparison.exact(ridge);
            for (multiple, within) in MULTIPLES.iter().zip(&mut within) {
                let draws = (multiple * dimension / 2.0).round() as usize;
                let found: Vec<Run> =
                    (0..DRAWS).map(|seed| comparison.run(seed as u64, draws, ridge, &exact)).collect();
                let truth = found.iter().map(|run| run.error).sum::<f64>() / DRAWS as f64;
                let near = |run: &&Run| (1.0 / 1.5..=1.5).contains(&(run.estimate / truth));
                *within += found.iter().filter(near).count();
            }
        }
    }
    let runs = 12 * DRAWS;
    assert!(within.iter().all(|near| near * 10 >= runs * 9), "{within:?} of {runs}");
}

/// Both ways to the estimate are the same.
#[test]
fn leaving_out_groups_is_the_same_through_kernel_matrices() {
    let comparison = Comparison::of("wine", 100);
    let (exact, _, _) = comparison.exact(1e-3);
    let run = comparison.grouped_run(5, 47, 1e-3, &exact);
    let dual = comparison.dual_run(5, 47, 1e-3, &exact);
    assert!((run.error / dual.error - 1.0).abs() < 1e-6 && (run.estimate / dual.estimate - 1.0).abs() < 1e-6);
}

/// y = sin(3a) + noise, with independent rows from positions in an endless sequence.
pub(crate) fn noisy(first: usize, rows: usize) -> RowsInMemory {
    let cells = (first..first + rows).flat_map(|i| {
        let uniform = |number: usize| (mixed((4 * i + number) as u64) >> 11) as f64 / (1_u64 << 53) as f64;
        let a = uniform(0) * 2.0 - 1.0;
        // A sum of three uniform numbers is nearly normal.
        [a, (3.0 * a).sin() + 0.5 * (uniform(1) + uniform(2) + uniform(3) - 1.5)]
    });
    RowsInMemory { cells: cells.collect(), columns: 2 }
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

/// The certificates of 200 models, each on rows of its own, against what they speak of: the distance of that model to
/// the exact method of the same rows, at inputs without end, of which a fine grid knows the distribution.
#[test]
fn certificates_hold_as_often_as_they_say() {
    const SHARE: f64 = 0.9;
    const DELTA: f64 = 0.1;
    const ROWS: usize = 300;
    let grid: Vec<f64> = (0..2_000).map(|i| (f64::from(i) + 0.5) / 1_000.0 - 1.0).collect();
    let rows: Vec<&[f64]> = grid.chunks(1).collect();
    let (mut means, mut tolerances, mut scaled, mut promised, mut chance) = (0, 0, 0, 0.0, 0.0);
    for split in 0..200 {
        let table = noisy(10_000_000 + split * ROWS, ROWS);
        let fixed = json!({
            "lambda": 1e-3, "kernel": {"bandwidth": 0.7}, "scaling": "none", "validation_fraction": 0.4,
            "features": {"count": 16, "seed": split},
        });
        let model = fit(&table, &fixed, 1).unwrap().model;
        let mut exactly = fixed;
        exactly["learner"] = json!("exact_krr");
        exactly["features"] = json!({"seed": split});
        let exact = fit(&table, &exactly, 1).unwrap().model;
        // The exact model keeps the inputs it was trained on, and by them we know the targets.
        let inputs = exact.map.frequencies.written_out().column(0).to_vec();
        let trained = table.cells.chunks(2).filter(|row| inputs.contains(&row[0])).map(|row| row[1]);
        let (low, high) = trained.fold((f64::MAX, f64::MIN), |(low, high), y| (low.min(y), high.max(y)));

        let evidence = model.evidence.clone().unwrap();
        let held_out = evidence.certificate.as_ref().unwrap().differences.len();
        let mean = certificate_mean(&evidence, DELTA);
        let tolerance = certificate_tolerance(&evidence, SHARE, DELTA);
        let made = model.certified_bars(DELTA).unwrap().unwrap();
        let predictor = Predictor::new(model);
        let bars = predictor.error_bars(&rows).unwrap();
        let (near, far) = (predictor.predict(&rows), Predictor::new(exact).predict(&rows));
        let gaps = (&near - &far).mapv(f64::abs);
        let within = gaps.iter().zip(&bars).filter(|(gap, bar)| **gap <= made.bars(&[**bar])[0]).count();
        scaled += usize::from(within as f64 >= SHARE * grid.len() as f64);
        let clipped = near.mapv(|f| f.clamp(low, high)) - far.mapv(|f| f.clamp(low, high));
        means += usize::from((&clipped * &clipped).mean().unwrap() <= mean.value.unwrap());
        let covered = (&near - &far).iter().filter(|gap| gap.abs() <= tolerance.value.unwrap()).count();
        tolerances += usize::from(covered as f64 >= SHARE * grid.len() as f64);
        let confidence = at_most(tolerance.inputs["rank"] as usize - 1, held_out, SHARE);
        assert!(confidence >= 1.0 - DELTA && held_out > 100, "{confidence} {held_out}");
        promised += confidence;
        chance += confidence * (1.0 - confidence);
    }
    // The tolerance has the confidence of its order exactly; the mean at least what it says: 180 of 200.
    let four_deviations = 4.0 * chance.sqrt();
    assert!((tolerances as f64 - promised).abs() <= four_deviations, "{tolerances} {promised} {four_deviations}");
    assert!(means as f64 >= 180.0 - 4.0 * 18_f64.sqrt(), "{means}");
    // Ratios have the same rank.
    assert!((scaled as f64 - promised).abs() <= four_deviations, "{scaled} {promised} {four_deviations}");
}

/// P(Binomial(m, p) ≤ k).
fn at_most(k: usize, m: usize, p: f64) -> f64 {
    let mut term = (1.0 - p).powf(m as f64);
    let mut sum = term;
    for i in 0..k {
        term *= (m - i) as f64 / (i + 1) as f64 * p / (1.0 - p);
        sum += term;
    }
    sum
}

/// Scatters the bits of a number.
pub(crate) fn mixed(number: u64) -> u64 {
    let mut bits = number.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(0x1234_5678_9abc_def1);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}
