//! The way in. Predictions are asked for a million times a day: they are told by their path and answered at once. All
//! else, and what needs decoding first, goes through the route table, which has the same handlers.

use super::extract::ModelPath;
use super::{AppState, inference_v2, predictions, router};
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
pub struct Front {
    state: AppState,
    routes: Router,
}

impl Front {
    /// The way in to an app.
    pub fn new(state: AppState) -> Self {
        Self { routes: router(state.clone()), state }
    }

    /// How long a connection may do nothing; it is closed within twice that time.
    pub(super) fn connection_idle(&self) -> Duration {
        Duration::from_secs(self.state.config.connection_idle_seconds)
    }

    /// Answers a request. What is rare is boxed: a connection has room for the largest answer under way, and moves it.
    pub async fn answer(&self, parts: Parts, body: Body) -> Response {
        if parts.method == Method::POST {
            let path = parts.uri.path();
            if let Some(path) = ModelPath::between("/api/v1/models/", path, "predict") {
                return predictions::predict(&self.state, path, &parts, body).await;
            }
            if let Some(path) = ModelPath::between("/v2/models/", path, "infer") {
                return Box::pin(inference_v2::infer(&self.state, path, &parts, body)).await;
            }
        }
        let Ok(response) = Box::pin(self.routes.clone().oneshot(Request::from_parts(parts, body))).await;
        response
    }
}

/// Predictions whose path had to be decoded.
pub(super) async fn predict(
    State(state): State<AppState>,
    path: ModelPath<'static>,
    parts: Parts,
    body: Body,
) -> Response {
    predictions::predict(&state, path, &parts, body).await
}

/// The same for the Open Inference Protocol.
pub(super) async fn infer(
    State(state): State<AppState>,
    path: ModelPath<'static>,
    parts: Parts,
    body: Body,
) -> Response {
    inference_v2::infer(&state, path, &parts, body).await
}
