//! Refusals that are not about tables or cells: paths, methods, bodies, specs, names.

use crate::harness::{Service, waves};
use axum::body::Body;
use axum::http::Request;
use serde_json::{Value, json};

#[tokio::test]
async fn unknown_routes_and_methods() {
    let service = Service::start();
    service.get("/api/v1/nothing").await.refused(404, "route_not_found");
    let answer = service.call("PUT", "/api/v1/datasets").await;
    answer.refused(405, "method_not_allowed");
    let allow = answer.header("allow");
    assert!(allow.contains("GET") && allow.contains("POST"), "{allow}");
}

#[tokio::test]
async fn the_same_refusal_in_three_dialects() {
    let service = Service::start();
    let v2 = service.get("/v2/models/none").await;
    assert_eq!((v2.status.as_u16(), v2.header("content-type")), (404, "application/json"));
    assert!(v2.json()["error"].is_string());
    let invocations = service.get("/invocations").await;
    assert_eq!(invocations.status, 405);
    assert_eq!(invocations.json()["error_code"], "METHOD_NOT_ALLOWED");
    assert!(invocations.json()["message"].is_string());
    service.get("/v2x").await.refused(404, "route_not_found");
}

#[tokio::test]
async fn bodies_that_are_not_json_objects() {
    let service = Service::start();
    let path = "/api/v1/jobs";
    service.post_as(path, "application/json", "").await.refused(400, "empty_body");
    service.post_as(path, "application/json", "{\"model\":").await.refused(400, "malformed_json");
    service.post_as(path, "application/json", "[1]").await.refused(400, "malformed_request");
    let body = service.post_as(path, "text/csv", "{}").await.refused(415, "unsupported_media_type");
    assert!(body["detail"].as_str().unwrap().contains("application/json"), "{body}");
    let encoded = |encoding| Request::post(path).header("content-encoding", encoding).body(Body::from("x")).unwrap();
    service.send(encoded("br")).await.refused(415, "unsupported_encoding");
    service.send(encoded("gzip")).await.refused(400, "unreadable_body");
    service.send(encoded("zstd")).await.refused(400, "unreadable_body");
    let service = Service::with(&["--max-request", "100"]);
    let body = service.post_as(path, "application/json", " ".repeat(101)).await.refused(413, "body_too_large");
    assert!(body["detail"].as_str().unwrap().contains("100 bytes"), "{body}");
}

/// The errors of one job request, as (pointer, detail).
async fn job_errors(service: &Service, request: &Value) -> Vec<(String, String)> {
    let body = service.post("/api/v1/jobs", request).await.refused(422, "invalid_job");
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    body["errors"].as_array().unwrap().iter().map(|error| (text(&error["pointer"]), text(&error["detail"]))).collect()
}

/// The only error of a spec.
async fn spec_error(spec: Value) -> (String, String) {
    let service = Service::start();
    service.upload("name=waves", waves(50)).await.ok(201);
    let mut errors = job_errors(&service, &json!({"model": "m", "dataset": "waves", "spec": spec})).await;
    assert_eq!(errors.len(), 1, "{errors:?}");
    assert_eq!(service.get("/api/v1/jobs").await.ok(200)["jobs"], json!([]));
    errors.remove(0)
}

#[tokio::test]
async fn an_unknown_spec_field() {
    let (pointer, detail) = spec_error(json!({"lamda": 1})).await;
    assert_eq!(pointer, "/spec/lamda");
    assert!(detail.contains("did you mean 'lambda'?"), "{detail}");
}

#[tokio::test]
async fn a_negative_lambda() {
    let (pointer, detail) = spec_error(json!({"lambda": -1e-3})).await;
    assert_eq!(pointer, "/spec/lambda");
    assert!(detail.contains("-0.001 is not a number above 0"), "{detail}");
}

#[tokio::test]
async fn zero_features() {
    let (pointer, detail) = spec_error(json!({"features": {"count": 0}})).await;
    assert_eq!(pointer, "/spec/features/count");
    assert!(detail.contains("an even number from 2"), "{detail}");
}

#[tokio::test]
async fn specs_that_cannot_be_trained() {
    let service = Service::start();
    service.upload("name=waves", waves(50)).await.ok(201);
    for (spec, pointer, word) in [
        (json!({"lamda": 1}), "/spec/lamda", "did you mean 'lambda'?"),
        (json!({"features": {"counts": 10}}), "/spec/features/counts", "did you mean 'count'?"),
        (json!({"lambda": -1e-3}), "/spec/lambda", "-0.001 is not a number above 0"),
        (json!({"lambda": 0}), "/spec/lambda", "a number above 0"),
        (json!({"lambda": "small"}), "/spec/lambda", "inverse_sqrt_n"),
        (json!({"features": {"count": 0}}), "/spec/features/count", "an even number from 2"),
        (json!({"features": {"count": 7}}), "/spec/features/count", "an even number from 2"),
        (json!({"features": {"count": 1e9}}), "/spec/features/count", "16384"),
        (json!({"kernel": "gaussian"}), "/spec/kernel", "must be an object"),
        (json!({"kernel": {"name": "gaussain"}}), "/spec/kernel/name", "did you mean 'gaussian'?"),
        (json!({"validation_fraction": 1}), "/spec/validation_fraction", "below 1"),
    ] {
        let errors = job_errors(&service, &json!({"model": "m", "dataset": "waves", "spec": spec})).await;
        assert_eq!(errors.len(), 1, "{errors:?}");
        assert!(errors[0].0 == pointer && errors[0].1.contains(word), "{spec}: {errors:?}");
    }
    let errors = job_errors(&service, &json!({"modle": "m", "type": "dream", "spec": {"lambda": -1}})).await;
    assert_eq!(errors.len(), 5, "{errors:?}"); // all problems at once
    service.post("/api/v1/jobs", &json!({"model": "m", "dataset": "none"})).await.refused(404, "dataset_not_found");
    assert_eq!(service.get("/api/v1/jobs").await.ok(200)["jobs"], json!([]));
}

#[tokio::test]
async fn jobs_that_would_not_fit_in_memory() {
    let service = Service::with(&["--training-memory", "100MiB"]);
    service.upload("name=waves", waves(50)).await.ok(201);
    let request = json!({"model": "m", "dataset": "waves", "spec": {"features": {"count": 8192}}});
    let body = service.post("/api/v1/jobs", &request).await.refused(507, "memory_budget");
    assert!(body["detail"].as_str().unwrap().contains("the limit is 100 MiB"), "{body}");
}

#[tokio::test]
async fn names_that_could_be_paths() {
    let service = Service::start();
    service.upload("name=waves", waves(50)).await.ok(201);
    for name in ["a/b", "..", "a%2Fb", "../../etc/passwd", "", " ", "a b", &"x".repeat(65)] {
        let errors = job_errors(&service, &json!({"model": name, "dataset": "waves"})).await;
        assert_eq!(errors[0].0, "/model", "{name}: {errors:?}");
    }
    for path in ["/api/v1/models/a%2Fb", "/api/v1/models/..%2F..%2Fetc", "/api/v1/models/..", "/api/v1/models/%00"] {
        service.get(path).await.refused(422, "invalid_model_name");
        service.post(&format!("{path}/predict"), &json!({"rows": [[1]]})).await.refused(422, "invalid_model_name");
        service.call("DELETE", path).await.refused(422, "invalid_model_name");
    }
    service.get("/api/v1/models/%FF").await.refused(400, "malformed_path");
    service.get("/api/v1/models/m/versions/x").await.refused(422, "invalid_version");
    service.get("/api/v1/datasets/..%2F..%2Fbochner.sqlite").await.refused(404, "dataset_not_found");
    service.call("DELETE", "/api/v1/datasets/..%2Fbochner.sqlite").await.refused(404, "dataset_not_found");
}

#[tokio::test]
async fn request_ids_are_kept_if_sane() {
    let service = Service::start();
    let send = async |id: &str| {
        let request = Request::get("/livez").header("x-request-id", id).body(Body::empty()).unwrap();
        service.send(request).await.header("x-request-id").to_owned()
    };
    assert_eq!(send("abc-123").await, "abc-123");
    assert_ne!(send("no spaces").await, "no spaces");
    assert_ne!(send(&"x".repeat(500)).await.len(), 500);
}
