//! Server-sent events of jobs: their ids, and what a client that comes back is told.

use crate::harness::{Answer, Service, waves};
use axum::body::Body;
use axum::http::Request;
use serde_json::{Value, json};

/// One event, as a browser would read it.
#[derive(Debug, Clone, PartialEq)]
struct Told {
    id: String,
    kind: String,
    job: Value,
}

fn read(answer: &Answer) -> Vec<Told> {
    assert_eq!(answer.header("content-type"), "text/event-stream");
    let field = |event: &str, name: &str| {
        let found = event.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": ").map(str::to_owned));
        found.unwrap_or_else(|| panic!("no {name}: {event}"))
    };
    let text = answer.text();
    let events = text.split("\n\n").filter(|event| event.contains("data: "));
    let told = |event: &str| Told {
        id: field(event, "id"),
        kind: field(event, "event"),
        job: serde_json::from_str(&field(event, "data")).unwrap(),
    };
    events.map(told).collect()
}

async fn come_back(service: &Service, path: &str, last: &str) -> Answer {
    service.send(Request::get(path).header("last-event-id", last).body(Body::empty()).unwrap()).await
}

/// A job that has ended, whose events were heard from the beginning, and their path.
async fn watched(service: &Service) -> (String, Vec<Told>) {
    service.upload("name=waves", waves(2_000)).await.ok(201);
    let spec = json!({"effort": "fast", "features": {"count": 64}, "guarantees": {"exact_rows": 0}});
    let job = json!({"model": "m", "dataset": "waves", "spec": spec});
    let job = service.post("/api/v1/jobs", &job).await.ok(202);
    let path = format!("/api/v1/jobs/{}/events", job["id"].as_str().unwrap());
    let told = read(&service.get(&path).await);
    (path, told)
}

#[tokio::test]
async fn a_client_that_comes_back_is_told_what_it_missed() {
    let service = Service::start();
    let (path, told) = watched(&service).await;
    let last = told.last().unwrap();
    assert_eq!((last.id.as_str(), last.kind.as_str(), &last.job["status"]), ("end", "state", &json!("succeeded")));
    assert!(last.job["report"]["training_rows"].is_u64());
    assert!(told.iter().any(|event| event.kind == "progress"), "{told:?}");
    let ids: std::collections::BTreeSet<&str> = told.iter().map(|event| event.id.as_str()).collect();
    assert_eq!(ids.len(), told.len(), "every event has its own id");
    // The first event is the job when the stream began; from there on, the story is the same for everybody.
    for (place, event) in told.iter().enumerate().take(told.len() - 1).skip(1) {
        assert_eq!(read(&come_back(&service, &path, &event.id).await), told[place + 1..], "after {}", event.id);
    }
    let stop = come_back(&service, &path, "end").await;
    assert_eq!((stop.status.as_u16(), stop.bytes.len()), (204, 0), "a browser does not come back after this");
}

#[tokio::test]
async fn ids_that_say_nothing_here_start_with_the_job_as_it_is() {
    let service = Service::start();
    let (path, told) = watched(&service).await;
    let end = told.last().unwrap();
    let elsewhere = format!("{:x}.1", 0xabad_1dea_u64);
    let (process, _) = told[0].id.split_once('.').unwrap();
    for id in [elsewhere.as_str(), &format!("{process}.999999"), "", "0", "x.y", "end ", "-1.-1"] {
        let again = come_back(&service, &path, id).await;
        if id.trim() == "end" {
            assert_eq!(again.status, 204);
        } else {
            assert_eq!(read(&again), std::slice::from_ref(end), "{id}");
        }
    }
    come_back(&service, "/api/v1/jobs/job-none/events", "end").await.refused(404, "job_not_found");
}
