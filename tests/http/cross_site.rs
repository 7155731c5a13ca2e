//! What a web page of somebody else can make a browser send: refused, whatever the route.

use crate::harness::{Answer, Service};
use axum::body::Body;
use axum::http::Request;
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

const PREDICT: &str = "/api/v1/models/waves/predict";
const CANCEL: &str = "/api/v1/jobs/none/cancel";
const IMPORT: &str = "/api/v1/models/moved/versions";

async fn send(service: &Service, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Answer {
    let request = Request::builder().method(method).uri(path);
    let request = headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
    service.send(request.body(Body::from(body.to_owned())).unwrap()).await
}

#[tokio::test]
async fn only_known_hosts_are_answered() {
    let service = Service::with_model_and(&["--allowed-hosts", "models.example,bochner"]).await;
    let rows = json!({"rows": [[0.5, "red", true]]}).to_string();
    for (method, path, body) in [("GET", "/livez", ""), ("GET", "/nowhere", ""), ("POST", PREDICT, rows.as_str())] {
        for host in ["evil.example", "evil.example:8080", "192.0.2.1:8080", "localhost.evil.example", ""] {
            let refused = send(&service, method, path, &[("host", host)], body).await;
            let detail = refused.refused(403, "host_not_allowed")["detail"].clone();
            assert!(detail.as_str().unwrap().contains("--allowed-hosts"), "{detail}");
        }
        for host in ["localhost:8080", "127.0.0.1:1", "[::1]:8080", "models.example", "bochner:8080"] {
            let answer = send(&service, method, path, &[("host", host)], body).await;
            assert_eq!(answer.status, if path == "/nowhere" { 404 } else { 200 }, "{host}{path}: {}", answer.text());
        }
    }
    let metrics = service.get("/metrics").await.text();
    assert!(metrics.contains("route=\"unmatched\",status=\"403\""), "refusals are counted: {metrics}");
}

#[tokio::test]
async fn a_host_is_named_once() {
    let service = Service::start();
    let address = service.listen().await;
    for (line, hosts, status) in [
        ("/livez", "", "400"),
        ("/livez", "host: localhost\r\nhost: localhost\r\n", "400"),
        ("/livez", "host: localhost\r\nhost: evil.example\r\n", "400"),
        ("http://evil.example/livez", "host: localhost\r\n", "403"),
        ("http://localhost/livez", "host: localhost\r\n", "200"),
    ] {
        let mut stream = TcpStream::connect(address).await.unwrap();
        let head = format!("GET {line} HTTP/1.1\r\n{hosts}connection: close\r\n\r\n");
        stream.write_all(head.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{line} {hosts}: {answer}");
    }
}

#[tokio::test]
async fn pages_of_other_origins_are_refused() {
    let service = Service::with_model().await;
    let json = ("content-type", "application/json");
    let rows = json!({"rows": [[0.5, "red", true]]}).to_string();
    for origin in ["http://evil.example", "https://evil.example:8080", "null", "http://localhost.evil.example"] {
        for (method, path, body) in
            [("GET", "/livez", ""), ("POST", CANCEL, ""), ("POST", "/api/v1/jobs", "{}"), ("POST", PREDICT, &rows)]
        {
            let refused = send(&service, method, path, &[("origin", origin), json], body).await;
            refused.refused(403, "origin_not_allowed");
        }
    }
    for origin in ["http://localhost:3000", "http://127.0.0.1:8080", "http://[::1]"] {
        send(&service, "POST", PREDICT, &[("origin", origin), json], &rows).await.ok(200);
    }
    let fetch = |site| [("sec-fetch-site", site)];
    send(&service, "POST", CANCEL, &fetch("cross-site"), "").await.refused(403, "origin_not_allowed");
    send(&service, "DELETE", "/api/v1/models/waves", &fetch("cross-site"), "").await.refused(403, "origin_not_allowed");
    send(&service, "GET", "/livez", &fetch("cross-site"), "").await.ok(200); // a link to it
    send(&service, "POST", CANCEL, &fetch("same-origin"), "").await.refused(404, "job_not_found");
    service.call("POST", CANCEL).await.refused(404, "job_not_found"); // as from curl
}

#[tokio::test]
async fn forms_change_nothing() {
    let service = Service::with_model().await;
    let control = "/v2/repository/models/waves/unload";
    for form in ["application/x-www-form-urlencoded", "Multipart/Form-Data; boundary=x", "text/plain;charset=UTF-8"] {
        for path in [CANCEL, IMPORT, "/api/v1/jobs", "/api/v1/datasets", control] {
            let refused = send(&service, "POST", path, &[("content-type", form)], "{}").await;
            assert_eq!((refused.status.as_u16(), &refused.json()["code"]), (415, &json!("unsupported_media_type")));
        }
    }
    let file = send(&service, "POST", IMPORT, &[("content-type", "application/octet-stream")], "{}").await;
    file.refused(422, "invalid_artifact");
}

/// What a browser asks before it sends what no form can send, such as a header that a script has made up.
#[tokio::test]
async fn a_page_that_asks_first_is_never_allowed() {
    let service = Service::with_model().await;
    for (path, header) in [(IMPORT, "content-type"), ("/api/v1/datasets", "user-agent"), (PREDICT, "x-api-key")] {
        let asking = [("access-control-request-method", "POST"), ("access-control-request-headers", header)];
        for origin in ["http://evil.example", "http://localhost:3000"] {
            let headers: Vec<_> = [("origin", origin)].into_iter().chain(asking).collect();
            let answer = send(&service, "OPTIONS", path, &headers, "").await;
            assert!(!answer.status.is_success(), "{path}: {}", answer.status);
            let allows = answer.headers.keys().find(|name| name.as_str().starts_with("access-control-"));
            assert_eq!(allows, None, "{path}");
        }
    }
}

/// Scripts of old browsers send bytes without a content type, and without a word about their page.
#[tokio::test]
async fn a_browser_without_a_page_needs_a_content_type() {
    let service = Service::with_model().await;
    let old = ("user-agent", "Mozilla/5.0 (X11; Linux x86_64; rv:60.0) Gecko/20100101 Firefox/60.0");
    for path in [CANCEL, IMPORT, "/api/v1/jobs", "/api/v1/datasets"] {
        send(&service, "POST", path, &[old], "{}").await.refused(415, "unsupported_media_type");
    }
    let json = ("content-type", "application/json");
    for headers in [&[old, json][..], &[old, ("origin", "http://localhost")], &[("user-agent", "curl/8.5.0")], &[]] {
        send(&service, "POST", CANCEL, headers, "").await.refused(404, "job_not_found");
    }
}

#[tokio::test]
async fn browsers_never_guess_a_content_type() {
    let service = Service::with_model().await;
    let rows = json!({"rows": [[0.5, "red", true]]});
    for answer in [
        service.get("/livez").await,
        service.get("/metrics").await,
        service.get("/nowhere").await,
        service.call("PATCH", "/livez").await,
        service.get(PREDICT).await,
        service.post(PREDICT, &rows).await,
        service.post(PREDICT, &json!({"rows": 1})).await,
        service.post_as(PREDICT, "text/csv", "x,colour,even\n0.5,red,true\n").await,
        service.post("/invocations", &json!({})).await,
        send(&service, "GET", "/livez", &[("host", "evil.example")], "").await,
    ] {
        assert_eq!(answer.header("x-content-type-options"), "nosniff", "{}", answer.text());
    }
}

#[tokio::test]
async fn models_are_unloaded_by_clients_only_if_that_is_allowed() {
    let service = Service::with_model().await;
    for action in ["load", "unload"] {
        let refused = service.post(&format!("/v2/repository/models/waves/{action}"), &json!({})).await;
        assert_eq!((refused.status.as_u16(), &refused.json()["code"]), (403, &json!("model_control_off")));
        assert!(refused.json()["error"].as_str().unwrap().contains("--allow-model-control"));
    }
    service.post(PREDICT, &json!({"rows": [[0.5, "red", true]]})).await.ok(200);
    assert_eq!(service.post("/v2/repository/index", &json!({})).await.ok(200)[0]["state"], "READY");
}
