//! kill -9 at the worst moments: nothing half-written shows, everything acknowledged is there.

use crate::harness::waves;
use crate::process::{Process, begin_upload, listen_to_events};
use rusqlite::Connection;
use serde_json::{Value, json};
use std::path::Path;
use std::time::Duration;

fn small_job(model: &str) -> Value {
    json!({"model": model, "dataset": "waves", "spec": {"features": {"count": 64}, "lambda": 1e-4}})
}

fn files(data_dir: &Path, folder: &str) -> Vec<String> {
    let entries = std::fs::read_dir(data_dir.join(folder)).unwrap();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

#[test]
fn in_the_middle_of_an_upload() {
    let folder = tempfile::tempdir().unwrap();
    let process = Process::start(folder.path());
    let kept = process.upload("waves", &waves(200));
    let stream = begin_upload(&process, &waves(5_000), 10_000_000);
    while files(folder.path(), "tmp").is_empty() {
        std::thread::sleep(Duration::from_millis(5));
    }
    process.kill();
    drop(stream);
    assert_eq!(files(folder.path(), "tmp").len(), 1); // the torn upload

    let process = Process::start(folder.path());
    assert_eq!(process.get("/api/v1/datasets")["datasets"], json!([kept]));
    assert_eq!(files(folder.path(), "tmp").len(), 0);
    assert_eq!(files(folder.path(), "datasets").len(), 1);
    process.kill();
}

#[test]
fn in_the_middle_of_a_training_with_another_job_waiting() {
    let folder = tempfile::tempdir().unwrap();
    let process = Process::start(folder.path());
    process.upload("waves", &waves(200));
    process.upload("long", &waves(30_000));
    let spec = json!({"features": {"count": 2048}, "guarantees": {"exact_rows": 0}});
    let long = process.submit(&json!({"model": "long", "dataset": "long", "spec": spec}));
    let waiting = process.submit(&small_job("small"));
    let running = process.wait_for(&long, &["running"]);
    assert_eq!(running["attempt"], 1);
    process.kill();

    let process = Process::start(folder.path());
    let finished = process.wait_for(&long, &["succeeded", "failed"]);
    assert_eq!((&finished["status"], &finished["attempt"]), (&json!("succeeded"), &json!(2)), "{finished}");
    let finished = process.wait_for(&waiting, &["succeeded", "failed"]);
    assert_eq!((&finished["status"], &finished["attempt"]), (&json!("succeeded"), &json!(1)), "{finished}");
    process.kill();
}

/// A process may die after the artifact got its name and before the database heard of it, or after
/// the model was registered and before the job was. Both are staged by turning the database back.
#[test]
fn between_the_artifact_and_its_entry() {
    let folder = tempfile::tempdir().unwrap();
    let process = Process::start(folder.path());
    process.upload("waves", &waves(200));
    let job = process.submit(&small_job("m"));
    process.wait_for(&job, &["succeeded"]);
    process.kill();

    let turn_back = |statements: &str| {
        let database = Connection::open(folder.path().join("bochner.sqlite")).unwrap();
        database.execute_batch(statements).unwrap();
    };
    turn_back("DELETE FROM models; DELETE FROM model_names; UPDATE jobs SET status = 'running', result = NULL;");
    let process = Process::start(folder.path());
    assert_eq!(process.wait_for(&job, &["succeeded", "failed"])["version"], 1);
    let model = process.get("/api/v1/models/m");
    assert_eq!(model["versions"].as_array().unwrap().len(), 1);
    process.kill();

    turn_back("UPDATE jobs SET status = 'running', result = NULL, attempt = 1;");
    let process = Process::start(folder.path());
    let finished = process.wait_for(&job, &["succeeded", "failed"]);
    assert_eq!((&finished["status"], &finished["version"]), (&json!("succeeded"), &json!(1)), "{finished}");
    assert_eq!(process.get("/api/v1/models/m"), model); // no second version
    assert_eq!(files(folder.path(), "artifacts").len(), 1);
    process.kill();
}

/// In the middle of writing an artifact: one of 17 MB, killed as soon as its temporary file shows. A
/// write may be over too soon to be caught; it is tried until it is.
#[test]
fn in_the_middle_of_an_artifact_write() {
    for _ in 0..10 {
        let folder = tempfile::tempdir().unwrap();
        let process = Process::start(folder.path());
        process.upload("waves", &waves(200));
        let spec =
            json!({"features": {"count": 2048}, "lambda": 1e-4, "spread": true, "guarantees": {"exact_rows": 0}});
        let job = process.submit(&json!({"model": "m", "dataset": "waves", "spec": spec}));
        while files(folder.path(), "tmp").is_empty() && files(folder.path(), "artifacts").is_empty() {
            std::thread::sleep(Duration::from_micros(100));
        }
        process.kill();
        let torn = !files(folder.path(), "tmp").is_empty();
        assert!(!torn || files(folder.path(), "artifacts").is_empty());

        let process = Process::start(folder.path());
        assert_eq!(process.wait_for(&job, &["succeeded", "failed"])["version"], 1);
        assert_eq!((files(folder.path(), "artifacts").len(), files(folder.path(), "tmp").len()), (1, 0));
        let body = json!({"rows": [[0.5, "red", true]], "outputs": ["value", "spread"]}).to_string();
        let answer = process.post("/api/v1/models/m/predict", "application/json", &body);
        assert!(answer["predictions"][0]["spread"].is_f64());
        process.kill();
        if torn {
            return;
        }
    }
    panic!("no write was caught in the middle");
}

/// Killed again and again at moments that sweep over training and publishing.
#[test]
fn at_any_moment_of_a_job() {
    let folder = tempfile::tempdir().unwrap();
    let process = Process::start(folder.path());
    process.upload("waves", &waves(200));
    process.kill();
    let mut jobs = Vec::new();
    for round in 0..12 {
        let process = Process::start(folder.path());
        jobs.push(process.submit(&small_job("m")));
        std::thread::sleep(Duration::from_millis(round * 4));
        process.kill();
    }
    let process = Process::start(folder.path());
    let mut versions: Vec<u64> = Vec::new();
    for job in &jobs {
        let job = process.wait_for(job, &["succeeded", "failed"]);
        assert!(job["status"] == "succeeded" || job["error"]["code"] == "interrupted", "{job}");
        versions.extend(job["version"].as_u64());
    }
    versions.sort_unstable();
    let published: Vec<u64> = (1..=versions.len() as u64).collect();
    assert_eq!(versions, published); // one version a job, none twice
    for version in versions {
        let body = json!({"rows": [[0.5, "red", true]]}).to_string();
        let answer = process.post(&format!("/api/v1/models/m/versions/{version}/predict"), "application/json", &body);
        assert!(answer["predictions"][0].is_f64());
    }
    assert_eq!(files(folder.path(), "artifacts").len(), published.len());
    assert_eq!(files(folder.path(), "tmp").len(), 0);
    process.kill();
}

#[test]
fn sigterm_puts_the_running_job_back_and_exits_cleanly() {
    let folder = tempfile::tempdir().unwrap();
    let process = Process::start(folder.path());
    process.upload("long", &waves(60_000));
    let spec = json!({"features": {"count": 4096}, "guarantees": {"exact_rows": 0}});
    let job = process.submit(&json!({"model": "long", "dataset": "long", "spec": spec}));
    process.wait_for(&job, &["running"]);
    let listener = listen_to_events(&process, &job);
    let (code, took) = process.terminate();
    assert_eq!(code, 0);
    assert!(took < Duration::from_secs(15), "{took:?}"); // not the whole grace time of 20 s
    assert!(listener.join().unwrap().contains("event: state"));

    let process = Process::start(folder.path());
    let job = process.wait_for(&job, &["running"]);
    assert_eq!(job["attempt"], 1, "{job}"); // the start before did not count
    process.kill();
}

#[test]
fn a_data_directory_has_one_owner() {
    let folder = tempfile::tempdir().unwrap();
    let process = Process::start(folder.path());
    let second = std::process::Command::new(env!("CARGO_BIN_EXE_bochner"))
        .args(["serve", "--listen", "127.0.0.1:0", "--data-dir"])
        .arg(folder.path())
        .output()
        .unwrap();
    assert!(!second.status.success());
    let message = String::from_utf8_lossy(&second.stderr).into_owned();
    assert!(message.contains("another process is using the data directory"), "{message}");

    let check = |address: &str| {
        let status = std::process::Command::new(env!("CARGO_BIN_EXE_bochner"))
            .args(["healthcheck", "--listen", address])
            .status()
            .unwrap();
        status.code().unwrap()
    };
    assert_eq!(check(&process.address), 0);
    let address = process.address.clone();
    process.kill();
    assert_eq!(check(&address), 1);
}
