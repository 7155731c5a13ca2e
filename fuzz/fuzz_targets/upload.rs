//! Uploads of text formats, and rows to predict whose format is guessed, through the whole service. The first byte chooses.
#![no_main]

use axum::body::Body;
use axum::http::Request;
use bochner_fuzz::Service;
use libfuzzer_sys::fuzz_target;
use std::cell::LazyCell;

thread_local! {
    static SERVICE: LazyCell<Service> = LazyCell::new(Service::start);
}

/// Path and content type; the upload names no target, so that what can be read is refused and no dataset is kept.
const ROUTES: [(&str, Option<&str>); 7] = [
    ("/api/v1/datasets?target=no-such-column", Some("text/csv")),
    ("/api/v1/datasets?target=no-such-column", Some("text/tab-separated-values")),
    ("/api/v1/datasets?target=no-such-column", Some("application/x-ndjson")),
    ("/api/v1/datasets?target=no-such-column", Some("application/json")),
    ("/api/v1/datasets?target=no-such-column", Some("text/x-libsvm")),
    ("/api/v1/datasets?target=no-such-column", None),
    ("/api/v1/models/ridge/predict", None),
];

fuzz_target!(|input: &[u8]| {
    let Some((choice, body)) = input.split_first() else { return };
    let (path, media_type) = ROUTES[usize::from(*choice) % ROUTES.len()];
    let mut request = Request::post(path);
    if let Some(media_type) = media_type {
        request = request.header("content-type", media_type);
    }
    let Ok(request) = request.body(Body::from(body.to_vec())) else { return };
    SERVICE.with(|service| service.send(request));
});
