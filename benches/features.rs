//! Feature maps: structured against dense projections as inputs grow, and both blocks and single rows
//! against a general matrix product followed by cosines. Every ratio is taken within one run.
//!
//! `cargo bench --bench features`

use bochner::features::{FeatureMap, Frequencies, Kernel, MapKind, Projector, Sampling, Wave};
use bochner::linalg::use_one_blas_thread;
use ndarray::{Array2, ArrayView2, s};
use std::hint::black_box;
use std::time::Instant;

const BLOCK_ROWS: usize = 1_024;
const REPETITIONS: usize = 15;

fn main() {
    use_one_blas_thread();
    println!("blocks of {BLOCK_ROWS} rows in f32 on one core, milliseconds");
    for s in [2_048, 4_096] {
        for d in [16, 64, 128, 256, 512, 1_024] {
            let (dense, structured) = (map(Sampling::Plain, s, d), map(Sampling::Structured, s, d));
            let (dense_projector, structured) = (dense.projector(), structured.projector());
            let inputs = inputs(BLOCK_ROWS, d);
            let [blas, dense, structured] = best([
                &mut blas_then_cosines(&dense, inputs.view()),
                &mut into_used_memory(&dense_projector, inputs.view()),
                &mut into_used_memory(&structured, inputs.view()),
            ]);
            println!(
                "  s = {s}  d = {d:4}  gemm, then cosines {blas:6.2}  dense {dense:6.2}  structured {structured:6.2}  \
                 structured/dense {:.2}  structured/gemm {:.2}",
                structured / dense,
                structured / blas
            );
        }
    }
    println!("as in training, milliseconds");
    for (s, d) in [(1_024, 8), (2_048, 90)] {
        let map = map(Sampling::Plain, s, d);
        let projector = map.projector::<f32>();
        let inputs = inputs(BLOCK_ROWS, d);
        let [blas, fresh, reused] = best([
            &mut blas_then_cosines(&map, inputs.view()),
            &mut || drop(black_box(projector.transform(inputs.view()))),
            &mut into_used_memory(&projector, inputs.view()),
        ]);
        println!(
            "  s = {s}  d = {d:4}  gemm, then cosines {blas:6.2}  transform {fresh:6.2} ({:.2})  into used memory \
             {reused:6.2} ({:.2})",
            fresh / blas,
            reused / blas
        );
    }
    println!("few rows, microseconds");
    for (s, d) in [(512, 8), (2_048, 90), (8_192, 784)] {
        let map = map(Sampling::Plain, s, d);
        let projector = map.projector::<f32>();
        for rows in [1, 4, 16] {
            let inputs = inputs(rows, d);
            let times = 1 + 20_000_000 / (rows * s * (d + 16));
            let repeated = |work: &mut dyn FnMut()| (0..times).for_each(|_| work());
            let mut blas = blas_then_cosines(&map, inputs.view());
            let [blas, own] = best([&mut || repeated(&mut blas), &mut || {
                repeated(&mut || drop(black_box(projector.transform(inputs.view()))));
            }])
            .map(|milliseconds| 1e3 * milliseconds / times as f64);
            println!(
                "  s = {s}  d = {d:3}  rows {rows:2}  gemm, then cosines {blas:8.2}  transform {own:8.2}  ratio {:.2}",
                own / blas
            );
        }
    }
}

/// Milliseconds of each, the best of interleaved runs: these machines are shared.
fn best<const N: usize>(mut works: [&mut dyn FnMut(); N]) -> [f64; N] {
    let mut times = [f64::INFINITY; N];
    for _ in 0..REPETITIONS {
        for (work, time) in works.iter_mut().zip(&mut times) {
            let start = Instant::now();
            work();
            *time = time.min(1e3 * start.elapsed().as_secs_f64());
        }
    }
    times
}

fn map(sampling: Sampling, s: usize, d: usize) -> FeatureMap {
    let kernel = Kernel::Gaussian { bandwidth: (2.0 * d as f64).sqrt() };
    FeatureMap::sample(kernel, MapKind::Pair, sampling, 0, s, d)
}

fn inputs(rows: usize, d: usize) -> Array2<f64> {
    Array2::from_shape_fn((rows, d), |(i, j)| ((i * d + j) as f64 * 0.37).sin())
}

fn into_used_memory<'a>(projector: &'a Projector<f32>, inputs: ArrayView2<'a, f64>) -> impl FnMut() + use<'a> {
    let mut features = Array2::zeros((0, 0));
    move || {
        projector.transform_into(inputs, &mut features);
        black_box(&mut features);
    }
}

/// The plain way: all angles by BLAS, then all cosines and sines.
fn blas_then_cosines<'a>(map: &FeatureMap, inputs: ArrayView2<'a, f64>) -> impl FnMut() + use<'a> {
    let Frequencies::Dense(frequencies) = &map.frequencies else { panic!("dense") };
    let directions = frequencies.t().as_standard_layout().mapv(|value| value as f32); // d×m
    let m = frequencies.nrows();
    let amplitude = (1.0 / m as f32).sqrt();
    move || {
        let angles = inputs.mapv(|value| value as f32).dot(&directions);
        let mut features = Array2::zeros((inputs.nrows(), 2 * m));
        for (angles, mut features) in angles.rows().into_iter().zip(features.rows_mut()) {
            let (mut cosines, mut sines) = features.multi_slice_mut((s![..m], s![m..]));
            f32::cos_sin(
                pulp::Arch::new(),
                amplitude,
                angles.as_slice().expect("contiguous"),
                cosines.as_slice_mut().expect("contiguous"),
                sines.as_slice_mut().expect("contiguous"),
            );
        }
        black_box(&mut features);
    }
}
