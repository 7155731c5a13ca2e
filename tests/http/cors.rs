//! Pages of other origins that the configuration lists: they may send requests with a key and read the answers.

use crate::harness::{Answer, Service};
use crate::key_files::KeyFolder;
use axum::body::Body;
use axum::http::Request;
use serde_json::json;

const PAGE: &str = "https://app.example";
const PREDICT: &str = "/api/v1/models/waves/predict";
const FLAGS: [&str; 2] = ["--cors-origins", "https://app.example,http://pages.example:3000"];

async fn send(service: &Service, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Answer {
    let request = Request::builder().method(method).uri(path);
    let request = headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
    service.send(request.body(Body::from(body.to_owned())).unwrap()).await
}

fn cors_headers(answer: &Answer) -> Vec<&str> {
    answer
        .headers
        .keys()
        .map(axum::http::HeaderName::as_str)
        .filter(|name| name.starts_with("access-control-"))
        .collect()
}

fn varies_by_origin(answer: &Answer) -> bool {
    answer.headers.get_all("vary").iter().any(|value| value == "origin")
}

#[tokio::test]
async fn a_listed_page_reads_answers_and_refusals() {
    let service = Service::with_model_and(&FLAGS).await;
    let rows = json!({"rows": [[0.5, "red", true]]}).to_string();
    for (method, path, body, status) in [
        ("GET", "/api/v1/models", "", 200),
        ("GET", "/livez", "", 200),
        ("GET", "/nowhere", "", 404),
        ("POST", PREDICT, rows.as_str(), 200),
        ("POST", PREDICT, "{", 400),
        ("POST", "/api/v1/jobs/none/cancel", "", 404),
        ("DELETE", "/api/v1/datasets/none", "", 404),
    ] {
        for origin in [PAGE, "http://pages.example:3000"] {
            let headers = [("origin", origin), ("sec-fetch-site", "cross-site"), ("content-type", "application/json")];
            let answer = send(&service, method, path, &headers, body).await;
            assert_eq!(answer.status, status, "{method} {path}: {}", answer.text());
            assert_eq!(answer.header("access-control-allow-origin"), origin);
            assert!(answer.header("access-control-expose-headers").contains("x-request-id"));
            assert!(varies_by_origin(&answer));
            assert!(!answer.headers.contains_key("access-control-allow-credentials"));
        }
        let same = send(&service, method, path, &[("content-type", "application/json")], body).await;
        assert_eq!((same.status.as_u16(), cors_headers(&same)), (status, vec![]), "without an origin");
        assert!(varies_by_origin(&same), "a cache must not give it to a page");
    }
}

#[tokio::test]
async fn other_pages_are_refused_as_before() {
    let service = Service::with_model_and(&FLAGS).await;
    for origin in [
        "http://app.example",
        "https://app.example:8443",
        "https://app.example.evil.example",
        "https://evil.example",
        "https://APP.example",
        "https://app.example/",
        "http://pages.example",
        "null",
        "*",
    ] {
        for (method, path) in [("GET", "/api/v1/models"), ("POST", PREDICT), ("OPTIONS", PREDICT)] {
            let asked = ("access-control-request-method", "POST");
            let refused = send(&service, method, path, &[("origin", origin), asked], "").await;
            let detail = refused.refused(403, "origin_not_allowed")["detail"].clone();
            assert!(detail.as_str().unwrap().contains("--cors-origins"), "{detail}");
            assert_eq!(cors_headers(&refused), Vec::<&str>::new(), "{origin}");
        }
    }
    // Loopback may send requests, but is not listed: it reads nothing from a page.
    let local = send(&service, "GET", "/api/v1/models", &[("origin", "http://localhost:3000")], "").await;
    assert_eq!((local.status.as_u16(), cors_headers(&local)), (200, vec![]));

    let plain = Service::start();
    let refused = send(&plain, "GET", "/livez", &[("origin", PAGE)], "").await;
    refused.refused(403, "origin_not_allowed");
    assert!(!varies_by_origin(&refused) && cors_headers(&refused).is_empty());
}

#[tokio::test]
async fn browsers_ask_before_they_send() {
    let service = Service::with_model_and(&FLAGS).await;
    let asked = [
        ("origin", PAGE),
        ("access-control-request-method", "PUT"),
        ("access-control-request-headers", "authorization,content-type"),
    ];
    for path in [PREDICT, "/api/v1/datasets/new", "/v2/models/waves/infer", "/nowhere"] {
        let answer = send(&service, "OPTIONS", path, &asked, "").await;
        assert_eq!((answer.status.as_u16(), answer.bytes.len()), (204, 0), "{path}");
        assert_eq!(answer.header("access-control-allow-origin"), PAGE);
        let allowed = answer.header("access-control-allow-methods");
        assert!(["GET", "POST", "PUT", "PATCH", "DELETE"].iter().all(|method| allowed.contains(method)), "{allowed}");
        let headers = answer.header("access-control-allow-headers");
        for name in ["authorization", "x-api-key", "content-type", "idempotency-key", "if-none-match", "last-event-id"]
        {
            assert!(headers.split(", ").any(|listed| listed == name), "{name}: {headers}");
        }
        assert!(!headers.contains('*') && !answer.headers.contains_key("access-control-allow-credentials"));
        assert!(answer.headers.contains_key("x-request-id") && varies_by_origin(&answer));
    }
    // OPTIONS that is no such question is a method that no route has.
    send(&service, "OPTIONS", "/livez", &[("origin", PAGE)], "").await.refused(405, "method_not_allowed");
    send(&service, "OPTIONS", "/livez", &asked[1..], "").await.refused(405, "method_not_allowed");
    // A host that is not served is refused first.
    let foreign = [("host", "evil.example"), asked[0], asked[1]];
    send(&service, "OPTIONS", PREDICT, &foreign, "").await.refused(403, "host_not_allowed");
}

/// A listed page needs a key like every other client; a cookie is none, and forms of the console are not for it.
#[tokio::test]
async fn a_listed_page_needs_a_key_and_no_cookie_counts() {
    let keys = KeyFolder::new();
    let key = keys.admin();
    let service = Service::with(&[FLAGS[0], FLAGS[1], "--api-keys-file", &keys.path()]);
    let cookie = format!("bochner_key={key}");
    let refused = send(&service, "GET", "/api/v1/models", &[("origin", PAGE), ("cookie", &cookie)], "").await;
    refused.refused(401, "missing_key");
    assert_eq!(refused.header("access-control-allow-origin"), PAGE, "a page can read why");
    let bearer = format!("Bearer {key}");
    let answer = send(&service, "GET", "/api/v1/models", &[("origin", PAGE), ("authorization", &bearer)], "").await;
    assert_eq!(answer.ok(200)["models"], json!([]));
    let asked = [("origin", PAGE), ("access-control-request-method", "GET")];
    assert_eq!(send(&service, "OPTIONS", "/api/v1/models", &asked, "").await.status, 204, "the question needs no key");

    let form = ("content-type", "application/x-www-form-urlencoded");
    let login = send(&service, "POST", "/login", &[("origin", PAGE), form], &format!("key={key}")).await;
    assert_eq!(login.status, 403, "{}", login.text());
    assert!(!login.headers.contains_key("set-cookie"));
}
