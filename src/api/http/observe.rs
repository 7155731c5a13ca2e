//! Request ids, spans, metrics, and the rendering of errors: the outermost layer.

use super::error::ApiError;
use crate::api::AppState;
use crate::telemetry::{RequestLabels, RouteLabel};
use axum::extract::{MatchedPath, Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method};
use axum::middleware::Next;
use axum::response::Response;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;
use tracing::Instrument;

pub(crate) const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

const TRACE_PARENT: HeaderName = HeaderName::from_static("traceparent");

/// Requests that take longer are told at the level of a usual log.
pub(crate) const SLOW_SECONDS: f64 = 1.0;

/// Wraps every request.
pub(crate) async fn observe(State(state): State<AppState>, request: Request, next: Next) -> Response {
    let start = Instant::now();
    let id = request_id(request.headers());
    let method = method_label(request.method());
    let uri = request.uri().clone();
    let route = request.extensions().get::<MatchedPath>().map_or("unmatched", MatchedPath::as_str).to_owned();
    let text = id.to_str().unwrap_or_default();
    let span = tracing::info_span!("request", id = text, method, route, trace = tracing::field::Empty);
    if let Some(trace) = trace_id(request.headers()) {
        span.record("trace", trace);
    }

    let mut response = next.run(request).instrument(span.clone()).await;
    let _entered = span.enter();
    if let Some(error) = response.extensions_mut().remove::<ApiError>() {
        let allow = response.headers_mut().remove(axum::http::header::ALLOW);
        response = error.render(uri.path(), text);
        if let Some(allow) = allow {
            response.headers_mut().insert(axum::http::header::ALLOW, allow);
        }
    }
    response.headers_mut().insert(REQUEST_ID, id);
    let status = response.status().as_u16();
    let seconds = start.elapsed().as_secs_f64();
    // A line for each of a million predictions a day would drown what matters; metrics count them.
    if response.status().is_server_error() || seconds > SLOW_SECONDS {
        tracing::info!(status, latency_ms = seconds * 1e3, "answered");
    } else {
        tracing::debug!(status, latency_ms = seconds * 1e3, "answered");
    }
    state.metrics.request_seconds.get_or_create(&RouteLabel { route: route.clone() }).observe(seconds);
    state.metrics.requests.get_or_create(&RequestLabels { method, route, status }).inc();
    response
}

/// Methods anyone may make up must not become labels.
fn method_label(method: &Method) -> String {
    let known = [Method::GET, Method::HEAD, Method::POST, Method::PUT, Method::DELETE, Method::OPTIONS, Method::PATCH];
    if known.contains(method) { method.to_string() } else { "OTHER".to_owned() }
}

/// The sender's id if it is sane, else a new one.
pub(crate) fn request_id(headers: &HeaderMap) -> HeaderValue {
    let sane = |id: &&HeaderValue| {
        let allowed = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_.:".contains(byte);
        (1..=128).contains(&id.len()) && id.as_bytes().iter().all(allowed)
    };
    headers.get(REQUEST_ID).filter(sane).cloned().unwrap_or_else(new_id)
}

/// Random bits of this process and a count: no two requests share an id, and none needs the system's randomness.
fn new_id() -> HeaderValue {
    static PROCESS: LazyLock<u64> = LazyLock::new(|| uuid::Uuid::now_v7().as_u64_pair().1);
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let number = u128::from(*PROCESS) << 32 | u128::from(COUNT.fetch_add(1, Ordering::Relaxed));
    let digits: [u8; 24] = std::array::from_fn(|place| b"0123456789abcdef"[(number >> (92 - 4 * place)) as usize & 15]);
    HeaderValue::from_bytes(&digits).unwrap_or(HeaderValue::from_static("unknown")) // digits are always a value
}

/// The trace id of a W3C `traceparent`, so that our log lines can be found from the caller's trace.
pub(crate) fn trace_id(headers: &HeaderMap) -> Option<String> {
    let mut parts = headers.get(TRACE_PARENT)?.to_str().ok()?.split('-');
    let (_version, id) = (parts.next()?, parts.next()?);
    (id.len() == 32 && id.chars().all(|c| c.is_ascii_hexdigit())).then(|| id.to_owned())
}
