//! Query strings of every route that has parameters, through the whole service. The first byte chooses the route.
#![no_main]

use axum::body::Body;
use axum::http::Request;
use bochner_fuzz::Service;
use libfuzzer_sys::fuzz_target;
use std::cell::LazyCell;

thread_local! {
    static SERVICE: LazyCell<Service> = LazyCell::new(Service::start);
}

/// Method, path, content type and body.
const ROUTES: [(&str, &str, &str, &str); 8] = [
    ("GET", "/api/v1/datasets", "", ""),
    ("GET", "/api/v1/jobs", "", ""),
    ("GET", "/api/v1/models/ridge/guarantees", "", ""),
    ("GET", "/api/v1/models/linear/versions/1/guarantees", "", ""),
    ("GET", "/api/v1/models/ridge/versions/1/onnx", "", ""),
    ("POST", "/api/v1/models/linear/predict", "application/json", r#"{"rows":[[0.5,0.25]]}"#),
    ("POST", "/api/v1/models/ridge/predict", "text/csv", "x,colour,even\n0.5,red,true\n"),
    ("POST", "/api/v1/datasets", "text/csv", "a,b\n1,2\nx\n"), // refused, or every run would write a dataset
];

fuzz_target!(|input: &[u8]| {
    let Some((choice, query)) = input.split_first() else { return };
    let (method, path, media_type, body) = ROUTES[usize::from(*choice) % ROUTES.len()];
    let Ok(query) = std::str::from_utf8(query) else { return };
    let mut request = Request::builder().method(method).uri(format!("{path}?{query}"));
    if !media_type.is_empty() {
        request = request.header("content-type", media_type);
    }
    // Not every text is a query that a client can send.
    let Ok(request) = request.body(Body::from(body)) else { return };
    SERVICE.with(|service| service.send(request));
});
