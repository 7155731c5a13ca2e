//! Ridge training against scikit-learn's RBFSampler + Ridge and RidgeCV, same rows, same machine, one
//! after the other in one run.
//!
//! `make bench-peers`, which names a Python with scikit-learn in `BOCHNER_PYTHON`.

use bochner::dataset::Rows;
use bochner::linalg::use_one_blas_thread;
use bochner::model::Predictor;
use peak::peak_megabytes;
use serde_json::{Value, json};
use std::io::Write;
use std::process::Command;
use std::time::Instant;
use synthetic::{Synthetic, fit};

mod peak;
mod synthetic;
mod trainer;

const TEST_ROWS: usize = 10_000;
const RIDGE_CV_ROWS: usize = 10_000;
const RIDGE: f64 = 1e-4;

fn main() {
    use_one_blas_thread();
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let (n, d, s) = (100_000, 90, 2_048);
    let table = Synthetic { n, d };
    println!("n = {n}, d = {d}, s = {s}, lambda = {RIDGE:e}, threads = {threads}");

    let start = Instant::now();
    let model = fit(&table, s, threads, &json!(RIDGE), false);
    let ours = start.elapsed().as_secs_f64();
    let memory = peak_megabytes(); // rows are made on the fly, so none of it is data
    let error = test_error(&table, model);
    println!("bochner       {ours:7.2} s   test MSE {error:.6}   peak {memory:.0} MB");

    let small = Synthetic { n: RIDGE_CV_ROWS, d };
    let start = Instant::now();
    drop(fit(&small, s, threads, &json!("search"), false));
    let search = start.elapsed().as_secs_f64();
    println!("bochner search over {RIDGE_CV_ROWS} rows {search:.2} s");

    let peer = scikit_learn(&table, s);
    let number = |name: &str| peer[name].as_f64().unwrap_or(f64::NAN);
    for precision in ["f64", "f32"] {
        let (seconds, mse) = (number(&format!("{precision}_seconds")), number(&format!("test_mse_{precision}")));
        println!("sklearn {precision}   {seconds:7.2} s   test MSE {mse:.6}   {:.2} times ours", seconds / ours);
    }
    println!("sklearn peak {:.0} MB, {:.1} times ours", number("peak_mb"), number("peak_mb") / memory);
    println!(
        "sklearn RidgeCV {:.2} s, {:.1} times ours",
        number("ridge_cv_seconds"),
        number("ridge_cv_seconds") / search
    );
}

/// Mean squared error on rows after the training ones.
fn test_error(table: &Synthetic, model: bochner::model::FittedModel) -> f64 {
    let width = table.d + 1;
    let mut cells = vec![0.0; TEST_ROWS * width];
    table.read(table.n, &mut cells).expect("rows are made on the fly");
    let rows: Vec<&[f64]> = cells.chunks_exact(width).map(|row| &row[..table.d]).collect();
    let predictions = Predictor::new(model).predict(&rows);
    let square = |(prediction, row): (&f64, &[f64])| (prediction - row[table.d]).powi(2);
    predictions.iter().zip(cells.chunks_exact(width)).map(square).sum::<f64>() / TEST_ROWS as f64
}

fn scikit_learn(table: &Synthetic, s: usize) -> Value {
    let python = std::env::var("BOCHNER_PYTHON").expect("set BOCHNER_PYTHON, or run make bench-peers");
    let mut file = tempfile::NamedTempFile::new().expect("a temporary file");
    let mut cells = vec![0.0; (table.n + TEST_ROWS) * (table.d + 1)];
    table.read(0, &mut cells).expect("rows are made on the fly");
    for cell in &cells {
        file.write_all(&f64::to_le_bytes(*cell)).expect("the disk has room");
    }
    file.flush().expect("the disk has room");
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/peers/ridge.py");
    let arguments = [table.n.to_string(), table.d.to_string(), s.to_string(), RIDGE.to_string()];
    let output = Command::new(python)
        .arg(script)
        .args(arguments)
        .arg(file.path())
        .arg(RIDGE_CV_ROWS.to_string())
        .stderr(std::process::Stdio::inherit())
        .output()
        .expect("Python runs");
    serde_json::from_slice(&output.stdout).expect("the script prints JSON")
}
