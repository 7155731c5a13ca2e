//! What f32 features cost in accuracy, against the f64 pipeline on the same data in the same run:
//! the table behind `Precision::for_ridge`.
//!
//! `cargo bench --bench precision`

use bochner::features::{FeatureMap, Kernel, MapKind, Sampling, Wave};
use bochner::random::{Purpose, Stream};
use bochner::solver::{BlockGram, GramGrid, GramSums, Reach, RidgeSolution, Width, solve_ridge};
use ndarray::{Array1, Array2, Axis};

const BLOCK_ROWS: usize = 2048; // as many as training sums in f32
const LAMBDAS: [f64; 10] = [1e-2, 1e-4, 1e-5, 1e-6, 3e-7, 1e-7, 3e-8, 1e-8, 1e-9, 1e-10];

fn main() {
    println!("largest change of a prediction, mixed against f64, over the standard deviation of y");
    for (n, d, s) in [(2_000, 2, 256), (2_000, 8, 1_024), (20_000, 2, 256), (20_000, 8, 1_024), (100_000, 8, 1_024)] {
        report(n, d, s);
    }
}

fn report(n: usize, d: usize, s: usize) {
    let (inputs, targets) = data(n, d);
    let kernel = Kernel::Gaussian { bandwidth: (2.0 * d as f64).sqrt() };
    let map = FeatureMap::sample(kernel, MapKind::Pair, Sampling::Plain, 1, s, d);
    let spread = targets.std(0.0);
    println!("n = {n}, d = {d}, s = {s}");
    for lambda in LAMBDAS {
        let (mixed, mixed_predictions) = fit::<f32>(&map, &inputs, &targets, lambda);
        let (double, double_predictions) = fit::<f64>(&map, &inputs, &targets, lambda);
        let change =
            (&mixed_predictions - &double_predictions).iter().fold(0.0_f64, |most, value| most.max(value.abs()));
        println!("  lambda {lambda:8.0e}  change {:8.1e}  {:?} / {:?}", change / spread, mixed.method, double.method);
    }
}

/// A smooth function of gaussian inputs, with noise.
fn data(n: usize, d: usize) -> (Array2<f64>, Array1<f64>) {
    let mut stream = Stream::new(3, Purpose::Split, 1);
    let inputs = Array2::from_shape_simple_fn((n, d), || stream.normal());
    let smooth = |row: ndarray::ArrayView1<f64>| (1.5 * row[0]).sin() + row[1] * row[1];
    let targets: Array1<f64> = inputs.rows().into_iter().map(|row| smooth(row) + 0.3 * stream.normal()).collect();
    let mean = targets.mean().unwrap_or_default();
    (inputs, targets - mean)
}

fn fit<T: Wave>(map: &FeatureMap, x: &Array2<f64>, y: &Array1<f64>, lambda: f64) -> (RidgeSolution, Array1<f64>) {
    let projector = map.projector::<T>();
    let target = y.iter().fold(0.0, |largest: f64, y| largest.max(y.abs()));
    let feature = map.column_bound().expect("waves are bounded");
    let reach = Reach { feature, weight: y.len() as f64, targets: vec![target] };
    let mut sums = GramSums::new(map.feature_count(), GramGrid::new(&reach, Width::Narrow));
    let blocks = || x.axis_chunks_iter(Axis(0), BLOCK_ROWS);
    let features = |inputs: ndarray::ArrayView2<f64>| projector.transform(inputs);
    for (inputs, targets) in blocks().zip(y.axis_chunks_iter(Axis(0), BLOCK_ROWS)) {
        let block = BlockGram::of(features(inputs), targets.insert_axis(Axis(1)), None);
        sums.add(&[block], 2).expect("within the bounds");
    }
    let solution = solve_ridge(&sums.finish().into_normal_equations(), lambda, 2).expect("the ridge is positive");
    let predictions =
        blocks().flat_map(|inputs| features(inputs).mapv(T::to_f64).dot(&solution.weights.column(0))).collect();
    (solution, predictions)
}
