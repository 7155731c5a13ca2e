//! Requests that travel together: merged, refused when too many wait, dropped when nobody waits any more.

use crate::harness::{Answer, Service, waves};
use axum::body::Body;
use axum::http::Request;
use futures_util::future::join_all;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// A service with one prediction thread, or so many, and a model whose spread takes more than the thread that reads requests may
/// spend.
async fn service(flags: &[&str]) -> Service {
    service_of("1", flags).await
}

async fn service_of(threads: &str, flags: &[&str]) -> Service {
    let service = Service::with(&[&["--prediction-threads", threads], flags].concat());
    service.upload("name=waves", waves(120)).await.ok(201);
    let spec = json!({
        "features": {"count": 640}, "lambda": 1e-3, "error_bars": false, "spread": true,
        "guarantees": {"exact_rows": 0},
    });
    assert_eq!(service.train("waves", "waves", &spec).await["status"], "succeeded");
    service
}

fn request(row: &Value, timeout_ms: Option<u32>) -> Request<Body> {
    let request = Request::post("/api/v1/models/waves/predict").header("content-type", "application/json");
    let request = match timeout_ms {
        Some(timeout) => request.header("x-timeout-ms", timeout),
        None => request,
    };
    request.body(Body::from(body(std::slice::from_ref(row)).to_string())).unwrap()
}

fn body(rows: &[Value]) -> Value {
    json!({"rows": rows, "outputs": ["value", "spread"]})
}

fn row(number: usize) -> Value {
    let colour = ["red", "green", "blue"][number % 3];
    json!([number as f64 / 40.0, colour, number.is_multiple_of(2)])
}

/// A counter or gauge as the metrics have it.
async fn metric(service: &Service, name: &str) -> f64 {
    let metrics = service.get("/metrics").await.text();
    let line = metrics.lines().find_map(|line| line.strip_prefix(name));
    line.and_then(|rest| rest.rsplit(' ').next()?.parse().ok()).unwrap_or_else(|| panic!("no {name}: {metrics}"))
}

#[tokio::test]
async fn concurrent_rows_are_one_batch_and_have_the_bits_of_a_row_alone() {
    let service = service(&["--max-queue-delay-us", "200000", "--max-batch-rows", "32"]).await;
    let together = join_all((0..32).map(|number| service.send(request(&row(number), None)))).await;
    let labels = "{model=\"waves\",version=\"1\"}";
    assert_eq!(metric(&service, &format!("bochner_batch_rows_sum{labels}")).await, 32.0);
    // The first may be taken before the others come.
    let batches = metric(&service, &format!("bochner_batch_rows_count{labels}")).await;
    assert!(batches <= 3.0, "{batches}");
    assert_eq!(metric(&service, &format!("bochner_batches_total{labels}")).await, batches);
    let queued = "bochner_prediction_stage_seconds_count{model=\"waves\",version=\"1\",stage=\"queue\"}";
    assert_eq!(metric(&service, queued).await, 32.0);
    for (number, answer) in together.iter().enumerate() {
        let together = answer.ok(200)["predictions"][0].clone();
        let alone = service.post("/api/v1/models/waves/predict", &body(&[row(number)])).await.ok(200);
        assert_eq!(together, alone["predictions"][0], "row {number}");
        if number == 2 {
            break; // each waits for company that does not come
        }
    }
    let rows: Vec<Value> = (0..32).map(row).collect();
    let batch = service.post("/api/v1/models/waves/predict", &body(&rows)).await.ok(200);
    for (number, answer) in together.iter().enumerate() {
        assert_eq!(answer.ok(200)["predictions"][0], batch["predictions"][number], "row {number}");
    }
}

#[tokio::test]
async fn a_bad_request_fails_alone() {
    let service = service(&["--max-queue-delay-us", "100000"]).await;
    let rows = [row(0), json!([1e308, "red", true]), json!(["x", "red", true]), row(1)];
    let answers = join_all(rows.iter().map(|row| service.send(request(row, None)))).await;
    answers[0].ok(200);
    let far = answers[1].refused(422, "invalid_prediction_request");
    assert_eq!(far["errors"][0]["pointer"], "/rows/0");
    answers[2].refused(422, "invalid_prediction_request");
    answers[3].ok(200);
}

#[tokio::test]
async fn a_full_queue_refuses_at_once() {
    let service = service(&["--max-queue-delay-us", "300000", "--max-queue-rows", "4"]).await;
    let answers = join_all((0..12).map(|number| service.send(request(&row(number), None)))).await;
    let (good, refused): (Vec<&Answer>, Vec<&Answer>) = answers.iter().partition(|answer| answer.status == 200);
    assert!(good.len() >= 4 && refused.len() >= 4, "{} and {}", good.len(), refused.len());
    for answer in refused {
        answer.refused(503, "overloaded");
        assert_eq!(answer.header("retry-after"), "1");
    }
    let shed =
        metric(&service, "bochner_shed_requests_total{model=\"waves\",version=\"1\",reason=\"queue_full\"}").await;
    assert_eq!(shed, (12 - good.len()) as f64);
    let outcome = "bochner_predictions_total{model=\"waves\",version=\"1\",protocol=\"native\",outcome=\"shed\"}";
    assert_eq!(metric(&service, outcome).await, shed);
    // More rows than may wait are taken when nothing else waits.
    let rows: Vec<Value> = (0..9).map(row).collect();
    let answer = service.post("/api/v1/models/waves/predict", &body(&rows)).await.ok(200);
    assert_eq!(answer["predictions"].as_array().unwrap().len(), 9);
}

#[tokio::test]
async fn deadlines_pass_and_senders_go_away() {
    let service = service(&["--max-queue-delay-us", "300000"]).await;
    service.send(request(&row(0), Some(20))).await.refused(504, "deadline_exceeded");
    let gone = tokio::time::timeout(Duration::from_millis(20), service.send(request(&row(1), None))).await;
    assert!(gone.is_err());
    tokio::time::sleep(Duration::from_millis(700)).await;
    for reason in ["deadline", "disconnected"] {
        let name = format!("bochner_shed_requests_total{{model=\"waves\",version=\"1\",reason=\"{reason}\"}}");
        assert_eq!(metric(&service, &name).await, 1.0, "{reason}");
    }
    assert_eq!(metric(&service, "bochner_queued_rows{model=\"waves\",version=\"1\"}").await, 0.0);
    service.send(request(&row(2), None)).await.ok(200);
}

/// Whether a request is answered before another one that was sent first.
async fn overtakes(service: &Service, first: Request<Body>, second: Request<Body>) -> bool {
    let slow = service.send(first);
    let quick = async {
        tokio::time::sleep(Duration::from_millis(20)).await;
        service.send(second).await.ok(200);
        Instant::now()
    };
    let slow = async {
        assert_eq!(slow.await.status, 200);
        Instant::now()
    };
    let (slow, quick) = tokio::join!(slow, quick);
    quick < slow
}

fn many(rows: usize) -> Request<Body> {
    let rows: Vec<Value> = (0..rows).map(row).collect();
    let request = Request::post("/api/v1/models/waves/predict").header("content-type", "application/json");
    request.body(Body::from(body(&rows).to_string())).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_row_takes_the_second_thread_while_the_first_computes() {
    // One batch, so that it is one thread's for long.
    let service = service_of("2", &["--max-batch-rows", "100000"]).await;
    assert!(overtakes(&service, many(10_000), request(&row(0), None)).await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_row_overtakes_a_table_on_the_only_thread() {
    let service = service(&["--max-queue-rows", "8"]).await;
    let lines: Vec<String> = (0..10_000).map(|number| row(number).to_string()).collect();
    let table = Request::post("/api/v1/models/waves/predict?outputs=value,spread");
    let table = table.header("content-type", "application/x-ndjson").body(Body::from(lines.join("\n"))).unwrap();
    // Its rows do not fill the queue for others.
    assert!(overtakes(&service, table, request(&row(0), None)).await);
}

#[tokio::test]
async fn a_large_request_waits_for_no_company_and_a_small_one_not_beyond_its_deadline() {
    let service = service(&["--max-queue-delay-us", "10000000", "--bypass-rows", "4"]).await;
    let start = Instant::now();
    service.send(request(&row(0), Some(50))).await.refused(504, "deadline_exceeded");
    // The thread that waited with it is free again.
    service.send(many(4)).await.ok(200);
    assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
    let small = service.send(request(&row(0), Some(2000)));
    let large = async {
        tokio::time::sleep(Duration::from_millis(100)).await;
        service.send(many(4)).await.ok(200);
        Instant::now()
    };
    let start = Instant::now();
    let (small, large) = tokio::join!(small, large);
    small.ok(200); // computed as soon as there is other work: a thread that waits keeps nobody
    assert!(large - start < Duration::from_secs(1));
}

#[tokio::test]
async fn rows_that_wait_for_company_keep_no_thread_from_others() {
    let service = service(&["--max-queue-delay-us", "5000000"]).await;
    let spec = json!({"features": {"count": 640}, "lambda": 1e-3, "spread": true, "guarantees": {"exact_rows": 0}});
    assert_eq!(service.train("other", "waves", &spec).await["status"], "succeeded");
    let rows: Vec<Value> = (0..200).map(row).collect();
    let others = async {
        tokio::time::sleep(Duration::from_millis(300)).await;
        service.post("/api/v1/models/other/predict", &body(&rows)).await.ok(200);
        Instant::now()
    };
    let waiting = async {
        service.send(request(&row(1), None)).await.ok(200);
        Instant::now()
    };
    let (waited, other) = tokio::join!(waiting, others);
    assert!(other < waited, "a large request of another model waits for nobody");
}
