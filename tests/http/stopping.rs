//! Jobs and services that are asked to stop.

use crate::harness::Service;
use crate::process::Process;
use serde_json::{Value, json};
use std::fmt::Write;
use std::time::{Duration, Instant};

/// Texts of many kinds: each becomes an input of its own, 200 for each column.
fn texts(rows: usize, columns: usize) -> String {
    let names: Vec<String> = (0..columns).map(|column| format!("c{column}")).collect();
    let mut table = format!("{},y\n", names.join(","));
    for row in 0..rows {
        for column in 0..columns {
            let _ = write!(table, "t{},", (row * (7 + 2 * column) + column) % 200);
        }
        let _ = writeln!(table, "{:.4}", (row as f64 * 0.618_034).fract());
    }
    table
}

fn wait_for_stage(process: &Process, job: &str, stage: &str) -> Value {
    let deadline = Instant::now() + Duration::from_secs(300);
    loop {
        let now = process.get(&format!("/api/v1/jobs/{job}"));
        if now["progress"]["stage"] == stage {
            return now;
        }
        assert!(Instant::now() < deadline && now["finished_at"].is_null(), "{now}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// 6,600 inputs, on which certifying takes long: it has many parts, each of which took long without asking. A second of an
/// idle machine is longer on a busy one, where this test may run. What each stage takes between two questions is measured
/// in tests/numerics/stopping.rs.
#[test]
fn a_job_on_a_wide_table_is_canceled_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let process = Process::start(folder.path());
    process.upload("wide", &texts(1_600, 33));
    let request = json!({"model": "wide", "dataset": "wide", "spec": {"features": {"count": 512}, "lambda": 1e-3}});
    for seconds in [0, 1, 3] {
        let job = process.submit(&request);
        wait_for_stage(&process, &job, "certify");
        std::thread::sleep(Duration::from_secs(seconds));
        let start = Instant::now();
        process.post(&format!("/api/v1/jobs/{job}/cancel"), "application/json", "");
        let ended = process.wait_for(&job, &["canceled", "succeeded"]);
        assert_eq!(ended["status"], "canceled", "{seconds}: {ended}");
        assert!(start.elapsed() < Duration::from_secs(3), "{seconds}: {:?}", start.elapsed());
    }
    let job = process.submit(&request);
    wait_for_stage(&process, &job, "certify");
    let (code, took) = process.terminate();
    assert!(code == 0 && took < Duration::from_secs(4), "{code} {took:?}");
    let process = Process::start(folder.path());
    let again = process.wait_for(&job, &["running"]);
    assert_eq!(again["attempt"], 1, "the start before did not count");
    process.kill();
}

#[tokio::test]
async fn a_job_beyond_the_time_limit_fails_with_what_to_do() {
    let service = Service::with(&["--max-job-seconds", "1"]);
    service.upload("name=wide", texts(1_200, 32)).await.ok(201);
    let spec = json!({"features": {"count": 2048}});
    let job = service.submit_and_wait(&json!({"model": "m", "dataset": "wide", "spec": spec})).await;
    assert_eq!((&job["status"], &job["error"]["code"]), (&json!("failed"), &json!("time_limit")), "{job}");
    assert!(job["error"]["detail"].as_str().unwrap().contains("--max-job-seconds"), "{job}");
    assert_eq!(service.get("/api/v1/info").await.ok(200)["limits"]["job_seconds"], 1);
}

#[test]
fn while_it_leaves_a_service_is_not_ready_and_serves_on() {
    let folder = tempfile::tempdir().unwrap();
    let process = Process::start_with(folder.path(), &["--drain-delay", "3"]);
    assert_eq!(process.status_of("/readyz"), Some(200));
    let start = Instant::now();
    process.signal("TERM");
    process.wait_for_log("stopping");
    while start.elapsed() < Duration::from_secs(2) {
        assert_eq!((process.status_of("/readyz"), process.status_of("/api/v1/models")), (Some(503), Some(200)));
    }
    assert_eq!(process.wait(), 0);
    assert!(start.elapsed() >= Duration::from_secs(3), "{:?}", start.elapsed());
}
