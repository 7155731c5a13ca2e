//! Minutes of mixed load: predict, train, switch an alias, delete. Nothing may fail, and memory must stay flat.

use crate::load::{load, post};
use crate::server::Server;
use crate::{body, spec};
use serde_json::{Value, json};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Samples of memory in a minute.
const MINUTE: usize = 600;

pub(crate) fn soak() {
    let seconds = std::env::var("BOCHNER_SOAK_SECONDS").map_or(600, |text| text.parse().unwrap());
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &["--training-threads", "1"]);
    server.upload("d", 2000, 8);
    server.train("m", "d", &spec(512));
    point(&server, 1);
    let (end, done) = (Duration::from_secs(seconds), AtomicBool::new(false));
    println!("mixed load for {seconds} s: predict by alias, train, switch, delete");
    let (requests, errors, versions, resident) = std::thread::scope(|scope| {
        let admin = scope.spawn(|| administer(&server, &done));
        let watcher = scope.spawn(|| watch(&server, &done));
        let request = post("/api/v1/models/m@live/predict", &body(3, 8));
        let start = Instant::now();
        let (mut requests, mut errors) = (0.0, 0);
        while start.elapsed() < end {
            let outcome = load(server.address, &request, 8, Duration::from_secs(5));
            requests += outcome.requests_per_second() * outcome.seconds;
            errors += outcome.errors;
        }
        done.store(true, Ordering::Relaxed);
        (requests, errors, admin.join().unwrap(), watcher.join().unwrap())
    });
    println!("  {requests:.0} requests, {errors} errors, {versions} versions trained, switched to and deleted");
    // The first fifth fills caches. A training takes memory and gives it back, so that minutes are compared.
    let settled = &resident[resident.len() / 5..];
    let minutes =
        settled.chunks(MINUTE.min(settled.len())).filter(|minute| minute.len() * 2 >= MINUTE.min(settled.len()));
    let means: Vec<f64> = minutes.map(|minute| minute.iter().sum::<f64>() / minute.len() as f64).collect();
    let ends = |numbers: &[f64]| {
        numbers.iter().fold((f64::MAX, 0.0_f64), |(least, most), mib| (least.min(*mib), most.max(*mib)))
    };
    let (least, most) = ends(settled);
    println!("  resident {least:.1} to {most:.1} MiB at any moment after the first fifth");
    let (least, most) = ends(&means);
    println!(
        "  means of a minute {least:.1} to {most:.1} MiB: {:.1} % apart (5 allowed)",
        100.0 * (most / least - 1.0)
    );
    assert_eq!(errors, 0);
}

fn point(server: &Server, version: u64) {
    let url = format!("http://{}/api/v1/models/m/aliases/live", server.address);
    ureq::put(url).header("content-type", "application/json").send(json!({"version": version}).to_string()).unwrap();
}

/// Trains a version, moves the alias to it, deletes the one before; again and again.
fn administer(server: &Server, done: &AtomicBool) -> usize {
    let mut versions = 0;
    let mut live = 1;
    while !done.load(Ordering::Relaxed) {
        server.train("m", "d", &spec(512));
        let model: Value = server.get("/api/v1/models/m");
        let newest = model["versions"][0]["version"].as_u64().unwrap();
        point(server, newest);
        ureq::delete(format!("http://{}/api/v1/models/m/versions/{live}", server.address)).call().unwrap();
        live = newest;
        versions += 1;
    }
    versions
}

/// Resident memory, ten times a second.
fn watch(server: &Server, done: &AtomicBool) -> Vec<f64> {
    let mut resident = Vec::new();
    while !done.load(Ordering::Relaxed) {
        resident.push(server.resident());
        std::thread::sleep(Duration::from_millis(100));
    }
    resident
}
