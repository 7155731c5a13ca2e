//! Exact kernel ridge regression against scikit-learn's `KernelRidge`, its preconditioners against none, and a solve that
//! stops by the gap to a random-feature model against one to a residual of 1e-8.
//!
//! `make bench-peers BOCHNER_DATA=folder`, where the folder holds `california_housing.csv.gz` and
//! `covtype.csv.gz`. Without a folder there is nothing to do. `BOCHNER_BENCH_ONLY=large` runs one part of
//! `peer`, `large`, `preconditioners` and `gap`.

use bochner::features::{FeatureMap, Kernel, MapKind, Precision, Sampling};
use bochner::linalg::use_one_blas_thread;
use bochner::solver::{
    ExactKrr, ExactProblem, ExactSolve, FeatureSource, GramSums, Preconditioner, Watch, solve_ridge,
};
use bochner::theory::ours::certificate::solver_slack;
use ndarray::{Array2, ArrayView2, s};
use peak::peak_megabytes;
use serde_json::Value;
use std::io::Write;
use std::process::{Command, Stdio};
use std::time::Instant;

mod peak;
mod table;

/// Bytes a preconditioner may take.
const MEMORY: u64 = 256 << 20;

/// A part of the bench, given the folder of tables.
type Part = fn(&str);

fn main() {
    let Ok(folder) = std::env::var("BOCHNER_DATA") else {
        println!("skipped: BOCHNER_DATA names no folder; see the head of benches/exact.rs");
        return;
    };
    use_one_blas_thread();
    let only = std::env::var("BOCHNER_BENCH_ONLY").ok();
    let parts: [(&str, Part); 4] = [
        ("peer", against_scikit_learn),
        ("large", a_large_table),
        ("preconditioners", preconditioners),
        ("gap", stopped_by_the_gap),
    ];
    for (name, part) in parts {
        if only.as_ref().is_none_or(|only| only == name) {
            part(&folder);
        }
    }
}

fn against_scikit_learn(folder: &str) {
    let houses = Table::read(&format!("{folder}/california_housing.csv.gz"), 20_000);
    let n = houses.inputs.nrows();
    for (name, ridge) in [("1/sqrt(n)", (n as f64).sqrt().recip()), ("1e-6", 1e-6)] {
        let start = Instant::now();
        let found = houses.solve(n, Kernel::Gaussian { bandwidth: houses.bandwidth() }, ridge, None, 2_000);
        let ours = start.elapsed().as_secs_f64();
        println!("cadata, n = {n}, lambda = {name}: {ours:.2} s, peak {:.0} MB; {}", peak_megabytes(), words(&found));
        let peer = houses.scikit_learn(ridge);
        let seconds = peer["seconds"].as_f64().expect("a number");
        println!(
            "  scikit-learn {seconds:.1} s, peak {} MB: ours takes {:.3} of the time",
            peer["peak_mb"],
            ours / seconds
        );
    }
}

fn a_large_table(folder: &str) {
    let forest = Table::read(&format!("{folder}/covtype.csv.gz"), 100_000);
    let start = Instant::now();
    let found = forest.solve(100_000, Kernel::Gaussian { bandwidth: forest.bandwidth() }, 1e-4, None, 2_000);
    let seconds = start.elapsed().as_secs_f64();
    println!("covtype, n = 100000, lambda = 1e-4: {seconds:.1} s, peak {:.0} MB; {}", peak_megabytes(), words(&found));
}

fn preconditioners(folder: &str) {
    let houses = Table::read(&format!("{folder}/california_housing.csv.gz"), 16_000);
    // Just above the rows that are solved densely a trial is dearest next to the solve.
    for rows in [4_000, 16_000] {
        houses.table_of_preconditioners(rows);
    }
}

/// Next to a model on 1,024 features, as training solves it: until the squared slack of the solver is 1% of the squared distance
/// on the training rows; and from the same start to 1e-8, which is where training stopped before.
fn stopped_by_the_gap(folder: &str) {
    const ROWS: usize = 16_000;
    const FULL: f64 = 1e-8;
    let houses = Table::read(&format!("{folder}/california_housing.csv.gz"), ROWS);
    let kernel = Kernel::Gaussian { bandwidth: houses.bandwidth() };
    let map = FeatureMap::sample(kernel, MapKind::Pair, Sampling::Plain, 0, 1_024, houses.inputs.ncols());
    let features = map.projector::<f64>().transform(houses.inputs.view());
    let sums = GramSums::of(features.clone(), houses.targets.view(), None).expect("finite features");
    let equations = sums.finish().into_normal_equations();
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let make = |inputs: ArrayView2<f64>| map.projector::<f32>().transform(inputs);
    for ridge in [(ROWS as f64).sqrt().recip(), 1e-4, 1e-5, 1e-6, 1e-7] {
        let near = features.dot(&solve_ridge(&equations, ridge, threads).expect("a positive ridge").weights);
        let problem = ExactProblem {
            kernel,
            inputs: houses.inputs.view(),
            targets: houses.targets.view(),
            ridge,
            tolerance: FULL,
            features: Some(&FeatureSource { count: map.feature_count(), make: &make }),
            precision: Precision::Mixed,
            preconditioner: None,
            memory: MEMORY,
            threads,
            progress: None,
        };
        let watch = Watch { progress: None, go_on: &|| true };
        let mut solver = problem.prepare(watch).expect("a system within reach");
        let shift = ROWS as f64 * ridge;
        let first = (&houses.targets - &near) / shift;
        let mut solve = |tolerance: f64, start: Array2<f64>| {
            solver.solve(houses.targets.view(), tolerance, Some(start), watch).expect("a solution")
        };
        let begun = Instant::now();
        let mut by_gap = solve(1e-4, first.clone());
        let mut iterations = by_gap.evidence.iterations;
        for _ in 1..4 {
            let norm = houses.targets.iter().map(|target| target * target).sum::<f64>().sqrt();
            let wanted = (0.01 * distance(&by_gap, &near)).sqrt() / solver_slack(1.0, norm, shift);
            if by_gap.evidence.relative_residual <= wanted.max(FULL) {
                break;
            }
            by_gap = solve((0.5 * wanted).max(FULL), by_gap.coefficients);
            iterations += by_gap.evidence.iterations;
        }
        let short = begun.elapsed().as_secs_f64();
        let begun = Instant::now();
        let full = solve(FULL, first);
        let long = begun.elapsed().as_secs_f64();
        println!(
            "cadata, n = {ROWS}, s = 1024, lambda = {ridge:.1e}: to 1e-8 {} iterations in {long:.2} s, stopped by the gap \
             {iterations} in {short:.2} s at {:.1e}; squared distance {:.4e} and {:.4e}",
            full.evidence.iterations,
            by_gap.evidence.relative_residual,
            distance(&full, &near),
            distance(&by_gap, &near)
        );
    }
}

/// The mean squared distance of a solution to the predictions of a model on the training rows.
fn distance(exact: &ExactKrr, near: &Array2<f64>) -> f64 {
    (&exact.fitted - near).iter().map(|gap| gap * gap).sum::<f64>() / near.nrows() as f64
}

struct Table {
    inputs: Array2<f64>,
    /// Centred, n×1.
    targets: Array2<f64>,
}

impl Table {
    fn read(path: &str, rows: usize) -> Self {
        let (inputs, targets) = table::read(path);
        // Rows in the order of a multiplicative shuffle: the files are sorted.
        let n = inputs.nrows();
        let order: Vec<usize> = (0..n).map(|i| i * 7_919 % n).take(rows).collect();
        let inputs = inputs.select(ndarray::Axis(0), &order);
        let targets: Vec<f64> = order.iter().map(|&row| targets[row].parse().expect("numbers")).collect();
        let mean = targets.iter().sum::<f64>() / targets.len() as f64;
        let targets = Array2::from_shape_vec((rows, 1), targets).expect("one column") - mean;
        let scale = targets.std(0.0);
        Self { inputs, targets: targets / scale }
    }

    fn bandwidth(&self) -> f64 {
        // √(2Σ Var), the root of the mean squared distance.
        (2.0 * self.inputs.var_axis(ndarray::Axis(0), 0.0).sum()).sqrt()
    }

    fn solve(
        &self,
        rows: usize,
        kernel: Kernel,
        ridge: f64,
        preconditioner: Option<Preconditioner>,
        feature_count: usize,
    ) -> ExactSolve {
        let inputs = self.inputs.slice(s![..rows, ..]);
        let map = FeatureMap::sample(kernel, MapKind::Pair, Sampling::Plain, 0, feature_count, inputs.ncols());
        let make = |inputs: ArrayView2<f64>| map.projector::<f32>().transform(inputs);
        let problem = ExactProblem {
            kernel,
            inputs,
            targets: self.targets.slice(s![..rows, ..]),
            ridge,
            tolerance: 1e-6,
            features: Some(&FeatureSource { count: feature_count, make: &make }),
            precision: Precision::Mixed,
            preconditioner,
            memory: MEMORY,
            threads: std::thread::available_parallelism().map_or(1, usize::from),
            progress: None,
        };
        problem.solve(None, &|| true).expect("a positive ridge").evidence
    }

    fn table_of_preconditioners(&self, n: usize) {
        let bandwidth = self.bandwidth();
        println!("cadata, n = {n}: seconds (iterations) without, and as a share of that time");
        for kernel in [Kernel::Gaussian { bandwidth }, Kernel::Laplace { bandwidth: 2.0 * bandwidth }] {
            for feature_count in [500, 2_000] {
                for ridge in [1e-2, 1e-4, 1e-6] {
                    let timed = |preconditioner| {
                        let start = Instant::now();
                        let found = self.solve(n, kernel, ridge, preconditioner, feature_count);
                        (start.elapsed().as_secs_f64(), found)
                    };
                    let (none, plain) = timed(Some(Preconditioner::None));
                    print!("  {kernel:?} s = {feature_count} lambda = {ridge:e}: {none:.1} s ({})", plain.iterations);
                    for kind in
                        [Preconditioner::Features, Preconditioner::DampedFeatures, Preconditioner::PivotedCholesky]
                    {
                        let (seconds, found) = timed(Some(kind));
                        print!(", {kind:?} {:.2} ({})", seconds / none, found.iterations);
                    }
                    let (seconds, found) = timed(None);
                    println!(", chosen {:?} {:.2} ({})", found.preconditioner, seconds / none, found.iterations);
                }
            }
        }
    }

    fn scikit_learn(&self, ridge: f64) -> Value {
        let python = std::env::var("BOCHNER_PYTHON").expect("set BOCHNER_PYTHON, or run make bench-peers");
        let mut file = tempfile::NamedTempFile::new().expect("a temporary file");
        let rows = self.inputs.rows().into_iter().zip(&self.targets);
        let numbers = rows.flat_map(|(inputs, target)| inputs.iter().chain([target]).copied().collect::<Vec<_>>());
        let bytes: Vec<u8> = numbers.flat_map(f64::to_le_bytes).collect();
        file.write_all(&bytes).expect("the disk has room");
        // Some builds of the OpenBLAS that scipy brings crash here on several threads: then on one.
        let run = |threads: &[(&str, &str)]| {
            let output = Command::new(&python)
                .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/benches/peers/exact.py"))
                .arg(file.path())
                .args([self.inputs.ncols().to_string(), self.bandwidth().to_string(), ridge.to_string()])
                .envs(threads.iter().copied())
                .stderr(Stdio::inherit())
                .output()
                .expect("Python runs");
            serde_json::from_slice::<Value>(&output.stdout).ok()
        };
        run(&[]).or_else(|| run(&[("OPENBLAS_NUM_THREADS", "1")])).expect("the script prints JSON")
    }
}

fn words(found: &ExactSolve) -> String {
    format!(
        "{:?} of rank {}, {} iterations, {} corrections, residual {:.1e}",
        found.preconditioner, found.rank, found.iterations, found.corrections, found.relative_residual
    )
}
