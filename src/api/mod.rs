//! HTTP only: extract, call, wrap. The one module that names axum.

/// Transport: connections, bodies, headers, errors, and what is observed of every request.
mod http;

/// One file per noun of `/api/v1`: extract, call, wrap.
mod resources;

/// Predictions: one pipeline, and an adapter for each protocol.
mod predict;

/// What every handler shares.
mod state;

pub(crate) use http::connections::serve;
pub(crate) use http::dispatch::Dispatch;
pub(crate) use state::AppState;

use axum::Router;
use axum::handler::Handler;
use axum::middleware::from_fn_with_state;
use axum::response::IntoResponse;
use axum::routing::{get, post, put};
use http::error::ApiError;
use http::{dispatch, drain, observe};
use predict::{mlflow, open_inference};
use resources::{
    aliases, artifacts, datasets, guarantees, job_events, jobs, models, onnx, operations, plan, spectrum, updates,
};
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
        .route("/v2", get(open_inference::server))
        .route("/v2/", get(open_inference::server))
        .route("/v2/health/live", get(open_inference::live))
        .route("/v2/health/ready", get(open_inference::ready))
        .route("/v2/models/stats", get(open_inference::stats))
        .route("/v2/models/{model}", get(open_inference::model))
        .route("/v2/models/{model}/ready", get(open_inference::model_ready))
        .route("/v2/models/{model}/stats", get(open_inference::model_stats))
        .route("/v2/models/{model}/versions/{version}", get(open_inference::model_version))
        .route("/v2/models/{model}/versions/{version}/ready", get(open_inference::version_ready))
        .route("/v2/models/{model}/versions/{version}/stats", get(open_inference::version_stats))
        .route("/v2/repository/index", post(open_inference::index))
        .route("/v2/repository/models/{model}/load", post(open_inference::load))
        .route("/v2/repository/models/{model}/unload", post(open_inference::unload))
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
        .layer(axum::middleware::map_request(drain::let_in))
        // Predictions are asked for a million times a day. They come after the layers and watch over themselves.
        .route("/api/v1/models/{model}/predict", post(dispatch::predict).fallback(refuse.clone()))
        .route("/api/v1/models/{model}/versions/{version}/predict", post(dispatch::predict).fallback(refuse.clone()))
        .route("/v2/models/{model}/infer", post(dispatch::infer).fallback(refuse.clone()))
        .route("/v2/models/{model}/versions/{version}/infer", post(dispatch::infer).fallback(refuse.clone()))
        .route("/invocations", post(mlflow::invoke).fallback(refuse.clone()))
        .with_state(state)
}

async fn no_such_route(uri: axum::http::Uri) -> ApiError {
    ApiError::not_found("route_not_found", format!("there is nothing at {}", uri.path()))
}

async fn no_such_method(method: axum::http::Method, uri: axum::http::Uri) -> ApiError {
    ApiError::method_not_allowed(format!("{} does not take {method}", uri.path()))
}
