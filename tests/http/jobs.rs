//! Training jobs: states, waiting, events, cancelling.

use crate::harness::{Service, waves};
use axum::body::Body;
use axum::http::Request;
use serde_json::{Value, json};
use std::time::Duration;

/// A job that keeps a worker busy for some seconds unless it is stopped.
async fn start_long_job(service: &Service) -> Value {
    service.upload("name=long", waves(60_000)).await.ok(201);
    let spec = json!({"effort": "fast", "features": {"count": 4096}, "guarantees": {"exact_rows": 0}});
    let job =
        service.post("/api/v1/jobs", &json!({"type": "train", "model": "long", "dataset": "long", "spec": spec})).await;
    let job = job.ok(202);
    wait_for(service, &job, "running").await
}

async fn wait_for(service: &Service, job: &Value, status: &str) -> Value {
    let path = format!("/api/v1/jobs/{}", job["id"].as_str().unwrap());
    for _ in 0..3000 {
        let job = service.get(&path).await.ok(200);
        if job["status"] == status {
            return job;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("{}", service.get(&path).await.text());
}

#[tokio::test]
async fn a_job_reports_what_it_did() {
    let service = Service::start();
    service.upload("name=waves", waves(300)).await.ok(201);
    let job = service.train("waves", "waves", &json!({"features": {"count": 64}})).await;
    assert_eq!((&job["status"], &job["version"], &job["attempt"]), (&json!("succeeded"), &json!(1), &json!(1)));
    assert_eq!(job["spec"]["lambda"], "search"); // the spec with its defaults
    let report = &job["report"];
    assert_eq!((&report["training_rows"], &report["validation_rows"]), (&json!(240), &json!(60)));
    assert!(report["validation_r2"].as_f64().unwrap() > 0.5, "{report}");
    assert!(report["filled_cells"].as_u64().unwrap() > 0);
    for stage in ["scale", "accumulate", "solve", "evaluate", "certify"] {
        assert!(report["stage_seconds"][stage].is_f64(), "{stage}");
    }
}

/// With no effort named: candidates with their cost, and the spec that they resolve to, which can be submitted as it is.
#[tokio::test]
async fn a_search_is_reported_with_every_candidate_and_the_resolved_spec() {
    let service = Service::start();
    service.upload("name=waves", waves(200)).await.ok(201);
    let request = json!({"model": "waves", "dataset": "waves", "spec": {"guarantees": {"exact_rows": 0}}});
    let job = service.submit_and_wait(&request).await;
    assert_eq!((&job["status"], &job["spec"]["effort"]), (&json!("succeeded"), &json!("balanced")), "{job}");
    assert_eq!((&job["spec"]["kernel"]["name"], &job["spec"]["features"]["count"]), (&json!("search"), &json!(1024)));
    let search = &job["report"]["search"];
    let candidates = search["candidates"].as_array().unwrap();
    assert!(candidates.len() > 10 && candidates.iter().all(|candidate| candidate["seconds"].as_f64().unwrap() > 0.0));
    let chosen = &candidates[usize::try_from(search["chosen"].as_u64().unwrap()).unwrap()];
    let resolved = &search["resolved"];
    assert_eq!(resolved["kernel"]["name"], chosen["kernel"], "{search}");
    assert_eq!(resolved["kernel"]["bandwidth"], chosen["bandwidth"]);
    assert_eq!(resolved["lambda"], job["report"]["lambda"]);
    let again = json!({"model": "again", "dataset": "waves", "spec": resolved});
    assert_eq!(service.submit_and_wait(&again).await["status"], "succeeded");
}

#[tokio::test]
async fn a_running_job_shows_progress_and_can_be_canceled() {
    let service = Service::start();
    let job = start_long_job(&service).await;
    assert!(job["progress"]["stage"].is_string(), "{job}");
    let id = job["id"].as_str().unwrap();
    service.call("DELETE", &format!("/api/v1/jobs/{id}")).await.refused(409, "wrong_state");
    let dataset = job["dataset"].as_str().unwrap();
    service.call("DELETE", &format!("/api/v1/datasets/{dataset}")).await.refused(409, "dataset_in_use");

    service.call("POST", &format!("/api/v1/jobs/{id}/cancel")).await.ok(202);
    let job = wait_for(&service, &job, "canceled").await;
    assert!(job["finished_at"].is_string());
    service.get("/api/v1/models/long").await.refused(404, "model_not_found");
    service.call("DELETE", &format!("/api/v1/jobs/{id}")).await.ok(204);
    service.get(&format!("/api/v1/jobs/{id}")).await.refused(404, "job_not_found");
    service.call("DELETE", &format!("/api/v1/datasets/{dataset}")).await.ok(204);
}

#[tokio::test]
async fn a_full_queue_refuses_with_a_time_to_come_back() {
    let service = Service::with(&["--max-queued-jobs", "1"]);
    let running = start_long_job(&service).await;
    let request = json!({"model": "m", "dataset": "long", "spec": {"features": {"count": 8}}});
    let waiting = service.post("/api/v1/jobs", &request).await.ok(202);
    let answer = service.post("/api/v1/jobs", &request).await;
    answer.refused(503, "queue_full");
    assert!(answer.header("retry-after").parse::<u32>().unwrap() > 0);
    let path = |job: &Value| format!("/api/v1/jobs/{}/cancel", job["id"].as_str().unwrap());
    assert_eq!(service.call("POST", &path(&waiting)).await.ok(200)["status"], "canceled");
    service.call("POST", &path(&running)).await.ok(202);
    let canceled = service.get("/api/v1/jobs?status=canceled&model=m").await.ok(200);
    assert_eq!(canceled["jobs"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn events_tell_the_whole_story() {
    let service = Service::start();
    let path = |job: &Value, what: &str| format!("/api/v1/jobs/{}/{what}", job["id"].as_str().unwrap());
    // The listener is there before its job starts: another one is in the way until it is canceled.
    let running = start_long_job(&service).await;
    service.upload("name=waves", waves(3_000)).await.ok(201);
    let spec = json!({"features": {"count": 64}, "guarantees": {"exact_rows": 0}});
    let job = service.post("/api/v1/jobs", &json!({"model": "m", "dataset": "waves", "spec": spec})).await.ok(202);
    let events_path = path(&job, "events");
    let (events, ()) = tokio::join!(service.get(&events_path), async {
        tokio::time::sleep(Duration::from_millis(300)).await;
        service.call("POST", &path(&running, "cancel")).await.ok(202);
    });
    assert_eq!(events.header("content-type"), "text/event-stream");
    let text = events.text(); // the stream ends with the job
    let data = text.lines().filter_map(|line| line.strip_prefix("data: "));
    let states: Vec<Value> = data.map(|data| serde_json::from_str(data).unwrap()).collect();
    assert!(text.starts_with("event: state"));
    assert_eq!(states.first().unwrap()["status"], "queued");
    assert_eq!(states.last().unwrap()["status"], "succeeded");
    service.get("/api/v1/jobs/job-none/events").await.refused(404, "job_not_found");
}

#[tokio::test]
async fn events_of_a_running_job_tell_its_progress() {
    let service = Service::start();
    let job = start_long_job(&service).await;
    let path = |what: &str| format!("/api/v1/jobs/{}/{what}", job["id"].as_str().unwrap());
    let (events_path, cancel_path) = (path("events"), path("cancel"));
    // Canceled only once it is accumulating, which takes it seconds.
    let (events, ()) = tokio::join!(service.get(&events_path), async {
        let shown = path("").trim_end_matches('/').to_owned();
        while service.get(&shown).await.ok(200)["progress"]["stage"] != "accumulate" {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        tokio::time::sleep(Duration::from_millis(500)).await;
        service.call("POST", &cancel_path).await.ok(202);
    });
    let text = events.text();
    let data = text.lines().filter_map(|line| line.strip_prefix("data: "));
    let states: Vec<Value> = data.map(|data| serde_json::from_str(data).unwrap()).collect();
    assert!(states.iter().any(|state| state["progress"]["stage"] == "accumulate"), "{text}");
    assert!(text.contains("event: progress"), "{text}");
    assert_eq!(states.last().unwrap()["status"], "canceled");
}

#[tokio::test]
async fn an_idempotency_key_makes_one_job_of_two_requests() {
    let service = Service::start();
    service.upload("name=waves", waves(100)).await.ok(201);
    let send = async |model: &str| {
        let body = json!({"model": model, "dataset": "waves", "spec": {"features": {"count": 8}}}).to_string();
        let request = Request::post("/api/v1/jobs").header("content-type", "application/json");
        service
            .send(request.header("idempotency-key", "k1").header("prefer", "wait=30").body(Body::from(body)).unwrap())
            .await
    };
    let first = send("m").await.ok(200);
    assert_eq!(send("m").await.ok(200)["id"], first["id"]);
    let reordered = "{\"spec\": {\"features\": {\"count\": 8}}, \"dataset\": \"waves\", \"model\": \"m\"}";
    let request = Request::post("/api/v1/jobs").header("idempotency-key", "k1").body(Body::from(reordered)).unwrap();
    assert_eq!(service.send(request).await.ok(200)["id"], first["id"]);
    send("other").await.refused(409, "idempotency_key_reused");
    assert_eq!(service.get("/api/v1/models/m").await.ok(200)["versions"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn training_twice_gives_the_same_model_bit_for_bit() {
    let service = Service::with_model().await;
    service.train("waves", "waves", &json!({"features": {"count": 256}, "lambda": 1e-6})).await;
    service.train("waves", "waves", &json!({"features": {"count": 256, "seed": 1}, "lambda": 1e-6})).await;
    let versions = service.get("/api/v1/models/waves").await.ok(200)["versions"].clone();
    assert_eq!(versions[1]["artifact_sha256"], versions[2]["artifact_sha256"]);
    assert_ne!(versions[0]["artifact_sha256"], versions[1]["artifact_sha256"]);
}

#[tokio::test]
async fn failures_of_training_are_told_in_words() {
    let service = Service::start();
    for (table, word) in [("x,y\n1e200,1\n-1e200,2\n0,3\n", "column 'x'"), ("x,y\n1,1e200\n2,-1e200\n3,0\n", "target")]
    {
        service.upload("name=huge", table).await.ok(201);
        let job = service.train("huge", "huge", &json!({})).await;
        assert_eq!(job["error"]["code"], "nothing_to_learn");
        assert!(job["error"]["detail"].as_str().unwrap().contains(word), "{job}");
    }
    // All rows but one hold the same x, and that one is unlabelled.
    service.upload("name=flat", "x,y\n1,1\n1,2\n1,3\n1,4\n1,5\n2,\n").await.ok(201);
    let job = service.train("flat", "flat", &json!({})).await;
    assert_eq!((&job["status"], &job["error"]["code"]), (&json!("failed"), &json!("nothing_to_learn")));
}

#[tokio::test]
async fn lists_have_reports_only_where_they_are_asked_for() {
    let service = Service::with_model().await;
    let failed = service.upload("name=huge", "x,y\n1e200,1\n-1e200,2\n0,3\n").await.ok(201);
    service.train("huge", failed["id"].as_str().unwrap(), &json!({})).await;

    let listed = service.get("/api/v1/jobs").await.ok(200);
    let (failed, trained) = (&listed["jobs"][0], &listed["jobs"][1]);
    assert!(trained.get("report").is_none() && failed.get("report").is_none(), "{listed}");
    assert_eq!((&trained["version"], &failed["version"]), (&json!(1), &Value::Null));
    assert_eq!(failed["error"]["code"], "nothing_to_learn");

    let whole = service.get("/api/v1/jobs?include=report").await.ok(200);
    let shown = service.get(&format!("/api/v1/jobs/{}", trained["id"].as_str().unwrap())).await.ok(200);
    assert!(shown["report"]["training_rows"].is_u64(), "{shown}");
    assert_eq!(whole["jobs"][1], shown);
    assert_eq!(whole["jobs"][0]["report"], Value::Null);
    let mut brief = shown;
    brief.as_object_mut().unwrap().remove("report");
    assert_eq!(*trained, brief, "everything but the report");
    service.get("/api/v1/jobs?include=spec").await.refused(422, "invalid_parameter");
}
