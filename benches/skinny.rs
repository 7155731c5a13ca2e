//! Products with a few columns against BLAS, on one core in one run.
//!
//! `cargo bench --bench skinny`

use bochner::linalg::{add_transposed_product, product, use_one_blas_thread};
use ndarray::linalg::general_mat_mul;
use ndarray::{Array2, Axis};
use std::time::Instant;

/// As in a sweep of a classifier: forward and back while the rows are in the cache.
const CACHED_ROWS: usize = 64;

fn main() {
    use_one_blas_thread();
    for (rows, s, k) in [(2048, 4096, 10), (2048, 4096, 26), (2048, 1024, 3), (1024, 8192, 7)] {
        let long = Array2::from_shape_fn((rows, s), |(i, j)| ((i * 31 + j) % 97) as f32 / 97.0);
        let few = Array2::from_shape_fn((k, s), |(i, j)| ((i * 17 + j) % 89) as f32 / 89.0);
        let mut values = Array2::<f32>::zeros((CACHED_ROWS, k));
        let mut sums = Array2::<f32>::zeros((k, s));
        let (mut ours, mut blas) = (f64::INFINITY, f64::INFINITY);
        for _ in 0..5 {
            let start = Instant::now();
            for block in long.axis_chunks_iter(Axis(0), CACHED_ROWS) {
                product(block, few.view(), values.view_mut());
                add_transposed_product(block, values.view(), sums.view_mut());
            }
            ours = ours.min(start.elapsed().as_secs_f64());
            let start = Instant::now();
            for block in long.axis_chunks_iter(Axis(0), CACHED_ROWS) {
                general_mat_mul(1.0, &block, &few.t(), 0.0, &mut values);
                general_mat_mul(1.0, &values.t(), &block, 1.0, &mut sums);
            }
            blas = blas.min(start.elapsed().as_secs_f64());
        }
        let gigaflops = 4.0 * (rows * s * k) as f64 / 1e9;
        println!(
            "s = {s:5}  k = {k:3}  ours {:6.1} GFLOP/s  BLAS {:6.1} GFLOP/s  ratio {:.2}",
            gigaflops / ours,
            gigaflops / blas,
            blas / ours
        );
    }
}
