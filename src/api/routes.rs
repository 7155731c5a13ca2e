//! The route table.

use super::AppState;
use super::auth::authorize_route;
use super::console::{self, Backend};
use super::http::accept::names_html;
use super::http::error::ApiError;
use super::http::error_code::ErrorCode;
use super::http::responses::compression::{compressed, compressed_predictions};
use super::http::{drain, observe};
use super::predict::{mlflow, open_inference, predict_route};
use super::resources::{
    aliases, artifacts, datasets, explanations, guarantees, job_events, jobs, models, onnx, operations, plan, plots,
    spectrum, updates,
};
use crate::telemetry::{PredictionRoute, Protocol};
use axum::Router;
use axum::handler::Handler;
use axum::http::{HeaderMap, Method, Uri};
use axum::middleware::{from_fn_with_state, map_request};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post, put};
use tower_http::catch_panic::CatchPanicLayer;

/// Every route; who may use it is in `auth/permissions.rs`. Those that predict are added after the layers, because they
/// do the work of the layers themselves.
pub fn router(state: AppState) -> Router {
    let observe = from_fn_with_state(state.clone(), observe::observe);
    let api = api_routes(&state);
    let mut all = api.clone();
    for route in PredictionRoute::ALL {
        all = all.route(route.path(), predict_route(route));
    }
    let console = console::routes(Backend::new(state.clone(), all.with_state(state.clone())));
    let router = api
        .merge(console.method_not_allowed_fallback(no_such_method))
        .layer(CatchPanicLayer::custom(|_| ApiError::internal("a handler panicked").into_response()))
        .layer(observe.clone());
    let mut router = compressed(router).layer(map_request(drain::drain_request));
    for route in PredictionRoute::ALL {
        let refuse = no_such_method.layer(observe.clone());
        let predictions = predict_route(route).fallback(refuse);
        let predictions = match route.protocol() {
            Protocol::Native | Protocol::Invocations => compressed_predictions(predictions),
            Protocol::InferenceV2 => predictions, // it has codings of its own
        };
        router = router.route(route.path(), predictions);
    }
    router.with_state(state)
}

/// The API without its predictions: requests are checked, but neither counted nor logged. Pages of the console ask it too.
fn api_routes(state: &AppState) -> Router<AppState> {
    Router::new()
        .route("/api/v1/datasets", post(datasets::upload).get(datasets::list))
        .route(
            "/api/v1/datasets/{id}",
            get(datasets::show).put(datasets::put).patch(datasets::patch).delete(datasets::delete),
        )
        .route("/api/v1/datasets/{id}/preview", get(datasets::preview))
        .route("/api/v1/jobs", post(jobs::submit).get(jobs::list))
        .route("/api/v1/jobs/estimate", post(jobs::estimates::show))
        .route("/api/v1/jobs/{id}", get(jobs::show).delete(jobs::delete))
        .route("/api/v1/jobs/{id}/cancel", post(jobs::cancel))
        .route("/api/v1/jobs/{id}/events", get(job_events::events))
        .route("/api/v1/jobs/{id}/comparison.csv", get(jobs::comparisons::csv))
        .route("/api/v1/jobs/{id}/comparison.svg", get(jobs::comparisons::svg))
        .route("/api/v1/models", get(models::listing::list))
        .route("/api/v1/models/{model}", get(models::show).delete(models::delete))
        .route("/api/v1/models/{model}/update", post(updates::submit))
        .route("/api/v1/models/{model}/aliases/{alias}", put(aliases::point).delete(aliases::delete))
        .route("/api/v1/models/{model}/versions", post(artifacts::import).get(models::listing::versions))
        .route("/api/v1/models/{model}/versions/{version}/artifact", get(artifacts::export))
        .route("/api/v1/models/{model}/guarantees", get(guarantees::show))
        .route("/api/v1/models/{model}/explanations", get(explanations::show))
        .route("/api/v1/models/{model}/spectrum", get(spectrum::show))
        .route("/api/v1/models/{model}/drift", get(models::drift::show))
        .route("/api/v1/models/{model}/versions/{version}", get(models::show_version).delete(models::delete))
        .route("/api/v1/models/{model}/versions/{version}/guarantees", get(guarantees::show))
        .route("/api/v1/models/{model}/versions/{version}/onnx", get(onnx::download))
        .route("/api/v1/models/{model}/versions/{version}/explanations", get(explanations::show))
        .route("/api/v1/models/{model}/versions/{version}/spectrum", get(spectrum::show))
        .route("/api/v1/models/{model}/versions/{version}/drift", get(models::drift::show))
        .route("/api/v1/models/{model}/plots", get(plots::list))
        .route("/api/v1/models/{model}/plots/{plot}", get(plots::show))
        .route("/api/v1/models/{model}/versions/{version}/plots", get(plots::list))
        .route("/api/v1/models/{model}/versions/{version}/plots/{plot}", get(plots::show))
        .route("/api/v1/plan", post(plan::show))
        .route("/v2", get(open_inference::server))
        .route("/v2/", get(open_inference::server))
        .route("/v2/health/live", get(open_inference::live))
        .route("/v2/health/ready", get(open_inference::ready))
        .route("/v2/models/stats", get(open_inference::stats))
        .route("/v2/models/{model}", get(open_inference::model))
        .route("/v2/models/{model}/ready", get(open_inference::model_ready))
        .route("/v2/models/{model}/stats", get(open_inference::model_stats))
        .route("/v2/models/{model}/versions/{version}", get(open_inference::model))
        .route("/v2/models/{model}/versions/{version}/ready", get(open_inference::model_ready))
        .route("/v2/models/{model}/versions/{version}/stats", get(open_inference::model_stats))
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
        .route("/openapi.json", get(operations::openapi_json))
        .fallback(no_such_route)
        .method_not_allowed_fallback(no_such_method)
        .layer(from_fn_with_state(state.clone(), authorize_route))
}

/// A browser that asks for a page gets one.
async fn no_such_route(method: Method, uri: Uri, headers: HeaderMap) -> Response {
    if method == Method::GET && names_html(&headers) {
        return console::no_such_page(uri.path());
    }
    ApiError::new(ErrorCode::RouteNotFound, format!("there is no route {}", uri.path())).into_response()
}

async fn no_such_method(method: Method, uri: Uri) -> ApiError {
    let detail =
        format!("{} does not support {method}; the header `allow` lists the methods that it supports", uri.path());
    ApiError::new(ErrorCode::MethodNotAllowed, detail)
}
