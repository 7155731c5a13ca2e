//! Models in memory: what fits stays, what was not used for longest goes and comes back when asked for; whoever began
//! with a version ends with it.

use crate::harness::{Answer, Service, open_body, waves};
use axum::body::Body;
use axum::http::Request;
use serde_json::{Value, json};
use std::time::Duration;
use tokio::sync::mpsc::UnboundedSender;

async fn train(service: &Service, model: &str, kernel: &str, features: usize) {
    train_by(service, model, kernel, json!({"count": features})).await;
}

async fn train_by(service: &Service, model: &str, kernel: &str, features: Value) {
    let spec = json!({
        "features": features, "lambda": 1e-3, "error_bars": false, "kernel": {"name": kernel},
        "guarantees": {"exact_rows": 0},
    });
    let job = service.train(model, "waves", &spec).await;
    assert_eq!(job["status"], "succeeded", "{job}");
    predict(service, model).await.ok(200); // the series of a version appear with its first use
}

async fn service(memory: &str) -> Service {
    let service = Service::with(&["--model-memory", memory]);
    service.upload("name=waves", waves(120)).await.ok(201);
    service
}

/// Bytes of the first version of a model.
async fn memory(service: &Service, model: &str) -> f64 {
    let name = format!("bochner_model_memory_bytes{{model=\"{model}\",version=\"1\"}} ");
    let metrics = service.get("/metrics").await.text();
    let line = metrics.lines().find_map(|line| line.strip_prefix(&name).map(str::to_owned));
    line.unwrap_or_else(|| panic!("no {name}: {metrics}")).parse().unwrap()
}

async fn predict(service: &Service, model: &str) -> Answer {
    let body = json!({"rows": [[0.5, "red", true]]});
    service.post(&format!("/api/v1/models/{model}/predict"), &body).await
}

#[tokio::test]
async fn the_least_recently_used_model_goes_and_comes_back() {
    // Two of about 100 kB fit.
    let service = service("256KiB").await;
    for model in ["a", "b", "c"] {
        train(&service, model, "gaussian", 2048).await;
    }
    let before = predict(&service, "c").await.ok(200);
    let one = memory(&service, "c").await;
    // Draws as they were made and in f32, weights twice: what is there at least.
    let least = f64::from(1024 * 5 * (8 + 4) + 2 * 2048 * 8);
    assert!(one >= least && one < 1.3 * least, "{one} and {least}");
    assert_eq!(memory(&service, "a").await, 0.0);
    assert_eq!(memory(&service, "b").await, one);
    predict(&service, "b").await.ok(200);
    predict(&service, "a").await.ok(200); // read again
    assert_eq!((memory(&service, "a").await, memory(&service, "b").await), (one, one));
    assert_eq!(memory(&service, "c").await, 0.0, "used before b");
    let stats = service.get("/v2/models/c/stats").await.ok(200);
    assert_eq!(stats["model_stats"][0]["inference_count"], 0);
    assert_eq!(memory(&service, "c").await, 0.0, "statistics drive nobody out");
    let after = predict(&service, "c").await.ok(200);
    assert_eq!(before, after, "the same bits after it was read again");
    assert_eq!(memory(&service, "b").await, 0.0);
}

#[tokio::test]
async fn a_model_larger_than_the_budget_is_served_alone() {
    let service = service("1KiB").await;
    for model in ["a", "b"] {
        train(&service, model, "gaussian", 256).await;
    }
    for (asked, other) in [("a", "b"), ("b", "a"), ("a", "b")] {
        predict(&service, asked).await.ok(200);
        assert!(memory(&service, asked).await > 1024.0);
        assert_eq!(memory(&service, other).await, 0.0);
    }
}

#[tokio::test]
async fn every_kind_of_frequencies_is_counted_as_it_is_held() {
    let service = service("1GiB").await;
    train(&service, "gaussian", "gaussian", 2048).await;
    train(&service, "laplace", "laplace", 2048).await;
    let difference = memory(&service, "laplace").await - memory(&service, "gaussian").await;
    // Four more bytes for each of 1024 draws of five inputs, but for texts of the specs.
    assert!((difference - f64::from(1024 * 5 * 4)).abs() < 200.0, "{difference}");
    train_by(&service, "structured", "gaussian", json!({"count": 2048, "sampling": "structured"})).await;
    // Of each of 1024 draws three signs, a norm and four factors in f32, and the weights twice.
    let least = f64::from(1024 * (3 + 8 + 4 * 4) + 2 * 2048 * 8);
    let structured = memory(&service, "structured").await;
    assert!(structured >= least && structured < 1.2 * least, "{structured} and {least}");
}

const LINE: &str = "[0.5, \"red\", true]\n";

/// A table that has begun to come, and where its rest goes.
fn half_a_table(path: &str) -> (Request<Body>, UnboundedSender<String>) {
    let (sender, body) = open_body();
    sender.send(LINE.to_owned()).unwrap();
    let request = Request::post(path).header("content-type", "application/x-ndjson");
    (request.header("accept", "application/json").body(body).unwrap(), sender)
}

#[tokio::test]
async fn a_request_ends_with_the_version_it_began_with() {
    let service = service("1GiB").await;
    train(&service, "waves", "gaussian", 256).await;
    service.put("/api/v1/models/waves/aliases/live", &json!({"version": 1})).await.ok(201);
    let expected = predict(&service, "waves").await.ok(200)["predictions"][0].clone();
    for path in ["/api/v1/models/waves/predict", "/api/v1/models/waves@live/predict"] {
        let (request, rest) = half_a_table(path);
        let change = async {
            tokio::time::sleep(Duration::from_millis(200)).await;
            if path.contains('@') {
                service.put("/api/v1/models/waves/aliases/live", &json!({"version": 2})).await.ok(200);
                assert_eq!(service.call("DELETE", "/api/v1/models/waves/versions/1").await.status, 204);
            } else {
                train(&service, "waves", "laplace", 128).await;
            }
            let newest = predict(&service, "waves@live").await.ok(200);
            assert_eq!(newest["version"], if path.contains('@') { 2 } else { 1 });
            rest.send(LINE.to_owned()).unwrap();
            drop(rest);
        };
        let (answer, ()) = tokio::join!(service.send(request), change);
        let answer = answer.ok(200);
        assert_eq!(answer["version"], 1, "{path}");
        assert_eq!(answer["predictions"], json!([expected, expected]), "{path}");
    }
    // Nothing of the version that is gone stays in memory or in the metrics.
    let metrics = service.get("/metrics").await.text();
    assert!(!metrics.contains("model=\"waves\",version=\"1\""), "{metrics}");
}
