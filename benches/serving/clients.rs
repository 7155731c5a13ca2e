//! What keys cost, and what slow clients cost others.

use super::load::{load, post, post_with};
use super::server::Server;
use super::{ROUND, ROUNDS, body, median, spec, without_errors};
use bochner::keys::{KeyFile, NewKey, Scope, Scopes};
use std::io::Write;
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

const PATH: &str = "/api/v1/models/m/predict";

/// A data directory with the model `m`, 512 features, 8 inputs.
fn train(folder: &Path) {
    let server = Server::start(folder, &[]);
    server.upload("d", 2000, 8);
    server.train("m", "d", &spec(512));
}

/// Single rows with a key against single rows without, 16 connections.
pub(crate) fn keys() {
    let folder = tempfile::tempdir().unwrap();
    let file = KeyFile::at(&folder.path().join("keys.json"));
    let new =
        |name: String| NewKey { name, scopes: Scopes::of(&[Scope::Predict]), models: Vec::new(), expires_at: None };
    let key = file.add((0..100).map(|number| new(format!("key {number}"))).collect()).unwrap()[50].1.clone();
    let (open, keyed) = (folder.path().join("open"), folder.path().join("keyed"));
    train(&open);
    train(&keyed);
    let open = Server::start(&open, &[]);
    let keyed = Server::start(&keyed, &["--api-keys-file", file.path().to_str().unwrap()]);
    let text = body(1, 8);
    let (without, with) = (post(PATH, &text), post_with(PATH, &format!("authorization: Bearer {key}"), &text));
    println!("single rows with one of 100 keys and without keys, s = 512, d = 8, 16 connections");
    // Requests a second, and microseconds of the server's threads for one of them.
    let measure = |server: &Server, request| {
        let before = server.computed();
        let outcome = without_errors(load(server.address, request, 16, ROUND / 3));
        let requests = outcome.requests_per_second();
        (requests, (server.computed() - before) * 1e6 / outcome.requests() as f64)
    };
    let (mut throughputs, mut costs) = (Vec::new(), Vec::new());
    for pair in 0..=6 * ROUNDS {
        // Each goes first in every other pair, so that a drift of the machine's speed favours neither.
        let (open, keyed) = if pair % 2 == 0 {
            let without = measure(&open, &without);
            (without, measure(&keyed, &with))
        } else {
            let with = measure(&keyed, &with);
            (measure(&open, &without), with)
        };
        println!(
            "  without {:.0}/s, {:.2} us each; with a key {:.0}/s, {:.2} us each",
            open.0, open.1, keyed.0, keyed.1
        );
        throughputs.push(keyed.0 / open.0);
        costs.push(keyed.1 / open.1);
    }
    let [low, middle, high] = quartiles(throughputs);
    println!("  with a key {middle:.3} of the throughput without (quartiles {low:.3} to {high:.3}; 0.97 wanted)");
    let [low, middle, high] = quartiles(costs);
    println!(
        "  with a key {middle:.3} times the computing of the server (quartiles {low:.3} to {high:.3}; 1.03 allowed)"
    );
}

fn quartiles(mut numbers: Vec<f64>) -> [f64; 3] {
    numbers.sort_by(f64::total_cmp);
    [1, 2, 3].map(|quarter| numbers[quarter * (numbers.len() - 1) / 4])
}

/// Single rows while 64 clients send one byte a second, of heads and of bodies, against single rows alone.
pub(crate) fn slow() {
    const SLOW: usize = 64;
    let folder = tempfile::tempdir().unwrap();
    train(folder.path());
    let server = Server::start(folder.path(), &[]);
    let request = post(PATH, &body(1, 8));
    println!("single rows while {SLOW} clients send one byte a second, s = 512, d = 8, 16 connections");
    let mut ratios = Vec::new();
    for _ in 0..2 * ROUNDS {
        let alone = without_errors(load(server.address, &request, 16, ROUND));
        let (stop, sent) = (AtomicBool::new(false), AtomicUsize::new(0));
        let busy = std::thread::scope(|scope| {
            scope.spawn(|| drip(server.address, SLOW, &stop, &sent));
            std::thread::sleep(Duration::from_millis(200));
            let busy = without_errors(load(server.address, &request, 16, ROUND));
            stop.store(true, Ordering::Relaxed);
            busy
        });
        println!(
            "  p99 {:.2} ms alone, {:.2} ms with them ({} bytes sent)",
            alone.percentile(0.99),
            busy.percentile(0.99),
            sent.load(Ordering::Relaxed)
        );
        ratios.push(busy.percentile(0.99) / alone.percentile(0.99));
    }
    println!("  p99 {:.2} times that without them (2 allowed)", median(ratios));
}

/// Connections that send one byte a second each: every other one of a head, the others of a body.
fn drip(address: SocketAddr, count: usize, stop: &AtomicBool, sent: &AtomicUsize) {
    let text = body(10_000, 8);
    let whole = String::from_utf8(post(PATH, &text).to_vec()).unwrap();
    let head = whole.find("\r\n\r\n").unwrap() + 4;
    let mut streams: Vec<(TcpStream, usize)> = (0..count)
        .map(|number| {
            let mut stream = TcpStream::connect(address).unwrap();
            let begun = if number % 2 == 0 { 0 } else { head };
            stream.write_all(&whole.as_bytes()[..begun]).unwrap();
            (stream, begun)
        })
        .collect();
    for turn in 0.. {
        if stop.load(Ordering::Relaxed) {
            return;
        }
        // Spread over the second: one client after the other.
        let (stream, at) = &mut streams[turn % count];
        sent.fetch_add(stream.write(&whole.as_bytes()[*at..=*at]).unwrap_or(0), Ordering::Relaxed);
        *at += 1;
        std::thread::sleep(Duration::from_secs(1) / count as u32);
    }
}
