//! Entering a key, which a cookie keeps until the browser is closed.

use crate::api::console::api_client::{ApiClient, ApiRefusal};
use crate::api::console::backend::Backend;
use crate::api::console::page::{FormFields, Frame, Section, html};
use crate::api::console::session::{cookie, is_plain, is_secure};
use askama::Template;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Redirect, Response};

#[derive(Template)]
#[template(path = "login.html")]
struct LoginPage {
    frame: Frame,
    needs_key: bool,
    message: Option<String>,
}

/// `GET`.
pub(in crate::api::console) async fn show(State(backend): State<Backend>, api: ApiClient) -> Response {
    page(&backend, &api, StatusCode::OK, None)
}

/// `POST`: the key is checked as any request would be.
pub(in crate::api::console) async fn enter(
    State(backend): State<Backend>,
    api: ApiClient,
    headers: HeaderMap,
    form: FormFields,
) -> Response {
    let key = form.text("key").unwrap_or_default().to_owned();
    if !is_plain(&key) {
        let message = "That is not a key. A key is one word of letters, digits, '_' and '-'.".to_owned();
        return page(&backend, &api, StatusCode::UNPROCESSABLE_ENTITY, Some(message));
    }
    let probe = api.with_key(&key);
    match probe.get("/version").await {
        Ok(_) => {
            let cookie = cookie(Some(&key), is_secure(&backend, &headers));
            ([(header::SET_COOKIE, cookie)], Redirect::to("/")).into_response()
        }
        Err(ApiRefusal { status, detail, .. }) => page(&backend, &api, status, Some(detail)),
    }
}

/// `POST /logout`.
pub(in crate::api::console) async fn leave(
    State(backend): State<Backend>,
    headers: HeaderMap,
    _: FormFields,
) -> Response {
    ([(header::SET_COOKIE, cookie(None, is_secure(&backend, &headers)))], Redirect::to("/login")).into_response()
}

fn page(backend: &Backend, api: &ApiClient, status: StatusCode, message: Option<String>) -> Response {
    let token = backend.form_token(api.key()).unwrap_or_default();
    let needs_key = backend.state.keys.is_some();
    let frame = Frame::bare("Sign in", if needs_key { Section::Login } else { Section::None }, token);
    html(status, &LoginPage { frame, needs_key, message })
}
