//! The way in. Predictions are asked for a million times a day: they are told by their path and answered at once. All
//! else, and what needs decoding first, goes through the route table, which has the same handlers.

use super::extract::ModelPath;
use super::{AppState, inference_v2, predictions, router};
use axum::Router;
use axum::extract::{Request, State};
use axum::http::Method;
use axum::response::Response;
use axum::routing::future::RouteFuture;
use futures_util::future::Either;
use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;
use tower::Service;

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
}

/// An answer on its way.
type Answering = Pin<Box<dyn Future<Output = Result<Response, Infallible>> + Send>>;

impl Service<Request> for Front {
    type Response = Response;
    type Error = Infallible;
    type Future = Either<Answering, RouteFuture<Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request) -> Self::Future {
        if request.method() == Method::POST {
            let path = request.uri().path();
            if let Some(path) = ModelPath::between("/api/v1/models/", path, "predict") {
                let state = State(self.state.clone());
                return Either::Left(Box::pin(async { Ok(predictions::predict(state, path, request).await) }));
            }
            if let Some(path) = ModelPath::between("/v2/models/", path, "infer") {
                let state = State(self.state.clone());
                return Either::Left(Box::pin(async { Ok(inference_v2::infer(state, path, request).await) }));
            }
        }
        Either::Right(self.routes.call(request))
    }
}
