//! Copies of a data directory that a service is using.

use crate::harness::waves;
use crate::process::Process;
use serde_json::{Value, json};
use std::path::Path;
use std::process::{Command, Output};
use std::sync::atomic::{AtomicBool, Ordering};

fn bochner(arguments: &[&str], folders: [&Path; 2]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bochner"));
    command.args(arguments).arg(folders[0]).arg("--data-dir").arg(folders[1]).output().unwrap()
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&[output.stdout.as_slice(), &output.stderr].concat()).into_owned()
}

fn predict(process: &Process) -> Value {
    process.post("/api/v1/models/m/predict", "application/json", r#"{"rows": [[0.3, "green", true]]}"#)
}

#[test]
fn a_copy_of_a_running_service_is_whole_and_serves_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let (data, copy, restored) =
        (folder.path().join("data"), folder.path().join("copy"), folder.path().join("restored"));
    let process = Process::start(&data);
    process.upload("waves", &waves(200));
    let train = json!({"model": "m", "dataset": "waves", "spec": {"features": {"count": 16}}});
    for _ in 0..2 {
        process.wait_for(&process.submit(&train), &["succeeded"]);
    }
    process.put("/api/v1/models/m/aliases/prod", &json!({"version": 1}));
    let (answer, stop) = (predict(&process), AtomicBool::new(false));
    let made: Vec<Output> = std::thread::scope(|scope| {
        // Something comes and goes all the time.
        scope.spawn(|| {
            for round in 0.. {
                if stop.load(Ordering::Relaxed) {
                    break;
                }
                let dataset = process.upload("fleeting", &waves(30 + round % 50));
                process.delete(&format!("/api/v1/datasets/{}", dataset["id"].as_str().unwrap()));
            }
        });
        let folders = (0..5).map(|round| folder.path().join(format!("copy-{round}"))).chain([copy.clone()]);
        let made = folders.map(|target| bochner(&["backup"], [&target, &data])).collect();
        stop.store(true, Ordering::Relaxed);
        made
    });
    for made in &made {
        assert!(made.status.success(), "{}", text(made));
        assert!(text(made).contains("2 model versions verified, 0 problems"), "{}", text(made));
    }
    let again = bochner(&["backup"], [&copy, &data]);
    assert!(!again.status.success() && text(&again).contains("not empty"), "{}", text(&again));
    process.kill();

    let made = bochner(&["restore"], [&copy, &restored]);
    assert!(made.status.success(), "{}", text(&made));
    std::fs::remove_dir_all(&data).unwrap();
    let process = Process::start(&restored);
    assert_eq!(predict(&process), answer);
    let model = process.get("/api/v1/models/m");
    assert_eq!((&model["aliases"]["prod"], model["versions"].as_array().unwrap().len()), (&json!(1), 2));
    process.wait_for(&process.submit(&train), &["succeeded"]);
    let (code, _) = process.terminate();
    assert_eq!(code, 0);
    let sound =
        Command::new(env!("CARGO_BIN_EXE_bochner")).args(["doctor", "--data-dir"]).arg(&restored).output().unwrap();
    assert!(sound.status.success(), "{}", text(&sound));
}

/// A running training in the copy waits, as it would after an orderly stop.
#[test]
fn a_job_that_runs_is_in_the_queue_of_the_copy() {
    let folder = tempfile::tempdir().unwrap();
    let (data, copy) = (folder.path().join("data"), folder.path().join("copy"));
    let process = Process::start(&data);
    process.upload("waves", &waves(20_000));
    let spec = json!({"features": {"count": 4096}, "guarantees": {"exact_rows": 0}});
    let job = process.submit(&json!({"model": "m", "dataset": "waves", "spec": spec}));
    process.wait_for(&job, &["running"]);
    let made = bochner(&["backup"], [&copy, &data]);
    assert!(made.status.success(), "{}", text(&made));
    process.kill();
    let connection = rusqlite::Connection::open(copy.join("bochner.sqlite")).unwrap();
    let state = connection.query_row("SELECT status, attempt FROM jobs", [], |row| Ok((row.get(0)?, row.get(1)?)));
    assert_eq!(state, Ok(("queued".to_owned(), 0)));
}

#[test]
fn what_is_damaged_or_no_data_directory_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let (data, copy) = (folder.path().join("data"), folder.path().join("copy"));
    std::fs::create_dir(&data).unwrap();
    let nothing = bochner(&["backup"], [&copy, &data]);
    assert!(!nothing.status.success() && text(&nothing).contains("no database"), "{}", text(&nothing));
    let process = Process::start(&data);
    process.upload("waves", &waves(200));
    process.terminate();
    let table = std::fs::read_dir(data.join("datasets")).unwrap().next().unwrap().unwrap().path();
    std::fs::remove_file(table).unwrap();
    let made = bochner(&["backup"], [&copy, &data]);
    assert_eq!(made.status.code(), Some(3), "{}", text(&made));
    assert!(text(&made).contains("problem: "), "{}", text(&made));
}
