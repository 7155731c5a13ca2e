//! What it costs to choose features from a pool, and what it is worth where features are scarce.
//!
//! `cargo bench --bench sampling` for the cost; `BOCHNER_DATA=folder cargo bench --bench sampling -- worth cpusmall 0.5` for
//! the rest, on a public table in the folder at a bandwidth of half the mean distance (and a pool of so many columns);
//! `cargo bench --bench sampling -- large elss1` for the time and memory of the largest pool. `docs/sampling.md` shows all.

use bochner::dataset::RowsInMemory;
use bochner::linalg::use_one_blas_thread;
use bochner::model::Predictor;
use bochner::training::estimate_memory;
use ndarray::{Array2, ArrayView1};
use peak::peak_megabytes;
use serde_json::{Value, json};
use std::time::Instant;
use synthetic::{Synthetic, fit};
use trainer::{schema_of, spec_of, train_as};

mod peak;
mod synthetic;
mod table;
mod trainer;

/// Times that choosing 512 of a pool of 5,120 may take of a plain training with 5,120.
const LARGEST_RATIO: f64 = 1.5;
const ROUNDS: usize = 3;
const SEEDS: u64 = 10;
const CHOSEN: usize = 256;
const MORE: [usize; 4] = [512, 1_024, 2_048, 4_096];

/// The largest pool, and what a training may need on a machine with 8 GiB: half of it.
const LARGEST_POOL: usize = 20_000;
const BUDGET: u64 = 4 << 30;

fn main() {
    use_one_blas_thread();
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let mut arguments = std::env::args().skip_while(|argument| argument != "worth").skip(1);
    if let (Some(name), Some(bandwidth)) = (arguments.next(), arguments.next()) {
        let folder = std::env::var("BOCHNER_DATA").expect("BOCHNER_DATA names a folder of public tables");
        let pool = arguments.next().map_or(10 * CHOSEN, |pool| pool.parse().expect("the columns of the pool"));
        return worth(&folder, &name, bandwidth.parse().expect("a share of the mean distance"), pool, threads);
    }
    if let Some(sampling) = std::env::args().skip_while(|argument| argument != "large").nth(1) {
        return large(&sampling, threads);
    }
    cost(threads);
}

/// Choosing 512 of the largest pool on 100,000 rows. In a process of its own, since the peak is that of the process.
fn large(sampling: &str, threads: usize) {
    let table = Synthetic { n: 100_000, d: 20 };
    let mut raw = json!({"features": {"count": 512, "sampling": sampling, "pool": LARGEST_POOL}, "validation_fraction": 0,
        "error_bars": false, "guarantees": {"exact_rows": 0}});
    if std::env::args().all(|argument| argument != "search") {
        raw["lambda"] = json!(1e-4);
    }
    let need = estimate_memory(&spec_of(&raw), &schema_of(&table), threads);
    let start = Instant::now();
    let chosen = train_as(&table, &raw, threads).selection.expect("a choice");
    let (seconds, peak, need_mb) = (start.elapsed().as_secs_f64(), peak_megabytes(), need as f64 / 1e6);
    println!(
        "100,000 x 20 rows, {sampling}, 512 of {LARGEST_POOL} in {} groups: {seconds:.0} s, peak {peak:.0} MB ({need_mb:.0} \
         estimated, {} allowed)",
        chosen.groups,
        BUDGET / 1_000_000
    );
    assert!(need <= BUDGET && peak <= need_mb);
}

/// Turn by turn, and the median over rounds of the ratios within a round: on a shared machine the speed drifts, for all of
/// them together.
fn cost(threads: usize) {
    let table = Synthetic { n: 100_000, d: 20 };
    let raw = |features: Value| {
        json!({"lambda": 1e-4, "features": features, "validation_fraction": 0, "error_bars": false,
            "guarantees": {"exact_rows": 0}})
    };
    let seconds = |features: Value| {
        let start = Instant::now();
        drop(train_as(&table, &raw(features), threads));
        start.elapsed().as_secs_f64()
    };
    let samplings = ["elss1", "leverage", "pooled_ridge", "eerf"];
    let mut ratios = vec![Vec::new(); samplings.len()];
    for _ in 0..ROUNDS {
        let start = Instant::now();
        drop(fit(&table, 5_120, threads, &json!(1e-4), false));
        let plain = start.elapsed().as_secs_f64();
        println!("plain, 5,120 features: {plain:.1} s");
        for (sampling, ratios) in samplings.iter().zip(&mut ratios) {
            let chosen = seconds(json!({"count": 512, "sampling": sampling, "pool": 5_120}));
            println!("{sampling}, 512 of 5,120: {chosen:.1} s, {:.2} of plain", chosen / plain);
            ratios.push(chosen / plain);
        }
    }
    for (sampling, mut ratios) in samplings.iter().zip(ratios) {
        ratios.sort_by(f64::total_cmp);
        let median = ratios[ratios.len() / 2];
        println!("100,000 x 20 rows, {sampling}, 512 of 5,120: {median:.2} times plain ({LARGEST_RATIO} allowed)");
        assert!(median <= LARGEST_RATIO);
    }
}

/// RMSE on rows that neither the choice nor the fit saw: every fifth row, shifted by the seed. Plain features are added until
/// they reach the error of the chosen ones.
fn worth(folder: &str, name: &str, bandwidth: f64, pool: usize, threads: usize) {
    let (inputs, targets) = table::read(&format!("{folder}/{name}.csv.gz"));
    let targets: Vec<f64> = targets.iter().map(|cell| cell.parse().expect("a number")).collect();
    // The mean distance between standardised rows is √(2d).
    let sigma = bandwidth * (2.0 * inputs.ncols() as f64).sqrt();
    let errors = |sampling: &str, count: usize| -> Vec<f64> {
        let of_seed = |seed: u64| {
            let mut features = json!({"count": count, "sampling": sampling, "seed": seed});
            if sampling != "plain" {
                features["pool"] = json!(pool);
            }
            let raw = json!({"kernel": {"bandwidth": sigma}, "features": features, "validation_fraction": 0,
                "error_bars": false, "guarantees": {"exact_rows": 0}});
            test_error(&inputs, &targets, seed as usize % 5, &raw, threads)
        };
        let errors: Vec<f64> = (0..SEEDS).map(of_seed).collect();
        let (mean, deviation) = moments(&errors);
        let error = deviation / (SEEDS as f64).sqrt();
        println!("| {name} | {bandwidth} | {sampling} | {count} | {mean:.4} | {error:.4} |");
        errors
    };
    println!("| table | bandwidth | sampling | features | test RMSE | standard error |\n|---|---|---|---|---|---|");
    let (plain, chosen) = (errors("plain", CHOSEN), errors("pooled_ridge", CHOSEN));
    for count in MORE {
        if moments(&errors("plain", count)).0 <= moments(&chosen).0 {
            break;
        }
    }
    let ratios: Vec<f64> = chosen.iter().zip(&plain).map(|(chosen, plain)| chosen / plain).collect();
    println!("{name}: pooled_ridge is {:.1}% below plain at {CHOSEN}", 100.0 * (1.0 - moments(&ratios).0));
}

fn test_error(inputs: &Array2<f64>, targets: &[f64], held_out: usize, raw: &Value, threads: usize) -> f64 {
    let cells = |(row, target): (ArrayView1<f64>, &f64)| row.iter().copied().chain([*target]).collect::<Vec<f64>>();
    let rows = || inputs.rows().into_iter().zip(targets).enumerate();
    let training = rows().filter(|(at, _)| at % 5 != held_out).flat_map(|(_, row)| cells(row)).collect();
    let model = train_as(&RowsInMemory { cells: training, columns: inputs.ncols() + 1 }, raw, threads);
    let predictor = Predictor::new(model);
    let tests: Vec<(Vec<f64>, f64)> =
        rows().filter(|(at, _)| at % 5 == held_out).map(|(_, (row, target))| (row.to_vec(), *target)).collect();
    let unlabelled: Vec<&[f64]> = tests.iter().map(|(row, _)| row.as_slice()).collect();
    let found = predictor.predict(&unlabelled);
    let squares: f64 = tests.iter().zip(found.rows()).map(|((_, target), row)| (row[0] - target).powi(2)).sum();
    (squares / tests.len() as f64).sqrt()
}

/// Mean and standard deviation.
fn moments(numbers: &[f64]) -> (f64, f64) {
    let count = numbers.len() as f64;
    let mean = numbers.iter().sum::<f64>() / count;
    (mean, (numbers.iter().map(|number| (number - mean).powi(2)).sum::<f64>() / (count - 1.0)).sqrt())
}
