//! Feature maps: dense against structured projections as inputs grow, and what one prediction costs.
//!
//! `cargo bench --bench features`

use bochner::features::{FeatureMap, Kernel, MapKind, Sampling};
use bochner::linalg::use_one_blas_thread;
use ndarray::Array2;
use std::hint::black_box;
use std::time::Instant;

fn main() {
    use_one_blas_thread();
    println!("features of 1,024 rows in f32 on one core, s = 4096, milliseconds");
    for d in [16, 64, 128, 256, 512, 1_024] {
        let dense = milliseconds(d, Sampling::Plain, 1_024);
        let structured = milliseconds(d, Sampling::Structured, 1_024);
        println!("  d = {d:5}  dense {dense:8.2}  structured {structured:8.2}  ratio {:.2}", dense / structured);
    }
    println!("features of one row in f32, s = 512, microseconds");
    for d in [8, 64, 512] {
        let dense = 1e3 * row_milliseconds(d);
        println!("  d = {d:5}  {dense:8.2}");
    }
}

/// The best of several runs: these machines are shared.
fn best(runs: usize, work: impl Fn()) -> f64 {
    let once = |_| {
        let start = Instant::now();
        work();
        1e3 * start.elapsed().as_secs_f64()
    };
    (0..runs).map(once).fold(f64::INFINITY, f64::min)
}

fn milliseconds(d: usize, sampling: Sampling, rows: usize) -> f64 {
    let kernel = Kernel::Gaussian { bandwidth: (2.0 * d as f64).sqrt() };
    let projector = FeatureMap::sample(kernel, MapKind::Pair, sampling, 0, 4_096, d).projector::<f32>();
    let inputs = Array2::from_shape_fn((rows, d), |(i, j)| ((i * d + j) as f64 * 0.37).sin());
    best(5, || drop(black_box(projector.transform(inputs.view()))))
}

fn row_milliseconds(d: usize) -> f64 {
    const ROWS: usize = 1_000;
    let kernel = Kernel::Gaussian { bandwidth: (2.0 * d as f64).sqrt() };
    let projector = FeatureMap::sample(kernel, MapKind::Pair, Sampling::Plain, 0, 512, d).projector::<f32>();
    let inputs = Array2::from_elem((1, d), 0.3);
    let work = || {
        for _ in 0..ROWS {
            drop(black_box(projector.transform(inputs.view())));
        }
    };
    best(5, work) / ROWS as f64
}
