//! What must hold at size: memory of a training run on two million rows, and what a search finds without being told.
//!
//! `cargo bench --bench scale`; `BOCHNER_DATA=folder` with `cpusmall.csv.gz` in it for the search.

use bochner::dataset::RowsInMemory;
use bochner::linalg::use_one_blas_thread;
use bochner::model::ErrorReport;
use peak::peak_megabytes;
use serde_json::json;
use std::time::Instant;
use synthetic::{Synthetic, fit};

mod peak;
mod synthetic;
mod table;
mod trainer;

const LIMIT_MB: f64 = 600.0;
const WANTED_R2: f64 = 0.965;

fn main() {
    use_one_blas_thread();
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    if let Ok(folder) = std::env::var("BOCHNER_DATA") {
        cpusmall(&folder, threads);
    } else {
        println!("cpusmall skipped: BOCHNER_DATA names no folder");
    }
    let start = Instant::now();
    drop(fit(&Synthetic { n: 2_000_000, d: 20 }, 2_048, threads, &json!("search"), true));
    let (peak, seconds) = (peak_megabytes(), start.elapsed().as_secs_f64());
    println!(
        "2,000,000 x 20 rows, 2,048 features, lambda searched: {seconds:.0} s, peak {peak:.0} MB ({LIMIT_MB:.0} allowed)"
    );
    assert!(peak < LIMIT_MB);
}

/// Bandwidth, scaling and λ by leave-one-out error.
fn cpusmall(folder: &str, threads: usize) {
    let (inputs, targets) = table::read(&format!("{folder}/cpusmall.csv.gz"));
    let row = |(inputs, target): (ndarray::ArrayView1<f64>, &String)| {
        inputs.iter().copied().chain([target.parse().expect("a number")]).collect::<Vec<f64>>()
    };
    let columns = inputs.ncols() + 1;
    let rows = RowsInMemory { cells: inputs.rows().into_iter().zip(&targets).flat_map(row).collect(), columns };
    let raw = json!({"kernel": {"bandwidth": "search"}, "features": {"count": 2_048}, "guarantees": {"exact_rows": 0}});
    let start = Instant::now();
    let report = trainer::train_as(&rows, &raw, threads).report;
    let ErrorReport::Numbers(errors) = &report.errors else { panic!("a regression") };
    let r2 = errors.validation_r2.expect("validation rows");
    let seconds = start.elapsed().as_secs_f64();
    println!("cpusmall, all searched, 2,048 features: validation R2 {r2:.4} ({WANTED_R2} wanted), {seconds:.0} s");
    assert!(r2 >= WANTED_R2);
}
