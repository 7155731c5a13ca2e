//! The parts of training and prediction, each against BLAS alone for the same multiplications, in one run.
//!
//! `cargo bench --bench parts`

use bochner::features::{FeatureMap, Frequencies, Kernel, MapKind, Sampling};
use bochner::linalg::{PackedRows, Real, add_outer_products, lower_factor, use_one_blas_thread};
use bochner::model::Predictor;
use bochner::sums::GridInt;
use ndarray::linalg::general_mat_mul;
use ndarray::{Array2, s};
use serde_json::json;
use std::hint::black_box;
use std::ops::Neg;
use std::time::Instant;
use synthetic::{Synthetic, fit};

mod synthetic;
mod trainer;

const REPETITIONS: usize = 15;

/// Multiples of the grid of a sum in 1: what many repetitions reach stays below 2^62.
const GRID: f64 = (1_u64 << 54) as f64;

fn main() {
    use_one_blas_thread();
    println!("sum of outer products of 2,048 rows in f32, one thread, against ssyrk; ours ends on a grid of 64 bits");
    for s in [512, 1_024, 2_048, 4_096] {
        gram(s);
    }
    println!("Cholesky factor in f64, one thread, against dgemm of as many multiplications");
    for s in [1_024, 2_048, 4_096] {
        cholesky(s);
    }
    println!("prediction in f32, scaling and weights included, against sgemm of the projection alone");
    for (s, d) in [(512, 8), (2_048, 90), (8_192, 784)] {
        prediction(s, d);
    }
}

/// Seconds of each, the best of interleaved runs: these machines are shared.
fn best<const N: usize>(mut works: [&mut dyn FnMut(); N]) -> [f64; N] {
    let mut times = [f64::INFINITY; N];
    for _ in 0..REPETITIONS {
        for (work, time) in works.iter_mut().zip(&mut times) {
            let start = Instant::now();
            work();
            *time = time.min(start.elapsed().as_secs_f64());
        }
    }
    times
}

fn gram(s: usize) {
    const BLOCKS: usize = 4;
    const ROWS: usize = 512;
    let rows = Array2::from_shape_fn((BLOCKS * ROWS, s), |(i, j)| ((i * 7 + j * 13) as f32).cos() / 32.0);
    let mut blocks: Vec<_> = (0..BLOCKS).map(|_| PackedRows::new(ROWS, s)).collect();
    let mut products = Array2::<f32>::zeros((s, s));
    let (mut sums, mut plain) = (Array2::<i64>::zeros((s, s)), Array2::<Plain>::default((s, s)));
    let pack = |blocks: &mut [PackedRows<f32>]| {
        for (block, rows) in blocks.iter_mut().zip(rows.axis_chunks_iter(ndarray::Axis(0), ROWS)) {
            block.clear();
            rows.rows().into_iter().for_each(|row| block.push(row.to_slice().expect("row-major")));
        }
    };
    pack(&mut blocks);
    let packed: Vec<_> = blocks.iter().collect();
    let [grid, in_f64] = best([&mut || assert!(add_outer_products(&packed, &mut sums, GRID, 1)), &mut || {
        assert!(add_outer_products(&packed, &mut plain, 1.0, 1));
    }]);
    let [syrk, ours] = best([&mut || f32::rank_update(rows.view(), &mut products), &mut || {
        pack(&mut blocks);
        assert!(add_outer_products(&blocks.iter().collect::<Vec<_>>(), &mut sums, GRID, 1));
    }]);
    println!("  s = {s}: ssyrk {:.1} ms, ours {:.1} ms, ratio {:.2}", 1e3 * syrk, 1e3 * ours, ours / syrk);
    println!("    added on the grid {:.2} ms, in f64 {:.2} ms, ratio {:.3}", 1e3 * grid, 1e3 * in_f64, grid / in_f64);
}

/// Sums in f64 by the same kernel: what the grid is compared with.
#[derive(Clone, Copy, Default, PartialEq, PartialOrd)]
struct Plain(f64);

impl Neg for Plain {
    type Output = Self;

    fn neg(self) -> Self {
        Self(-self.0)
    }
}

#[allow(clippy::inline_always)] // as the integers
impl GridInt for Plain {
    const LIMIT: i32 = 1000;
    const MOST: Self = Self(f64::MAX);

    #[inline(always)]
    fn rounded(value: f64) -> Self {
        Self(value)
    }

    #[inline(always)]
    fn plus(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }

    fn to_f64(self) -> f64 {
        self.0
    }
}

fn cholesky(s: usize) {
    let noise = Array2::from_shape_fn((s, s), |(i, j)| ((i * 31 + j * 17) as f64 * 0.7).sin());
    let matrix = noise.t().dot(&noise) / s as f64 + Array2::<f64>::eye(s);
    // s³/3 multiplications and additions against s·s·(s/6) of each.
    let mut product = Array2::zeros((s, s));
    let [gemm, ours] = best([
        &mut || general_mat_mul(1.0, &noise.slice(s![.., ..s / 6]), &noise.slice(s![..s / 6, ..]), 0.0, &mut product),
        &mut || drop(black_box(lower_factor(matrix.clone(), 1).expect("positive definite"))),
    ]);
    println!("  s = {s}: dgemm {:.1} ms, ours {:.1} ms, ratio {:.2}", 1e3 * gemm, 1e3 * ours, ours / gemm);
}

fn prediction(s: usize, d: usize) {
    let model = fit(&Synthetic { n: 500, d }, s, 2, &json!(1e-3), false);
    let map = FeatureMap::sample(Kernel::Gaussian { bandwidth: 1.0 }, MapKind::Pair, Sampling::Plain, 0, s, d);
    let Frequencies::Dense(frequencies) = &map.frequencies else { panic!("dense") };
    let directions = frequencies.t().as_standard_layout().mapv(|value| value as f32); // d×m
    let predictor = Predictor::new(model);
    for rows in [1, 16, 1_000] {
        let cells: Vec<Vec<f64>> =
            (0..rows).map(|i| (0..d).map(|j| ((i * d + j) as f64 * 0.37).sin()).collect()).collect();
        let codes: Vec<&[f64]> = cells.iter().map(Vec::as_slice).collect();
        let inputs = Array2::from_shape_fn((rows, d), |(i, j)| cells[i][j] as f32);
        let times = 1 + 20_000_000 / (rows * s * (d + 16));
        let mut angles = Array2::zeros((rows, s / 2));
        let [gemm, ours] = best([
            &mut || (0..times).for_each(|_| general_mat_mul(1.0, &inputs, &directions, 0.0, black_box(&mut angles))),
            &mut || (0..times).for_each(|_| drop(black_box(predictor.predict(&codes)))),
        ])
        .map(|seconds| 1e6 * seconds / times as f64);
        println!("  s = {s}, d = {d}, rows {rows}: sgemm {gemm:.2} µs, ours {ours:.2} µs, ratio {:.2}", ours / gemm);
    }
}
