//! The frame of every page, forms, and pages about refusals.

use super::api_client::{ApiClient, ApiRefusal};
use super::assets;
use super::backend::Backend;
use super::session::{has_token, key_of};
use askama::Template;
use axum::Form;
use axum::extract::{FromRequest, FromRequestParts, Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri, header};
use axum::middleware::Next;
use axum::response::{Html, IntoResponse, Redirect, Response};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::Value;
use std::collections::HashMap;

/// Nothing from elsewhere, nothing inline, and no page of somebody else around ours. The origin stays in `Origin` and
/// `Referer` of our own forms.
const HEADERS: [(HeaderName, &str); 3] = [
    (
        header::CONTENT_SECURITY_POLICY,
        "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; connect-src 'self'; \
         form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    ),
    (header::REFERRER_POLICY, "same-origin"),
    (header::CACHE_CONTROL, "no-store"),
];

/// The part of the console that a page belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Section {
    Start,
    Datasets,
    Train,
    Jobs,
    Models,
    Docs,
    /// The page to enter a key, from which nothing else can be reached.
    Login,
    None,
}

/// What the frame of a page shows.
pub(super) struct Frame {
    pub(super) title: String,
    pub(super) section: Section,
    /// For the forms of the page.
    pub(super) token: String,
    /// The name of the reader's key.
    pub(super) key_name: Option<String>,
    pub(super) can_train: bool,
    pub(super) can_predict: bool,
    pub(super) can_admin: bool,
    pub(super) assets: &'static str,
}

impl Frame {
    /// For a reader whom the API answers.
    pub(super) async fn load(
        api: &ApiClient,
        backend: &Backend,
        title: &str,
        section: Section,
    ) -> Result<Self, ApiRefusal> {
        let info = api.get("/api/v1/info").await?;
        let scopes: Vec<&str> =
            info["key"]["scopes"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        let may = |scope: &str| info["key"].is_null() || scopes.contains(&scope) || scopes.contains(&"admin");
        Ok(Self {
            key_name: info["key"]["name"].as_str().map(str::to_owned),
            can_train: may("train"),
            can_predict: may("predict"),
            can_admin: may("admin"),
            ..Self::bare(title, section, backend.form_token(api.key()).unwrap_or_default())
        })
    }

    /// For a reader of whom nothing is known.
    pub(super) fn bare(title: &str, section: Section, token: String) -> Self {
        Self {
            title: title.to_owned(),
            section,
            token,
            key_name: None,
            can_train: false,
            can_predict: false,
            can_admin: false,
            assets: assets::version(),
        }
    }

    /// For `aria-current` in the navigation.
    pub(super) fn is(&self, section: Section) -> bool {
        self.section == section
    }
}

/// A page as a response.
pub(super) fn html(status: StatusCode, page: &impl Template) -> Response {
    match page.render() {
        Ok(text) => {
            let mut response = (status, Html(text)).into_response();
            for (name, value) in HEADERS {
                response.headers_mut().insert(name, HeaderValue::from_static(value));
            }
            response
        }
        Err(error) => crate::api::http::error::ApiError::internal(error).into_response(),
    }
}

/// A page about a refusal: what is wrong, where, and what to do.
#[derive(Template)]
#[template(path = "error.html")]
struct ErrorPage {
    frame: Frame,
    refusal: ApiRefusal,
}

impl IntoResponse for ApiRefusal {
    /// Without a valid key, the page to enter one.
    fn into_response(self) -> Response {
        if self.status == StatusCode::UNAUTHORIZED {
            return Redirect::to("/login").into_response();
        }
        let frame = Frame::bare(&self.title, Section::None, String::new());
        let refusal = self.clone();
        let mut response = html(self.status, &ErrorPage { frame, refusal: self });
        response.extensions_mut().insert(refusal);
        response
    }
}

/// Gives pages about refusals the frame of their reader: the name of the key, the way to sign out, and no link that this key
/// may not follow.
pub(super) async fn frame_refusals(State(backend): State<Backend>, request: Request, next: Next) -> Response {
    let (mut parts, body) = request.into_parts();
    let Ok(api) = ApiClient::from_request_parts(&mut parts, &backend).await;
    let mut response = next.run(Request::from_parts(parts, body)).await;
    let Some(refusal) = response.extensions_mut().remove::<ApiRefusal>() else { return response };
    match Frame::load(&api, &backend, &refusal.title, Section::None).await {
        Ok(frame) => html(refusal.status, &ErrorPage { frame, refusal }),
        Err(_) => response,
    }
}

/// For a browser that asks for a page that is not there.
pub(in crate::api) fn no_such_page(path: &str) -> Response {
    let detail = format!("There is nothing at {path}.");
    ApiRefusal { status: StatusCode::NOT_FOUND, title: "No such page".into(), detail, problems: Vec::new() }
        .into_response()
}

/// The fields of a form that a page of ours has sent.
pub(super) struct FormFields(HashMap<String, String>);

impl FromRequest<Backend> for FormFields {
    type Rejection = ApiRefusal;

    async fn from_request(request: Request, backend: &Backend) -> Result<Self, ApiRefusal> {
        let key = key_of(request.headers());
        let Form(fields) = Form::<HashMap<String, String>>::from_request(request, backend).await.map_err(|error| {
            let detail = error.body_text();
            ApiRefusal {
                status: error.status(),
                title: "The form could not be read".into(),
                detail,
                problems: Vec::new(),
            }
        })?;
        let shown = fields.get("token").map(String::as_str).unwrap_or_default();
        if has_token(backend, key.as_deref(), shown) { Ok(Self(fields)) } else { Err(stale_form()) }
    }
}

impl FormFields {
    /// A field without surrounding space; none if it is absent or empty.
    pub(super) fn text(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(|text| text.trim()).filter(|text| !text.is_empty())
    }

    /// A field as it is: names of columns may begin or end with a space.
    pub(super) fn raw(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// All fields.
    pub(super) fn all(&self) -> &HashMap<String, String> {
        &self.0
    }
}

/// The refusal of a form without the token of its reader.
pub(super) fn stale_form() -> ApiRefusal {
    ApiRefusal {
        status: StatusCode::FORBIDDEN,
        title: "The page is out of date".into(),
        detail: "The form was made before the service was restarted or before you signed in. Go back, reload the page \
                 and send the form again."
            .into(),
        problems: Vec::new(),
    }
}

/// `GET` of what the API has under the same path: downloads, charts and event streams, with the key of the cookie.
pub(super) async fn forward(api: ApiClient, uri: Uri) -> Response {
    let path = uri.path_and_query().map_or("/", |path| path.as_str());
    let response = api.send(Method::GET, &format!("/api/v1{path}"), HeaderMap::new(), axum::body::Body::empty()).await;
    if response.status() == StatusCode::UNAUTHORIZED { Redirect::to("/login").into_response() } else { response }
}

/// What a segment of a path or a value of a query has as it is. [RFC 3986, section 2.3]
const UNRESERVED: AsciiSet = NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// A segment of a path, or a value of a query.
pub(super) fn segment(text: &str) -> String {
    utf8_percent_encode(text, &UNRESERVED).to_string()
}

#[cfg(test)]
mod tests {
    use super::segment;

    #[test]
    fn only_what_has_a_meaning_in_an_address_is_escaped() {
        assert_eq!(segment("ds-1_a.b~c"), "ds-1_a.b~c");
        assert_eq!(segment("a/b?c&d é"), "a%2Fb%3Fc%26d%20%C3%A9");
    }
}
