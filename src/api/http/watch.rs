//! What `observe` does, for the routes that are called a million times a day: no layer, no span, no lookup.

use super::error::ApiError;
use super::observe::{REQUEST_ID, SLOW_SECONDS, request_id, trace_id};
use crate::api::AppState;
use crate::api::predict::pipeline::Answered;
use crate::telemetry::PredictionRoute;
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::Response;
use futures_util::FutureExt;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::time::Instant;

/// A prediction request under observation.
pub(crate) struct Watch<'a> {
    state: &'a AppState,
    route: PredictionRoute,
    /// When it came.
    pub(crate) start: Instant,
    id: HeaderValue,
    trace: Option<String>,
}

impl<'a> Watch<'a> {
    /// From now on.
    pub(crate) fn start(state: &'a AppState, route: PredictionRoute, headers: &HeaderMap) -> Self {
        Self { state, route, start: Instant::now(), id: request_id(headers), trace: trace_id(headers) }
    }

    /// Runs the handler and gives its answer, rendered and counted; a panic in it answers 500. The handler is pinned where
    /// it stands: to move it would be to copy a kilobyte.
    pub(crate) async fn over(self, work: Pin<&mut impl Future<Output = Result<Answered, ApiError>>>) -> Response {
        let outcome = AssertUnwindSafe(work).catch_unwind().await;
        let outcome = outcome.unwrap_or_else(|_| Err(ApiError::internal("a handler panicked")));
        let (mut response, at) = match outcome {
            Ok(answered) => (answered.response, answered.at),
            Err(error) => (error.render(self.route.path(), self.id()), Instant::now()),
        };
        self.count(response.status(), at);
        response.headers_mut().insert(REQUEST_ID, self.id);
        response
    }

    fn id(&self) -> &str {
        self.id.to_str().unwrap_or_default()
    }

    fn count(&self, status: StatusCode, at: Instant) {
        let seconds = (at - self.start).as_secs_f64();
        self.state.metrics.prediction_answered(self.route, status.as_u16(), seconds);
        let (id, route, trace) = (self.id(), self.route.path(), self.trace.as_deref());
        let (status, latency_ms) = (status.as_u16(), seconds * 1e3);
        if status >= 500 || seconds > SLOW_SECONDS {
            tracing::info!(id, route, trace, status, latency_ms, "answered");
        } else {
            tracing::debug!(id, route, trace, status, latency_ms, "answered");
        }
    }
}
