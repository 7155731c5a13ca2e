//! The committed contract against the routes that answer.

use crate::harness::Service;
use serde_json::Value;

const CONTRACT: &str = include_str!("../../openapi/openapi.yaml");
const ROUTES: &str = include_str!("../../src/api/mod.rs");

fn contract() -> Value {
    serde_yaml_ng::from_str(CONTRACT).unwrap()
}

/// (method, path) of every route in the route table.
fn routes() -> Vec<(String, String)> {
    let table: String = ROUTES.split_whitespace().collect();
    let mut routes = Vec::new();
    for route in table.split(".route(\"").skip(1) {
        let (path, methods) = route.split_once("\",").unwrap();
        for method in ["get", "post", "put", "delete"] {
            let registered =
                |call: &str| methods.split(".route(").next().unwrap().contains(&format!("{call}{method}("));
            if registered("") && (methods.starts_with(&format!("{method}(")) || registered(").")) {
                routes.push((method.to_owned(), path.to_owned()));
            }
        }
    }
    routes
}

#[test]
fn every_route_is_in_the_contract_and_the_other_way_round() {
    let contract = contract();
    let mut documented: Vec<(String, String)> = Vec::new();
    for (path, item) in contract["paths"].as_object().unwrap() {
        for method in item.as_object().unwrap().keys().filter(|key| *key != "parameters") {
            documented.push((method.clone(), path.clone()));
        }
    }
    let mut routes = routes();
    documented.sort();
    routes.sort();
    assert!(routes.len() > 20, "{routes:?}");
    assert_eq!(routes, documented);
}

/// Every code the service can answer is in the contract.
#[test]
fn every_error_code_is_documented() {
    let sources = [
        include_str!("../../src/api/http/error.rs"),
        include_str!("../../src/api/http/extract.rs"),
        include_str!("../../src/api/resources/datasets.rs"),
        include_str!("../../src/api/resources/jobs.rs"),
        include_str!("../../src/api/predict/native.rs"),
        include_str!("../../src/api/resources/operations.rs"),
        include_str!("../../src/api/resources/aliases.rs"),
        include_str!("../../src/api/resources/artifacts.rs"),
        include_str!("../../src/api/http/body.rs"),
        include_str!("../../src/api/resources/certifications.rs"),
        include_str!("../../src/api/resources/guarantees.rs"),
        include_str!("../../src/api/resources/models.rs"),
        include_str!("../../src/api/predict/mlflow.rs"),
        include_str!("../../src/api/resources/onnx.rs"),
        include_str!("../../src/api/resources/plan.rs"),
        include_str!("../../src/api/predict/pipeline.rs"),
        include_str!("../../src/api/state.rs"),
        include_str!("../../src/api/predict/tables.rs"),
        include_str!("../../src/api/resources/updates.rs"),
        include_str!("../../src/api/predict/open_inference/mod.rs"),
        include_str!("../../src/api/predict/open_inference/metadata.rs"),
        include_str!("../../src/api/predict/open_inference/repository.rs"),
        include_str!("../../src/api/predict/open_inference/request.rs"),
        include_str!("../../src/api/predict/open_inference/response.rs"),
        include_str!("../../src/api/predict/open_inference/tensor_rows.rs"),
        include_str!("../../src/api/predict/open_inference/tensor.rs"),
        include_str!("../../src/serving/refusal.rs"),
        include_str!("../../src/serving/formats/arrow.rs"),
        include_str!("../../src/serving/formats/json.rs"),
        include_str!("../../src/serving/formats/ndjson.rs"),
        include_str!("../../src/serving/formats/scoring_request.rs"),
        ROUTES,
    ];
    let mut seen = 0;
    for word in sources.iter().flat_map(|source| source.split('"')) {
        let is_code = word.contains('_') && word.chars().all(|c| c.is_ascii_lowercase() || c == '_');
        let is_error = [
            "invalid_",
            "malformed_",
            "unsupported_",
            "_not_found",
            "_too_large",
            "_body",
            "_full",
            "_in_use",
            "_exceeded",
            "_unloaded",
            "_aliased",
            "_acceptable",
            "_timeout",
            "_loading",
            "_too_long",
            "no_default",
        ];
        if is_code && is_error.iter().any(|part| word.contains(part)) {
            assert!(CONTRACT.contains(word), "{word} is not in openapi.yaml");
            seen += 1;
        }
    }
    assert!(seen > 15, "{seen}");
}

#[tokio::test]
async fn the_contract_is_served() {
    let answer = Service::start().get("/openapi.yaml").await;
    assert_eq!(answer.status, 200);
    assert_eq!(answer.text(), CONTRACT);
}

#[tokio::test]
async fn health_version_limits_and_metrics() {
    let service = Service::start();
    assert_eq!(service.get("/livez").await.ok(200)["live"], true);
    assert_eq!(service.get("/readyz").await.ok(200)["ready"], true);
    assert_eq!(service.get("/version").await.ok(200)["name"], "bochner");
    assert!(service.get("/api/v1/info").await.ok(200)["limits"]["columns"].is_u64());
    service.get("/nowhere").await;
    let metrics = service.get("/metrics").await.text();
    assert!(
        metrics.contains("bochner_http_requests_total{method=\"GET\",route=\"/livez\",status=\"200\"} 1"),
        "{metrics}"
    );
    assert!(metrics.contains("route=\"unmatched\",status=\"404\""), "{metrics}");
    assert!(metrics.contains("bochner_jobs{status=\"queued\"} 0"), "{metrics}");
    assert!(metrics.ends_with("# EOF\n"));
}
