//! Statements about 300 ridge models and 60 classifiers, compared with dense solves and new rows: how many are false, and how tight the others are.
//!
//! `cargo bench --bench truth` trains on made tables. With `BOCHNER_DATA=folder` it also trains on the public tables in
//! that folder, `*.csv.gz` with a header, numbers and the target in the last column. It fails if a statement is false.

use bochner::linalg::use_one_blas_thread;
use std::time::Instant;

#[path = "../tests/numerics/truth/mod.rs"]
mod truth;

/// Tables of that folder that hold numbers and at least 1,000 rows.
const PUBLIC: [&str; 6] = ["abalone", "airfoil", "california_housing", "concrete", "cpusmall", "winequality_red"];

const MODELS: usize = 300;

fn main() {
    use_one_blas_thread();
    let start = Instant::now();
    let mut tables = truth::made_tables();
    match std::env::var("BOCHNER_DATA") {
        Ok(folder) => {
            let files = PUBLIC.iter().map(|name| format!("{folder}/{name}.csv.gz"));
            tables.extend(files.filter_map(|path| truth::Table::read(&path)));
        }
        Err(_) => println!("made tables only: BOCHNER_DATA names no folder of public tables"),
    }
    let names: Vec<&str> = tables.iter().map(|table| table.name.as_str()).collect();
    println!("tables: {}", names.join(", "));
    let ledger = truth::examine(&tables, MODELS);
    println!("{ledger}{:.0} s", start.elapsed().as_secs_f64());
    assert!(ledger.checks_of("bochner.theorem1_relative") > MODELS / 10, "too few models to say anything");
    assert!(ledger.violations().is_empty(), "false statements");
}
