//! The way in. Predictions are asked for a million times a day: they are told by their path and answered at once. All
//! else, and what needs decoding first, goes through the route table, which has the same handlers.

use super::extract::ModelPath;
use crate::api::predict::{native, open_inference};
use crate::api::{AppState, router};
use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::Method;
use axum::http::request::Parts;
use axum::response::Response;
use std::time::Duration;
use tower::ServiceExt;

/// All routes; a clone is two counts.
#[derive(Clone)]
pub struct Dispatch {
    state: AppState,
    routes: Router,
}

impl Dispatch {
    /// The way in to an app.
    pub fn new(state: AppState) -> Self {
        Self { routes: router(state.clone()), state }
    }

    /// How long a connection may do nothing; it is closed within twice that time.
    pub(crate) fn connection_idle(&self) -> Duration {
        Duration::from_secs(self.state.config.connection_idle_seconds)
    }

    /// Answers a request. What is rare is boxed: a connection has room for the largest answer under way, and moves it.
    pub async fn answer(&self, parts: Parts, body: Body) -> Response {
        if parts.method == Method::POST {
            let path = parts.uri.path();
            if let Some(path) = ModelPath::between("/api/v1/models/", path, "predict") {
                return native::predict(&self.state, path, &parts, body).await;
            }
            if let Some(path) = ModelPath::between("/v2/models/", path, "infer") {
                return Box::pin(open_inference::infer(&self.state, path, &parts, body)).await;
            }
        }
        let Ok(response) = Box::pin(self.routes.clone().oneshot(Request::from_parts(parts, body))).await;
        response
    }
}

/// Predictions whose path had to be decoded.
pub(crate) async fn predict(
    State(state): State<AppState>,
    path: ModelPath<'static>,
    parts: Parts,
    body: Body,
) -> Response {
    native::predict(&state, path, &parts, body).await
}

/// The same for the Open Inference Protocol.
pub(crate) async fn infer(
    State(state): State<AppState>,
    path: ModelPath<'static>,
    parts: Parts,
    body: Body,
) -> Response {
    open_inference::infer(&state, path, &parts, body).await
}
