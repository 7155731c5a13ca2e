//! Names for versions: who is asked can be changed without telling those who ask.

use crate::harness::{Service, waves};
use crate::process::Process;
use serde_json::{Value, json};

const LIVE: &str = "/api/v1/models/waves/aliases/live";

/// A service with two versions of `waves` that do not agree.
async fn with_two_versions() -> Service {
    let service = Service::with_model().await;
    let job = service.train("waves", "waves", &json!({"features": {"count": 8}})).await;
    assert_eq!(job["version"], 2, "{job}");
    service
}

fn rows() -> Value {
    json!({"rows": [[0.3, "green", true], [0.9, "red", false]]})
}

async fn predict(service: &Service, model: &str) -> Value {
    service.post(&format!("/api/v1/models/{model}/predict"), &rows()).await.ok(200)
}

#[tokio::test]
async fn an_alias_is_made_moved_and_deleted() {
    let service = with_two_versions().await;
    let made = service.put(LIVE, &json!({"version": 1})).await.ok(201);
    assert_eq!(made, json!({"model": "waves", "alias": "live", "version": 1}));
    let first = predict(&service, "waves@live").await;
    assert_eq!((&first["model"], &first["version"]), (&json!("waves"), &json!(1)));
    assert_eq!(first, predict(&service, "waves/versions/1").await);
    assert_eq!(predict(&service, "waves").await["version"], 2); // the newest, as before

    assert_eq!(service.put(LIVE, &json!({"version": 2})).await.ok(200)["version"], 2);
    let second = predict(&service, "waves@live").await;
    assert_eq!(second, predict(&service, "waves").await);
    assert_ne!(second["predictions"], first["predictions"]);
    assert_eq!(service.put(LIVE, &json!({"version": 2})).await.ok(200)["version"], 2); // twice is once
    assert_eq!(service.put(LIVE, &json!({"version": 2.0})).await.ok(200)["version"], 2); // an integer in JSON Schema

    service.call("DELETE", LIVE).await.ok(204);
    service.post("/api/v1/models/waves@live/predict", &rows()).await.refused(404, "alias_not_found");
    service.call("DELETE", LIVE).await.refused(404, "alias_not_found");
    assert_eq!(predict(&service, "waves").await, second);
}

#[tokio::test]
async fn an_alias_stands_wherever_a_model_is_named() {
    let service = with_two_versions().await;
    service.put(LIVE, &json!({"version": 1})).await.ok(201);
    let told = service.get("/api/v1/models/waves@live").await.ok(200);
    assert_eq!((&told["name"], &told["latest"]["version"]), (&json!("waves"), &json!(1)));
    assert_eq!((&told["aliases"], told["versions"].as_array().unwrap().len()), (&json!({"live": 1}), 2));
    assert_eq!(service.get("/api/v1/models").await.ok(200)["models"][0]["aliases"], json!({"live": 1}));
    let guarantees = service.get("/api/v1/models/waves@live/guarantees?all=true").await.ok(200);
    assert_eq!(guarantees, service.get("/api/v1/models/waves/versions/1/guarantees?all=true").await.ok(200));
    let metadata = service.get("/v2/models/waves@live").await.ok(200);
    assert_eq!((&metadata["name"], &metadata["versions"]), (&json!("waves"), &json!(["1", "2"])));
    // With a version beside it, it must be that one.
    assert_eq!(predict(&service, "waves@live/versions/1").await["version"], 1);
    let path = "/api/v1/models/waves@live/versions/2/predict";
    let body = service.post(path, &rows()).await.refused(404, "version_not_found");
    assert_eq!(body["detail"], "model 'waves@live' has no version 2");
    assert_eq!(service.get("/api/v1/models/waves@live/versions/1/onnx").await.status, 200);
}

#[tokio::test]
async fn what_an_alias_leads_to_is_not_deleted() {
    let service = with_two_versions().await;
    service.put(LIVE, &json!({"version": 1})).await.ok(201);
    let body = service.call("DELETE", "/api/v1/models/waves/versions/1").await.refused(409, "version_aliased");
    assert!(body["detail"].as_str().unwrap().contains("'live'"), "{body}");
    service.call("DELETE", "/api/v1/models/waves").await.refused(409, "version_aliased");
    assert_eq!(service.get("/api/v1/models/waves").await.ok(200)["versions"].as_array().unwrap().len(), 2);
    service.call("DELETE", "/api/v1/models/waves/versions/2").await.ok(204);
    service.put(LIVE, &json!({"version": 2})).await.refused(404, "version_not_found");
    assert_eq!(predict(&service, "waves@live").await["version"], 1);
    service.call("DELETE", LIVE).await.ok(204);
    service.call("DELETE", "/api/v1/models/waves").await.ok(204);
}

#[tokio::test]
async fn aliases_that_cannot_be() {
    let service = Service::with_model().await;
    let at = |alias: &str| format!("/api/v1/models/waves/aliases/{alias}");
    for alias in ["0", "3", "007", &"1".repeat(25), "-a", ".a", "a%2Fb", "a@b", "a%20b", "%C3%A4", &"x".repeat(65)] {
        service.put(&at(alias), &json!({"version": 1})).await.refused(422, "invalid_alias");
        service.call("DELETE", &at(alias)).await.refused(422, "invalid_alias");
        let path = format!("/api/v1/models/waves@{alias}/predict");
        service.post(&path, &rows()).await.refused(422, "invalid_alias");
    }
    for body in [
        json!({}),
        json!({"version": 0.5}),
        json!({"version": "1"}),
        json!({"version": -1}),
        json!({"version": 5_000_000_000_u64}),
        json!({"version": 1, "reason": "why not"}),
        json!([1]),
        json!(1),
    ] {
        let refused = service.put(LIVE, &body).await.refused(422, "invalid_alias");
        assert_eq!(refused["errors"][0]["pointer"], "/version", "{body}");
    }
    service.put(LIVE, &json!({"version": 7})).await.refused(404, "version_not_found");
    service.put(LIVE, &json!({"version": 0})).await.refused(404, "version_not_found");
    service.put("/api/v1/models/nobody/aliases/live", &json!({"version": 1})).await.refused(404, "model_not_found");
    let of_alias = "/api/v1/models/waves@live/aliases/other";
    service.put(of_alias, &json!({"version": 1})).await.refused(422, "invalid_model_name");
    service.call("GET", LIVE).await.refused(405, "method_not_allowed");
    assert_eq!(service.get("/api/v1/models/waves").await.ok(200)["aliases"], json!({}));
}

#[test]
fn aliases_survive_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let process = Process::start(folder.path());
    process.upload("waves", &waves(100));
    for _ in 0..2 {
        let job = process.submit(&json!({"model": "waves", "dataset": "waves", "spec": {"features": {"count": 8}}}));
        assert_eq!(process.wait_for(&job, &["succeeded", "failed"])["status"], "succeeded");
    }
    assert_eq!(process.put(LIVE, &json!({"version": 1})), 201);
    process.kill();
    let process = Process::start(folder.path());
    let answer = process.post("/api/v1/models/waves@live/predict", "application/json", &rows().to_string());
    assert_eq!(answer["version"], 1);
    assert_eq!(process.get("/api/v1/models/waves")["aliases"], json!({"live": 1}));
    process.terminate();
}
