//! HTTP only: extract, call, wrap. The one module that names axum.

/// What every handler shares.
mod state;

/// One error type, three renderings.
mod error;

/// Request ids, spans, metrics, and the rendering of errors.
mod observe;

/// The same for requests that must be answered in microseconds.
mod watch;

/// The way in: predictions at once, the rest through the route table.
mod front;

/// Connections.
mod connections;

/// Whether they do something.
mod pulse;

/// Request bodies.
mod body;

/// Bodies that nobody reads to their end.
mod leftover;

/// Queries and names, checked.
mod extract;

/// `/api/v1/datasets`.
mod datasets;

/// `/api/v1/jobs`.
mod jobs;

/// Server-sent events of a job.
mod job_events;

/// `/api/v1/models`.
mod models;

/// `/api/v1/models/{model}/aliases`.
mod aliases;

/// `/api/v1/models/{model}/versions`: artifacts out and in.
mod artifacts;

/// `/api/v1/models/{model}/versions/{version}/onnx`.
mod onnx;

/// Jobs that measure what training left out.
mod certifications;

/// Rows added to a model.
mod updates;

/// The format that an answer is written in.
mod accept;

/// `/api/v1/models/{model}/predict`.
mod predictions;

/// The same for tables.
mod tables;

/// From rows to predictions.
mod scoring;

/// Long answers.
mod spool;

/// Large answers on their way.
mod outgoing;

/// `/v2`.
mod inference_v2;

/// `/invocations`.
mod mlflow;

/// `/api/v1/models/{model}/guarantees`.
mod guarantees;

/// `/api/v1/models/{model}/spectrum`.
mod spectrum;

/// `/api/v1/plan`.
mod plan;

/// Health, metrics, version, limits, contract.
mod operations;

pub use connections::serve;
pub use front::Front;
pub use state::AppState;

use axum::Router;
use axum::handler::Handler;
use axum::middleware::from_fn_with_state;
use axum::response::IntoResponse;
use axum::routing::{get, post, put};
use error::ApiError;
use tower_http::catch_panic::CatchPanicLayer;

/// The route table.
fn router(state: AppState) -> Router {
    let refuse = no_such_method.layer(from_fn_with_state(state.clone(), observe::observe));
    Router::new()
        .route("/api/v1/datasets", post(datasets::upload).get(datasets::list))
        .route("/api/v1/datasets/{id}", get(datasets::show).delete(datasets::delete))
        .route("/api/v1/datasets/{id}/preview", get(datasets::preview))
        .route("/api/v1/jobs", post(jobs::submit).get(jobs::list))
        .route("/api/v1/jobs/{id}", get(jobs::show).delete(jobs::delete))
        .route("/api/v1/jobs/{id}/cancel", post(jobs::cancel))
        .route("/api/v1/jobs/{id}/events", get(job_events::events))
        .route("/api/v1/models", get(models::list))
        .route("/api/v1/models/{model}", get(models::show).delete(models::delete))
        .route("/api/v1/models/{model}/update", post(updates::submit))
        .route("/api/v1/models/{model}/aliases/{alias}", put(aliases::point).delete(aliases::delete))
        .route("/api/v1/models/{model}/versions", post(artifacts::import))
        .route("/api/v1/models/{model}/versions/{version}/artifact", get(artifacts::export))
        .route("/api/v1/models/{model}/guarantees", get(guarantees::show))
        .route("/api/v1/models/{model}/spectrum", get(spectrum::show))
        .route("/api/v1/models/{model}/versions/{version}", get(models::show_version).delete(models::delete_version))
        .route("/api/v1/models/{model}/versions/{version}/guarantees", get(guarantees::show_version))
        .route("/api/v1/models/{model}/versions/{version}/onnx", get(onnx::download))
        .route("/api/v1/models/{model}/versions/{version}/spectrum", get(spectrum::show_version))
        .route("/api/v1/plan", post(plan::show))
        .route("/v2", get(inference_v2::server))
        .route("/v2/", get(inference_v2::server))
        .route("/v2/health/live", get(inference_v2::live))
        .route("/v2/health/ready", get(inference_v2::ready))
        .route("/v2/models/stats", get(inference_v2::stats))
        .route("/v2/models/{model}", get(inference_v2::model))
        .route("/v2/models/{model}/ready", get(inference_v2::model_ready))
        .route("/v2/models/{model}/stats", get(inference_v2::model_stats))
        .route("/v2/models/{model}/versions/{version}", get(inference_v2::model_version))
        .route("/v2/models/{model}/versions/{version}/ready", get(inference_v2::version_ready))
        .route("/v2/models/{model}/versions/{version}/stats", get(inference_v2::version_stats))
        .route("/v2/repository/index", post(inference_v2::index))
        .route("/v2/repository/models/{model}/load", post(inference_v2::load))
        .route("/v2/repository/models/{model}/unload", post(inference_v2::unload))
        .route("/ping", get(mlflow::ping))
        .route("/health", get(mlflow::ping))
        .route("/api/v1/info", get(operations::info))
        .route("/livez", get(operations::livez))
        .route("/readyz", get(operations::readyz))
        .route("/version", get(operations::version))
        .route("/metrics", get(operations::metrics))
        .route("/openapi.yaml", get(operations::openapi))
        .fallback(no_such_route)
        .method_not_allowed_fallback(no_such_method)
        .layer(CatchPanicLayer::custom(|_| ApiError::internal("a handler panicked").into_response()))
        .layer(from_fn_with_state(state.clone(), observe::observe))
        .layer(axum::middleware::map_request(leftover::let_in))
        // Predictions are asked for a million times a day. They come after the layers and watch over themselves.
        .route("/api/v1/models/{model}/predict", post(front::predict).fallback(refuse.clone()))
        .route("/api/v1/models/{model}/versions/{version}/predict", post(front::predict).fallback(refuse.clone()))
        .route("/v2/models/{model}/infer", post(front::infer).fallback(refuse.clone()))
        .route("/v2/models/{model}/versions/{version}/infer", post(front::infer).fallback(refuse.clone()))
        .route("/invocations", post(mlflow::invoke).fallback(refuse.clone()))
        .with_state(state)
}

async fn no_such_route(uri: axum::http::Uri) -> ApiError {
    ApiError::not_found("route_not_found", format!("there is nothing at {}", uri.path()))
}

async fn no_such_method(method: axum::http::Method, uri: axum::http::Uri) -> ApiError {
    ApiError::method_not_allowed(format!("{} does not take {method}", uri.path()))
}
