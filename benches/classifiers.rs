//! Classifiers against scikit-learn's on the same features: the time to an objective within 1e-4 of the best,
//! the making of features included on both sides, one after the other in one run.
//!
//! `make bench-peers BOCHNER_DATA=folder`, where the folder holds `a9a.train.csv.gz` and `mnist.train.csv.gz`: a
//! header, numbers, and the label in the last column. Without a folder there is nothing to do.

use bochner::features::{FeatureMap, Frequencies, Kernel, MapKind, Sampling};
use bochner::linalg::use_one_blas_thread;
use bochner::solver::{
    ClassRows, ClassifierSettings, ClassifierSolution, ClassifierWeights, FeatureBlocks, Loss, in_order,
    solve_classifier,
};
use ndarray::{Array2, ArrayView2, Axis, s};
use serde_json::Value;
use std::convert::Infallible;
use std::io::Write;
use std::ops::Range;
use std::process::{Command, Stdio};
use std::time::Instant;

mod table;

const BLOCK_ROWS: usize = 1024;
const FEATURES: usize = 4096;
const RIDGE: f64 = 1e-5;
/// Seconds that scikit-learn may spend on one learner.
const ALLOWED: f64 = 300.0;

fn main() {
    let Ok(folder) = std::env::var("BOCHNER_DATA") else {
        println!("skipped: BOCHNER_DATA names no folder; see the head of benches/classifiers.rs");
        return;
    };
    use_one_blas_thread();
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    println!("s = {FEATURES}, lambda = {RIDGE:e}, threads = {threads}");
    for name in std::env::var("BOCHNER_SETS").unwrap_or("a9a,mnist".into()).split(',') {
        compare(&format!("{folder}/{name}.train.csv.gz"), name, threads);
    }
}

fn compare(path: &str, name: &str, threads: usize) {
    let (inputs, classes) = read(path);
    let class_count = classes.iter().max().map_or(0, |most| most + 1);
    let d = inputs.ncols();
    let kernel = Kernel::Gaussian { bandwidth: (2.0 * d as f64).sqrt() };
    let map = FeatureMap::sample(kernel, MapKind::Pair, Sampling::Plain, 0, FEATURES, d);
    let weights = vec![1.0; classes.len()];
    for (loss, learner) in [(Loss::Logistic, "logistic"), (Loss::SquaredHinge, "squared_hinge")] {
        let start = Instant::now();
        let held = make_features(&map, &inputs, threads);
        let features_seconds = start.elapsed().as_secs_f64();
        let solve = |tolerance: f64, from: Option<&ClassifierWeights>| -> ClassifierSolution {
            let preconditioner_rows = None;
            let settings =
                ClassifierSettings { loss, ridge: RIDGE, tolerance, pass_limit: 5_000, preconditioner_rows, threads };
            let rows = ClassRows { classes: &classes, weights: &weights, class_count };
            solve_classifier(&held, rows, &settings, from).expect("features are finite")
        };
        let found = solve(3e-5, None);
        let ours = start.elapsed().as_secs_f64();
        let best = objective(&solve(1e-7, Some(&found.function)));
        let above = objective(&found) / best - 1.0;
        println!(
            "{name} {learner}: ours {ours:.1} s (features {features_seconds:.1}), {} passes, {above:.1e} above the best",
            found.evidence.passes
        );
        drop(held);
        let peer = scikit_learn(&inputs, &map, &classes, learner, best);
        match peer["seconds"].as_f64() {
            Some(seconds) => println!("  scikit-learn {seconds:.1} s, {:.2} times ours", seconds / ours),
            None => println!("  scikit-learn not there after {} s ({} above)", peer["spent"], peer["closest"]),
        }
    }
}

/// The sum over the problems of one label against the rest.
fn objective(solution: &ClassifierSolution) -> f64 {
    solution.evidence.objectives.iter().sum()
}

/// Standardised inputs and class indices of a table.
fn read(path: &str) -> (Array2<f64>, Vec<usize>) {
    let (inputs, labels) = table::read(path);
    let mut known = labels.clone();
    known.sort();
    known.dedup();
    let classes = labels.iter().map(|label| known.binary_search(label).expect("a known label")).collect();
    (inputs, classes)
}

struct Held(Array2<f32>);

fn make_features(map: &FeatureMap, inputs: &Array2<f64>, threads: usize) -> Held {
    let projector = map.projector::<f32>();
    let blocks: Vec<ArrayView2<f64>> = inputs.axis_chunks_iter(Axis(0), BLOCK_ROWS).collect();
    let features = in_order(
        threads,
        blocks.len(),
        || Array2::zeros((0, 0)),
        |block, features| -> Result<(), Infallible> {
            projector.transform_into(blocks[block], features);
            Ok(())
        },
        Array2::zeros((inputs.nrows(), FEATURES)),
        |block, features, all| {
            all.slice_mut(s![block * BLOCK_ROWS..block * BLOCK_ROWS + features.nrows(), ..]).assign(features);
            Ok(())
        },
    );
    Held(features.unwrap_or_else(|_| unreachable!("nothing can fail")))
}

impl FeatureBlocks<f32> for Held {
    type Error = Infallible;

    fn block_count(&self) -> usize {
        self.0.nrows().div_ceil(BLOCK_ROWS)
    }

    fn feature_count(&self) -> usize {
        self.0.ncols()
    }

    fn rows(&self, block: usize) -> Range<usize> {
        block * BLOCK_ROWS..((block + 1) * BLOCK_ROWS).min(self.0.nrows())
    }

    fn visit(&self, block: usize, visit: &mut dyn FnMut(ArrayView2<f32>)) -> Result<(), Infallible> {
        visit(self.0.slice(s![self.rows(block), ..]));
        Ok(())
    }
}

fn scikit_learn(inputs: &Array2<f64>, map: &FeatureMap, classes: &[usize], learner: &str, best: f64) -> Value {
    let python = std::env::var("BOCHNER_PYTHON").expect("set BOCHNER_PYTHON, or run make bench-peers");
    let Frequencies::Dense(frequencies) = &map.frequencies else { panic!("plain frequencies are dense") };
    let file = |bytes: &mut dyn Iterator<Item = u8>| {
        let mut file = tempfile::NamedTempFile::new().expect("a temporary file");
        file.write_all(&bytes.collect::<Vec<u8>>()).expect("the disk has room");
        file
    };
    let inputs_file = file(&mut inputs.iter().flat_map(|value| (*value as f32).to_le_bytes()));
    let frequencies_file = file(&mut frequencies.iter().flat_map(|value| value.to_le_bytes()));
    let classes_file =
        file(&mut classes.iter().flat_map(|class| i32::try_from(*class).expect("few classes").to_le_bytes()));
    let output = Command::new(python)
        .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/benches/peers/classifiers.py"))
        .args([inputs_file.path(), frequencies_file.path(), classes_file.path()])
        .args([inputs.nrows().to_string(), inputs.ncols().to_string(), learner.to_owned()])
        .args([RIDGE, best, ALLOWED].map(|number| number.to_string()))
        .stderr(Stdio::inherit())
        .output()
        .expect("Python runs");
    serde_json::from_slice(&output.stdout).expect("the script prints JSON")
}
