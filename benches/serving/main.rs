//! What serving costs beside what it cannot do without, as ratios within one run. The server has the first core,
//! the load the second. `BOCHNER_BENCH_ONLY=single` runs one part; `BOCHNER_SOAK_SECONDS` sets the length of the last.
#![allow(clippy::unwrap_used)] // a bench may panic

/// What keys cost, and what slow clients cost others.
mod clients;

/// The load generator.
mod load;

/// Servers on a core of their own.
mod server;

/// Mixed load for minutes.
mod soak;

use bochner::model::{Extras, Predictor, decode};
use load::{Outcome, infer, load, post};
use rustix::thread::{CpuSet, sched_setaffinity};
use serde_json::{Value, json};
use server::{BARE, Server, be_bare, row_of};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

const ROUNDS: usize = 5;
const ROUND: Duration = Duration::from_secs(3);
const PINNED: &str = "BOCHNER_BENCH_PINNED";

fn main() {
    if std::env::var(BARE).is_ok() {
        return be_bare();
    }
    if std::env::var(PINNED).is_err() {
        let exe = std::env::current_exe().unwrap();
        let status = Command::new("taskset").args(["-c", "1"]).arg(exe).env(PINNED, "1").status();
        assert!(status.expect("taskset starts").success());
        return;
    }
    let only = std::env::var("BOCHNER_BENCH_ONLY").ok();
    let parts: [(&str, fn()); 7] = [
        ("single", single),
        ("keys", clients::keys),
        ("slow", clients::slow),
        ("batcher", batcher),
        ("thousand", thousand),
        ("training", training),
        ("soak", soak::soak),
    ];
    for (name, part) in parts {
        if only.as_ref().is_none_or(|only| only == name) {
            part();
        }
    }
}

/// What a model of the bench is trained with.
fn spec(features: usize) -> Value {
    json!({"features": {"count": features}, "lambda": 1e-3, "error_bars": false, "guarantees": {"exact_rows": 0}})
}

fn body(rows: usize, inputs: usize) -> String {
    json!({"rows": (0..rows).map(|row| row_of(row, inputs)).collect::<Vec<_>>()}).to_string()
}

fn median(mut numbers: Vec<f64>) -> f64 {
    numbers.sort_by(f64::total_cmp);
    numbers[numbers.len() / 2]
}

fn without_errors(outcome: Outcome) -> Outcome {
    assert_eq!(outcome.errors, 0);
    outcome
}

/// Single rows against a bare handler, 512 features, 8 inputs, 16 connections.
fn single() {
    let folder = tempfile::tempdir().unwrap();
    let ours = Server::start(folder.path(), &[]);
    ours.upload("d", 2000, 8);
    ours.train("m", "d", &spec(512));
    let bare = Server::start_bare();
    let text = body(1, 8);
    let (to_ours, to_bare) = (post("/api/v1/models/m/predict", &text), post("/", &text));
    let (mut throughputs, mut tails) = (Vec::new(), Vec::new());
    println!("single rows, s = 512, d = 8, 16 connections");
    // Short turns: what else the machine does changes within seconds, and must meet both.
    for _ in 0..3 * ROUNDS {
        let bare = without_errors(load(bare.address, &to_bare, 16, ROUND / 3));
        let ours = without_errors(load(ours.address, &to_ours, 16, ROUND / 3));
        let (fast, slow) = (ours.requests_per_second(), bare.requests_per_second());
        println!(
            "  ours {fast:.0}/s, p99 {:.2} ms; bare {slow:.0}/s, p99 {:.2} ms",
            ours.percentile(0.99),
            bare.percentile(0.99)
        );
        throughputs.push(fast / slow);
        tails.push(ours.percentile(0.99) / bare.percentile(0.99));
    }
    println!(
        "  throughput {:.2} of the bare handler (0.8 wanted), p99 {:.2} times (2 allowed)",
        median(throughputs),
        median(tails)
    );
}

/// Merged requests against one at a time, 8,192 features, 784 inputs, 64 connections. A pair of features shares a
/// frequency, so that the map decides how many there are to multiply with, and whether they stay in the cache: if they
/// do, merging has less to gain, which is told by computing without a server.
fn batcher() {
    for (map, frequencies) in [("pair", 4096), ("phase", 8192)] {
        println!("single rows, s = 8192, d = 784, map {map}: {frequencies} frequencies, 64 connections");
        merge(map);
    }
}

fn merge(map: &str) {
    let folder = tempfile::tempdir().unwrap();
    {
        let server = Server::start(folder.path(), &[]);
        server.upload("d", 600, 784);
        let mut spec = spec(8192);
        spec["features"]["map"] = json!(map);
        server.train("m", "d", &spec);
    }
    let predictor = only_model(folder.path());
    let rows: Vec<Vec<f64>> = (0..64).map(|row| row_of(row, 784)).collect();
    let rows: Vec<&[f64]> = rows.iter().map(Vec::as_slice).collect();
    let request = post("/api/v1/models/m/predict", &body(1, 784));
    let (mut ratios, mut computing) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let one_by_one: f64 = rows.chunks(1).map(|row| compute_ms(&predictor, row, 5)).sum();
        computing.push(one_by_one / compute_ms(&predictor, &rows, 5));
        let measure = |flags: &[&str]| {
            let server = Server::start(folder.path(), flags);
            load(server.address, &request, 64, Duration::from_millis(300)); // reads the model
            without_errors(load(server.address, &request, 64, ROUND))
        };
        let merged = measure(&[]);
        let alone = measure(&["--max-batch-rows", "1"]);
        let (fast, slow) = (merged.requests_per_second(), alone.requests_per_second());
        println!(
            "  merged {fast:.0}/s, p99 {:.1} ms; one at a time {slow:.0}/s, p99 {:.1} ms",
            merged.percentile(0.99),
            alone.percentile(0.99)
        );
        ratios.push(fast / slow);
    }
    println!(
        "  {:.2} times the throughput of one at a time (4 wanted); computing alone gains {:.2} times",
        median(ratios),
        median(computing)
    );
}

/// The only model of a data directory.
fn only_model(folder: &Path) -> Predictor {
    let artifact = std::fs::read_dir(folder.join("artifacts")).unwrap().next().unwrap().unwrap().path();
    Predictor::new(decode(&std::fs::read(artifact).unwrap()).unwrap())
}

/// Milliseconds that some rows take without a server, on the core that a server has: the median of so many times.
fn compute_ms(predictor: &Predictor, rows: &[&[f64]], times: usize) -> f64 {
    let once = |_| {
        let start = Instant::now();
        std::hint::black_box(predictor.compute(rows, Extras::default()));
        start.elapsed().as_secs_f64() * 1e3
    };
    std::thread::scope(|scope| {
        let computing = scope.spawn(|| {
            let mut first = CpuSet::new();
            first.set(0);
            sched_setaffinity(None, &first).unwrap();
            median((0..times).map(once).collect())
        });
        computing.join().unwrap()
    })
}

/// A request of 1,000 rows against computing them: as JSON with all digits of a double and with four, and as bytes.
fn thousand() {
    for (features, inputs) in [(512, 8), (2048, 90), (8192, 784)] {
        let folder = tempfile::tempdir().unwrap();
        let server = Server::start(folder.path(), &[]);
        server.upload("d", 2000, inputs);
        server.train("m", "d", &spec(features));
        let predictor = only_model(folder.path());
        let exact: Vec<Vec<f64>> = (0..1000).map(|row| row_of(row, inputs)).collect();
        let rounded = |row: &Vec<f64>| row.iter().map(|cell| (cell * 1e4).round() / 1e4).collect::<Vec<f64>>();
        let short: Vec<Vec<f64>> = exact.iter().map(rounded).collect();
        let path = "/api/v1/models/m/predict";
        let rows: Vec<&[f64]> = exact.iter().map(Vec::as_slice).collect();
        for (form, request) in [
            ("JSON, all digits", post(path, &json!({"rows": exact}).to_string())),
            ("JSON, four digits", post(path, &json!({"rows": short}).to_string())),
            ("v2, binary", infer("/v2/models/m/infer", &exact)),
        ] {
            let mut excesses = Vec::new();
            let mut last = (0.0, 0.0);
            // Short turns, as above.
            for _ in 0..3 * ROUNDS {
                let answers = without_errors(load(server.address, &request, 1, ROUND / 6));
                last = (answers.percentile(0.5), compute_ms(&predictor, &rows, 11));
                excesses.push((last.0 - 1.0) / last.1);
            }
            println!(
                "1,000 rows, s = {features}, d = {inputs}, {form}: answered in {:.2} ms, computed in {:.2} ms; all but \
                 1 ms is {:.2} times computing (1.3 allowed)",
                last.0,
                last.1,
                median(excesses)
            );
        }
    }
}

/// Single rows while a model is trained on the same core: one after the other, when training has what is left, and as
/// many as the core can take.
fn training() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &["--training-threads", "1"]);
    server.upload("d", 2000, 8);
    server.train("m", "d", &spec(512));
    server.upload("large", 60_000, 20);
    let request = post("/api/v1/models/m/predict", &body(1, 8));
    for connections in [1, 16] {
        println!("single rows while training runs, s = 512, d = 8, {connections} connections");
        let mut ratios = Vec::new();
        for _ in 0..3 {
            let quiet = without_errors(load(server.address, &request, connections, ROUND));
            let job = server.submit("large", "large", &spec(4096));
            std::thread::sleep(Duration::from_millis(500));
            let busy = without_errors(load(server.address, &request, connections, ROUND));
            let status = server.get(&format!("/api/v1/jobs/{job}"))["status"].clone();
            assert_eq!(status, "running", "the job must run all the while");
            server.post(&format!("/api/v1/jobs/{job}/cancel"), &json!({}));
            println!(
                "  p99 {:.2} ms quiet, {:.2} ms busy; {:.0}/s and {:.0}/s",
                quiet.percentile(0.99),
                busy.percentile(0.99),
                quiet.requests_per_second(),
                busy.requests_per_second()
            );
            ratios.push(busy.percentile(0.99) / quiet.percentile(0.99));
            while server.get(&format!("/api/v1/jobs/{job}"))["status"] != "canceled" {
                std::thread::sleep(Duration::from_millis(50));
            }
        }
        println!("  p99 {:.2} times that without training (3 allowed)", median(ratios));
    }
}
