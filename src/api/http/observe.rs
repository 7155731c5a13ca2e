//! What is done for every request: its id, its log line, its metrics, and the rendering of its error.
//!
//! `observe` is a middleware for all routes but those that predict. These call `observe_prediction` instead, which
//! needs no layer, no span and no metric lookup: each would cost a single-row prediction a few percent.

use super::error::ApiError;
use crate::api::AppState;
use crate::telemetry::{HAS_TRACES, PredictionRoute, Protocol, RequestRoute, TraceParent, continue_trace};
use axum::extract::{MatchedPath, Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, header};
use axum::middleware::Next;
use axum::response::Response;
use futures_util::FutureExt;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;
use tracing::{Instrument, Span, field};

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// Responses are what their content type says: a browser must not guess, and run, something else.
const SNIFFING: (HeaderName, HeaderValue) = (header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));

const TRACE_PARENT: HeaderName = HeaderName::from_static("traceparent");

/// What the layers within have said already, and a rendered error keeps.
const KEPT_HEADERS: [HeaderName; 3] =
    [header::ALLOW, HeaderName::from_static("ratelimit-policy"), HeaderName::from_static("ratelimit")];

/// Slower requests are logged at level info instead of debug.
const SLOW_SECONDS: f64 = 1.0;

/// The middleware of the route table.
pub(crate) async fn observe(State(state): State<AppState>, request: Request, next: Next) -> Response {
    let path = request.extensions().get::<MatchedPath>().map_or("unmatched", MatchedPath::as_str).to_owned();
    let route = RequestRoute::Other { method: method_label(request.method()), path };
    let observation = Observation::start(route, request.headers());
    let span = observation.span();
    let protocol = Protocol::of_path(request.uri().path());

    let mut response = next.run(request).instrument(span.clone()).await;
    if let Some(error) = response.extensions_mut().remove::<ApiError>() {
        let kept = KEPT_HEADERS.map(|name| (response.headers_mut().remove(&name), name));
        response = error.render(protocol, observation.id());
        for (value, name) in kept {
            if let Some(value) = value {
                response.headers_mut().entry(name).or_insert(value);
            }
        }
    }
    span.record("status", response.status().as_u16());
    observation.finish(&state, response, Instant::now())
}

/// Answers a request that is refused before its route is known.
pub(crate) fn refuse(state: &AppState, parts: &Parts, error: &ApiError) -> Response {
    let route = RequestRoute::Other { method: method_label(&parts.method), path: "unmatched".to_owned() };
    let observation = Observation::start(route, &parts.headers);
    let response = error.render(Protocol::of_path(parts.uri.path()), observation.id());
    observation.finish(state, response, Instant::now())
}

/// Counts the answer to a request that needs no route.
pub(crate) fn observe_early(state: &AppState, parts: &Parts, response: Response) -> Response {
    let route = RequestRoute::Other { method: method_label(&parts.method), path: "unmatched".to_owned() };
    Observation::start(route, &parts.headers).finish(state, response, Instant::now())
}

/// Answers a request on a connection that there should not be. It is neither counted nor logged: there may be any number.
pub(super) fn refuse_uncounted(parts: &Parts, error: &ApiError) -> Response {
    let id = request_id(&parts.headers);
    let mut response = error.render(Protocol::of_path(parts.uri.path()), id.to_str().unwrap_or_default());
    add_common_headers(&mut response, id);
    response
}

fn add_common_headers(response: &mut Response, id: HeaderValue) {
    response.headers_mut().insert(REQUEST_ID, id);
    response.headers_mut().insert(SNIFFING.0, SNIFFING.1);
}

/// A response, and when it was ready: the clock has been read already.
pub(crate) struct TimedResponse {
    pub(crate) response: Response,
    pub(crate) ready_at: Instant,
}

/// Runs a prediction to its response; a panic in it answers 500. The caller pins `work`: to move it would be to copy a
/// kilobyte.
pub(crate) async fn observe_prediction(
    state: &AppState,
    observation: Observation,
    work: Pin<&mut impl Future<Output = Result<TimedResponse, ApiError>>>,
) -> Response {
    let work = AssertUnwindSafe(work).catch_unwind();
    let span = if HAS_TRACES { observation.span() } else { Span::none() };
    let outcome = if HAS_TRACES { work.instrument(span.clone()).await } else { work.await };
    let outcome = outcome.unwrap_or_else(|_| Err(ApiError::internal("a handler panicked")));
    let (response, ready_at) = match outcome {
        Ok(TimedResponse { response, ready_at }) => (response, ready_at),
        Err(error) => {
            let protocol = Protocol::of_path(observation.route.path());
            (error.render(protocol, observation.id()), Instant::now())
        }
    };
    span.record("status", response.status().as_u16());
    observation.finish(state, response, ready_at)
}

/// A request that is being answered.
pub(crate) struct Observation {
    /// When the request arrived.
    pub(crate) start: Instant,
    id: HeaderValue,
    /// The caller's trace, so that our log lines can be found from it.
    trace: Option<TraceParent>,
    route: RequestRoute,
}

impl Observation {
    /// For a request to a route that predicts.
    pub(crate) fn of_prediction(route: PredictionRoute, headers: &HeaderMap) -> Self {
        Self::start(RequestRoute::Prediction(route), headers)
    }

    fn start(route: RequestRoute, headers: &HeaderMap) -> Self {
        Self { start: Instant::now(), id: request_id(headers), trace: trace_parent(headers), route }
    }

    fn id(&self) -> &str {
        self.id.to_str().unwrap_or_default()
    }

    /// The span of the request, as a part of the caller's trace.
    fn span(&self) -> Span {
        let (id, method, route, trace) = (self.id(), self.route.method(), self.route.path(), self.trace_id());
        let span = tracing::info_span!("request", id, method, route, trace, status = field::Empty);
        continue_trace(&span, self.trace);
        span
    }

    fn trace_id(&self) -> Option<String> {
        self.trace.map(TraceParent::trace_id)
    }

    /// Counts and logs the response, and adds the request id to it.
    fn finish(self, state: &AppState, mut response: Response, ready_at: Instant) -> Response {
        let status = response.status().as_u16();
        let seconds = (ready_at - self.start).as_secs_f64();
        state.metrics.answered(&self.route, status, seconds);
        let (id, latency_ms) = (self.id(), seconds * 1e3);
        let (method, route) = (self.route.method(), self.route.path());
        // A line for each of a million predictions a day would hide what matters; metrics count them.
        if status >= 500 || seconds > SLOW_SECONDS {
            tracing::info!(id, method, route, trace = self.trace_id(), status, latency_ms, "answered");
        } else {
            tracing::debug!(id, method, route, trace = self.trace_id(), status, latency_ms, "answered");
        }
        add_common_headers(&mut response, self.id);
        response
    }
}

/// The method as a label. A client can make up methods, so that unknown ones share a label.
fn method_label(method: &Method) -> String {
    let known = [Method::GET, Method::HEAD, Method::POST, Method::PUT, Method::DELETE, Method::OPTIONS, Method::PATCH];
    if known.contains(method) { method.to_string() } else { "OTHER".to_owned() }
}

/// The client's id if it is short and plain, else a new one.
fn request_id(headers: &HeaderMap) -> HeaderValue {
    let is_plain = |id: &&HeaderValue| {
        let allowed = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_.:".contains(byte);
        (1..=128).contains(&id.len()) && id.as_bytes().iter().all(allowed)
    };
    headers.get(REQUEST_ID).filter(is_plain).cloned().unwrap_or_else(new_id)
}

/// Random bits of this process and a count: unique without asking the system for randomness on every request.
fn new_id() -> HeaderValue {
    static PROCESS: LazyLock<u64> = LazyLock::new(|| uuid::Uuid::now_v7().as_u64_pair().1);
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let number = u128::from(*PROCESS) << 32 | u128::from(COUNT.fetch_add(1, Ordering::Relaxed));
    let digits: [u8; 24] = std::array::from_fn(|place| b"0123456789abcdef"[(number >> (92 - 4 * place)) as usize & 15]);
    HeaderValue::from_bytes(&digits).unwrap_or(HeaderValue::from_static("unknown")) // digits are always valid
}

/// The caller's trace; none if the header is missing, malformed or there twice.
pub(crate) fn trace_parent(headers: &HeaderMap) -> Option<TraceParent> {
    let mut given = headers.get_all(TRACE_PARENT).iter();
    let (Some(parent), None) = (given.next(), given.next()) else { return None };
    parent.to_str().ok()?.parse().ok()
}
