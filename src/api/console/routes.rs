//! The routes of the console. They are pages, so that the contract in openapi.yaml does not list them.

use super::backend::Backend;
use super::pages::{dataset, datasets, docs, jobs, login, models, start, train, try_it};
use super::{assets, page};
use crate::api::AppState;
use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::http::request::Parts;
use axum::http::{Method, header};
use axum::middleware::from_fn_with_state;
use axum::routing::{get, post};

/// Paths under which forms of the console are posted.
const FORMS: [&str; 6] = ["/login", "/logout", "/datasets", "/train", "/jobs", "/models"];

/// Every page. Each asks the API with the key of its reader.
pub(in crate::api) fn routes(backend: Backend) -> Router<AppState> {
    Router::new()
        .route("/", get(start::show))
        .route("/login", get(login::show).post(login::enter))
        .route("/logout", post(login::leave))
        .route("/datasets", get(datasets::list).post(datasets::upload).layer(DefaultBodyLimit::disable()))
        .route("/datasets/sample", post(datasets::sample))
        .route("/datasets/{id}", get(dataset::show))
        .route("/datasets/{id}/roles", post(dataset::change_role))
        .route("/datasets/{id}/delete", post(datasets::delete))
        .route("/train", get(train::show).post(train::submit))
        .route("/jobs", get(jobs::list))
        .route("/jobs/{id}", get(jobs::show))
        .route("/jobs/{id}/cancel", post(jobs::cancel))
        .route("/jobs/{id}/events", get(page::forward))
        .route("/models", get(models::list))
        .route("/models/{model}", get(models::show))
        .route("/models/{model}/versions/{version}", get(models::show))
        .route("/models/{model}/aliases", post(models::point))
        .route("/models/{model}/certify", post(models::certify))
        .route("/models/{model}/versions/{version}/artifact", get(page::forward))
        .route("/models/{model}/versions/{version}/onnx", get(page::forward))
        .route("/models/{model}/versions/{version}/plots/{plot}", get(page::forward))
        .route("/models/{model}/try", get(try_it::show))
        .route("/docs", get(docs::index))
        .route("/docs/{page}", get(docs::show))
        .layer(from_fn_with_state(backend.clone(), page::frame_refusals))
        .route("/assets/{file}", get(assets::serve))
        .with_state(backend)
}

/// Whether a request posts a form of the console: a page or a browser without script sends nothing else there.
pub(in crate::api) fn is_form(parts: &Parts) -> bool {
    let path = parts.uri.path();
    let below = |start: &str| path.strip_prefix(start).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    parts.method == Method::POST
        && parts.headers.contains_key(header::CONTENT_TYPE)
        && FORMS.iter().any(|start| below(start))
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::Request;

    #[test]
    fn only_posts_to_the_console_count_as_its_forms() {
        let form = |method: &str, path: &str| {
            let request = Request::builder().method(method).uri(path).header("content-type", "text/plain");
            is_form(&request.body(()).unwrap().into_parts().0)
        };
        assert!(form("POST", "/login") && form("POST", "/models/m/aliases") && form("POST", "/jobs/1/cancel"));
        assert!(!form("GET", "/login") && !form("POST", "/api/v1/jobs") && !form("POST", "/modelsx"));
        assert!(!form("POST", "/v2/repository/index") && !form("PUT", "/models"));
    }
}
