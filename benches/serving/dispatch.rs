//! What the shortcut in front of the route table is worth: single rows with it and without it, in one run. The servers
//! have the first core, the load the second. `cargo bench --bench dispatch`, about a minute.
#![allow(clippy::unwrap_used)] // a bench may panic

/// The load generator.
#[allow(dead_code)] // shared with the serving bench
mod load;

/// Servers on a core of their own.
#[allow(dead_code)] // shared with the serving bench
mod server;

use bochner::api::{self, ConnectionLimits};
use bochner::app::App;
use bochner::cli::{Cli, Command};
use bochner::config::Config;
use clap::Parser;
use load::{load, post};
use serde_json::json;
use server::{Server, row_of};
use std::path::Path;
use std::time::Duration;
use tokio::net::TcpListener;

/// The allocator of the service: what the route table costs is mostly allocations.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The data directory of a server process.
const DATA_DIR: &str = "BOCHNER_BENCH_DATA_DIR";

/// Set for the server process that has no shortcut.
const PLAIN: &str = "BOCHNER_BENCH_PLAIN";

/// Set for the process that sends the load.
const PINNED: &str = "BOCHNER_BENCH_PINNED";

/// Pairs of turns, and the length of a turn.
const PAIRS: usize = 31;
const TURN: Duration = Duration::from_secs(1);

fn main() {
    if let Ok(folder) = std::env::var(DATA_DIR) {
        return serve(Path::new(&folder), std::env::var(PLAIN).is_ok());
    }
    if std::env::var(PINNED).is_err() {
        let exe = std::env::current_exe().unwrap();
        let status = std::process::Command::new("taskset").args(["-c", "1"]).arg(exe).env(PINNED, "1").status();
        assert!(status.expect("taskset starts").success());
        return;
    }
    compare();
}

/// Serves with the shortcut, or with the plain route table.
fn serve(folder: &Path, plain: bool) {
    let Command::Serve(config) = Cli::parse_from(["bochner", "serve"]).command else { unreachable!() };
    let config = Config { data_dir: folder.to_owned(), ..*config };
    tokio::runtime::Runtime::new().unwrap().block_on(async {
        let app = App::start(config.clone()).unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        println!("{}", listener.local_addr().unwrap());
        if plain {
            let limits = ConnectionLimits::new(&config);
            api::serve(listener, app.dispatch.routes(), limits, None, std::future::pending()).await;
        } else {
            app.serve(listener, std::future::pending()).await;
        }
    });
}

/// Single rows, 512 features, 8 inputs, 16 connections.
fn compare() {
    let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let start = |folder: &tempfile::TempDir, plain: bool| {
        let mut variables = vec![(DATA_DIR, folder.path().to_str().unwrap())];
        variables.extend(plain.then_some((PLAIN, "1")));
        let server = Server::start_self(&variables);
        server.upload("d", 2000, 8);
        let spec =
            json!({"features": {"count": 512}, "lambda": 1e-3, "error_bars": false, "guarantees": {"exact_rows": 0}});
        server.train("m", "d", &spec);
        server
    };
    let (shortcut, plain) = (start(&folders[0], false), start(&folders[1], true));
    let request = post("/api/v1/models/m/predict", &json!({"rows": [row_of(0, 8)]}).to_string());
    println!("single rows, s = 512, d = 8, 16 connections");
    let measure = |server: &Server| {
        let outcome = load(server.address, &request, 16, TURN);
        assert_eq!(outcome.errors, 0);
        outcome.requests_per_second()
    };
    let mut ratios = Vec::new();
    for pair in 0..PAIRS {
        // Each goes first in every other pair, so that a drift of the machine's speed favours neither.
        let (with, without) = if pair % 2 == 0 {
            let with = measure(&shortcut);
            (with, measure(&plain))
        } else {
            let without = measure(&plain);
            (measure(&shortcut), without)
        };
        println!("  shortcut {with:.0}/s, route table {without:.0}/s");
        ratios.push(with / without);
    }
    ratios.sort_by(f64::total_cmp);
    let quartile = |quarter: usize| ratios[quarter * (PAIRS - 1) / 4];
    println!(
        "  the shortcut has {:.3} times the throughput of the route table (quartiles {:.3} to {:.3}; 1.05 wanted)",
        quartile(2),
        quartile(1),
        quartile(3)
    );
}
