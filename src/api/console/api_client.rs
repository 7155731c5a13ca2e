//! Requests to the API on behalf of a reader, in this process.

use super::backend::Backend;
use super::display::sentence;
use super::session::key_of;
use crate::api::http::connections::{ClientAddress, Handler};
use crate::api::http::error::ApiError;
use crate::telemetry::Protocol;
use axum::body::{Body, to_bytes};
use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, Method, Request, StatusCode, header};
use axum::response::Response;
use serde_json::Value;
use std::convert::Infallible;
use std::net::IpAddr;

/// Largest answer that a page is made of, in bytes.
const LARGEST_ANSWER: usize = 64 << 20;

/// The API as one reader may use it.
pub(super) struct ApiClient {
    backend: Backend,
    address: IpAddr,
    key: Option<HeaderValue>,
}

/// Why the API refused.
#[derive(Debug, Clone)]
pub(super) struct ApiRefusal {
    pub(super) status: StatusCode,
    pub(super) title: String,
    pub(super) detail: String,
    /// Where, and what is wrong there.
    pub(super) problems: Vec<(String, String)>,
}

impl FromRequestParts<Backend> for ApiClient {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, backend: &Backend) -> Result<Self, Infallible> {
        Ok(Self::new(backend, ClientAddress::of(&parts.extensions), key_of(&parts.headers).as_deref()))
    }
}

impl ApiClient {
    fn new(backend: &Backend, address: IpAddr, key: Option<&str>) -> Self {
        let key = key.and_then(|key| HeaderValue::from_str(key).ok());
        Self { backend: backend.clone(), address, key }
    }

    /// The same reader with another key.
    pub(super) fn with_key(&self, key: &str) -> Self {
        Self::new(&self.backend, self.address, Some(key))
    }

    /// The text of the key.
    pub(super) fn key(&self) -> Option<&str> {
        self.key.as_ref().and_then(|key| key.to_str().ok())
    }

    pub(super) async fn get(&self, path: &str) -> Result<Value, ApiRefusal> {
        read(self.send(Method::GET, path, HeaderMap::new(), Body::empty()).await).await
    }

    pub(super) async fn send_json(&self, method: Method, path: &str, body: &Value) -> Result<Value, ApiRefusal> {
        let headers = HeaderMap::from_iter([(header::CONTENT_TYPE, HeaderValue::from_static("application/json"))]);
        read(self.send(method, path, headers, Body::from(body.to_string())).await).await
    }

    /// Without a body.
    pub(super) async fn call(&self, method: Method, path: &str) -> Result<Value, ApiRefusal> {
        read(self.send(method, path, HeaderMap::new(), Body::empty()).await).await
    }

    /// The answer as it is, for downloads and streams.
    pub(super) async fn send(&self, method: Method, path: &str, headers: HeaderMap, body: Body) -> Response {
        let Ok(mut request) = Request::builder().method(method).uri(path).body(body) else {
            return ApiError::internal(format!("'{path}' is no path")).render(Protocol::Native, "console");
        };
        *request.headers_mut() = headers;
        if let Some(key) = &self.key {
            request.headers_mut().insert("x-api-key", key.clone());
        }
        let (parts, body) = request.into_parts();
        let mut response = self.backend.api.handle(self.address, parts, body).await;
        match response.extensions_mut().remove::<ApiError>() {
            Some(error) => error.render(Protocol::Native, "console"),
            None => response,
        }
    }
}

/// The body of an answer, or why there is none.
pub(super) async fn read(response: Response) -> Result<Value, ApiRefusal> {
    let (parts, body) = response.into_parts();
    let status = parts.status;
    let refused = |title: &str, detail: String| ApiRefusal {
        status: StatusCode::INTERNAL_SERVER_ERROR,
        title: title.to_owned(),
        detail,
        problems: Vec::new(),
    };
    let bytes = to_bytes(body, LARGEST_ANSWER)
        .await
        .map_err(|error| refused("The answer could not be read", error.to_string()))?;
    let value = if bytes.is_empty() {
        Value::Null
    } else {
        serde_json::from_slice(&bytes)
            .map_err(|error| refused("The answer could not be read", format!("not JSON: {error}")))?
    };
    if status.is_success() { Ok(value) } else { Err(refusal(status, &value)) }
}

fn refusal(status: StatusCode, problem: &Value) -> ApiRefusal {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let problems = problem["errors"].as_array().into_iter().flatten();
    ApiRefusal {
        status,
        title: text(&problem["title"]),
        detail: sentence(&text(&problem["detail"])),
        problems: problems.map(|item| (text(&item["pointer"]), text(&item["detail"]))).collect(),
    }
}
