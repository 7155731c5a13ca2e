//! The trace of a request is in the log lines about it, and about the job that it submits.

use crate::process::Process;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

const PARENT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";

fn table() -> String {
    let rows = (0..4000).map(|row| {
        let x = |place: usize| (f64::from(row) * 0.618_034 * place as f64).fract();
        format!("{:.4},{:.4},{:.4}\n", x(1), x(2), x(3))
    });
    std::iter::once("a,b,y\n".to_owned()).chain(rows).collect()
}

/// The span of the line with this message that a job wrote, or writes soon.
fn span(process: &Process, job: &str, message: &str) -> Value {
    let deadline = Instant::now() + Duration::from_secs(30);
    loop {
        let lines = process.lines();
        let line = lines.iter().find(|line| line["message"] == message && line["span"]["id"] == job);
        if let Some(line) = line {
            return line["span"].clone();
        }
        assert!(Instant::now() < deadline, "no line '{message}' of {job} in {lines:?}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn the_lines_of_a_job_have_the_trace_of_its_request_also_after_a_crash() {
    let folder = tempfile::tempdir().unwrap();
    let process = Process::start(folder.path());
    process.upload("d", &table());
    let small =
        json!({"model": "m", "dataset": "d", "spec": {"features": {"count": 16}, "guarantees": {"exact_rows": 0}}});
    let submit = |request: &Value, headers: &[(&str, &str)]| {
        let job = process.post_with("/api/v1/jobs", headers, "application/json", &request.to_string());
        job["id"].as_str().unwrap().to_owned()
    };
    for (headers, trace) in [
        (vec![("traceparent", PARENT)], json!(TRACE)),
        (vec![], Value::Null),
        (vec![("traceparent", "00-zz-zz-01")], Value::Null),
    ] {
        let job = submit(&small, &headers);
        process.wait_for(&job, &["succeeded"]);
        for message in ["started", "succeeded"] {
            let span = span(&process, &job, message);
            assert_eq!((&span["trace"], &span["type"]), (&trace, &json!("train")), "{message}");
        }
    }
    let long = json!({"model": "m", "dataset": "d", "spec": {"features": {"count": 4096}}});
    let job = submit(&long, &[("traceparent", PARENT)]);
    process.wait_for(&job, &["running"]);
    process.kill();
    let process = Process::start(folder.path());
    process.wait_for(&job, &["running", "succeeded"]);
    let span = span(&process, &job, "started");
    assert_eq!((&span["trace"], &span["attempt"]), (&json!(TRACE), &json!(2)));
    process.kill();
}
