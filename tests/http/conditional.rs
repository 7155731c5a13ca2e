//! `ETag` and `If-None-Match`: what a client has already is not sent again.

use crate::harness::{Answer, Service, waves};
use axum::body::Body;
use axum::http::Request;
use serde_json::json;

const VERSION: &str = "/api/v1/models/waves/versions/1";

async fn get_if(service: &Service, path: &str, tags: &str) -> Answer {
    service.send(Request::get(path).header("if-none-match", tags).body(Body::empty()).unwrap()).await
}

#[tokio::test]
async fn what_a_client_has_is_answered_with_304() {
    let service = Service::with_model().await;
    let paths = [
        &format!("{VERSION}/artifact"),
        &format!("{VERSION}/onnx"),
        "/api/v1/datasets/waves",
        "/api/v1/datasets/waves/preview",
    ];
    for path in paths {
        let whole = service.get(path).await;
        assert_eq!(whole.status, 200, "{}", whole.text());
        let tag = whole.header("etag").to_owned();
        assert!(tag.starts_with('"') && tag.ends_with('"') && tag.len() > 60, "{path} {tag}");
        assert_eq!(whole.header("cache-control"), "private, no-cache");
        for tags in [tag.clone(), format!("W/{tag}"), format!("\"other\", {tag}"), "*".to_owned()] {
            let known = get_if(&service, path, &tags).await;
            assert_eq!((known.status.as_u16(), known.bytes.len()), (304, 0), "{path} {tags}");
            assert_eq!(known.header("etag"), tag);
            assert_eq!(known.headers.get("vary"), whole.headers.get("vary"), "{path}");
            assert!(known.headers.contains_key("x-request-id"));
        }
        for tags in ["\"other\"", "", "other", tag.trim_matches('"')] {
            let other = get_if(&service, path, tags).await;
            assert_eq!((other.status.as_u16(), &other.bytes), (200, &whole.bytes), "{path} {tags}");
        }
        let head = service.call("HEAD", path).await;
        assert_eq!((head.status.as_u16(), head.header("etag"), head.bytes.len()), (200, tag.as_str(), 0), "{path}");
    }
    let sha256 = service.get(VERSION).await.ok(200)["artifact_sha256"].clone();
    let artifact = service.get(&format!("{VERSION}/artifact")).await;
    assert_eq!(artifact.header("etag"), sha256.to_string(), "the hash in quotes");
}

#[tokio::test]
async fn tags_change_with_what_they_stand_for() {
    let service = Service::with_model().await;
    let mut seen = Vec::new();
    for path in ["/api/v1/datasets/waves", "/api/v1/datasets/waves/preview?rows=3", "/api/v1/datasets/waves/preview"] {
        seen.push((path, service.get(path).await.header("etag").to_owned()));
    }
    service.upload("name=waves", waves(301)).await.ok(201);
    for (path, tag) in &seen[..1] {
        let changed = get_if(&service, path, tag).await;
        assert_eq!(changed.ok(200)["rows"], 301);
        assert_ne!(changed.header("etag"), tag);
    }
    assert_ne!(seen[1].1, seen[2].1);

    // Another name is another description of the same bytes.
    let renamed = service.upload("name=again", waves(301)).await.ok(200);
    assert_eq!(renamed["name"], service.get("/api/v1/datasets/again").await.ok(200)["name"]);

    // A certification writes the file of a version anew.
    let spec = json!({"features": {"count": 16}, "lambda": 1e-3, "guarantees": {"exact_rows": 0}});
    assert_eq!(service.train("later", "waves", &spec).await["status"], "succeeded");
    let later = ["artifact", "onnx"].map(|file| format!("/api/v1/models/later/versions/1/{file}"));
    let mut before = Vec::new();
    for path in &later {
        before.push(service.get(path).await.header("etag").to_owned());
    }
    let certified = service.submit_and_wait(&json!({"type": "certify", "model": "later"})).await;
    assert_eq!(certified["status"], "succeeded", "{certified}");
    for (path, tag) in later.iter().zip(&before) {
        let changed = get_if(&service, path, tag).await;
        assert_eq!(changed.status, 200, "{path}");
        assert_ne!(changed.header("etag"), tag);
    }
}

#[tokio::test]
async fn what_is_not_there_has_no_tag() {
    let service = Service::with_model_and(&["--allow-model-control"]).await;
    get_if(&service, "/api/v1/datasets/none", "*").await.refused(404, "dataset_not_found");
    get_if(&service, "/api/v1/models/waves/versions/9/artifact", "*").await.refused(404, "version_not_found");
    get_if(&service, "/api/v1/models/waves/versions/9/onnx", "*").await.refused(404, "version_not_found");
    let tag = service.get(&format!("{VERSION}/onnx")).await.header("etag").to_owned();
    service.post("/v2/repository/models/waves/unload", &json!({})).await.ok(200);
    get_if(&service, &format!("{VERSION}/onnx"), &tag).await.refused(409, "model_unloaded");
}
