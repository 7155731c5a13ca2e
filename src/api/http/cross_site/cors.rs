//! Pages of other origins that may read our responses, by configuration. [Fetch standard, section 3.2]
//!
//! Origins are listed one by one and compared as they are: there is no `*`. Cookies never count, because no response has
//! `Access-Control-Allow-Credentials`; such a page sends a key in a header, as every other client does.

use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};

/// The methods of our routes.
const METHODS: HeaderValue = HeaderValue::from_static("GET, HEAD, POST, PUT, PATCH, DELETE");

/// The headers that our routes read.
const REQUEST_HEADERS: HeaderValue = HeaderValue::from_static(
    "accept, authorization, content-encoding, content-type, idempotency-key, if-none-match, \
     inference-header-content-length, last-event-id, prefer, traceparent, x-api-key, x-request-id, x-requested-with, \
     x-timeout-ms",
);

/// The headers of our responses that a page cannot read unless they are named.
const RESPONSE_HEADERS: HeaderValue = HeaderValue::from_static(
    "allow, content-disposition, etag, inference-header-content-length, location, ratelimit, ratelimit-policy, \
     retry-after, www-authenticate, x-request-id",
);

/// Seconds for which a browser remembers that it may send a request: what Chromium keeps at most is two hours.
const REMEMBERED: HeaderValue = HeaderValue::from_static("600");

/// The origins that may read responses.
pub(crate) struct CorsOrigins(Vec<String>);

impl CorsOrigins {
    /// Checked origins, as configured.
    pub(crate) fn new(origins: &[String]) -> Self {
        Self(origins.to_vec())
    }

    /// Whether no origin is listed.
    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether an `Origin` is listed. Browsers write it in lower case and without a default port.
    pub(super) fn lists(&self, origin: &[u8]) -> bool {
        self.0.iter().any(|known| known.as_bytes() == origin)
    }

    /// The origin of a request, if it is listed.
    pub(crate) fn listed(&self, headers: &HeaderMap) -> Option<HeaderValue> {
        if self.is_empty() {
            return None; // nothing is looked up for it
        }
        headers.get(header::ORIGIN).filter(|origin| self.lists(origin.as_bytes())).cloned()
    }

    /// Whether a browser asks whether a page of a listed origin may send a request. It shows no key yet.
    pub(crate) fn is_preflight(&self, parts: &Parts) -> bool {
        parts.method == Method::OPTIONS
            && parts.headers.contains_key(header::ACCESS_CONTROL_REQUEST_METHOD)
            && self.listed(&parts.headers).is_some()
    }

    /// Lets a page of a listed origin read a response. Where origins are listed, every response depends on the origin.
    pub(crate) fn expose(&self, origin: Option<HeaderValue>, mut response: Response) -> Response {
        if self.is_empty() {
            return response;
        }
        let headers = response.headers_mut();
        headers.append(header::VARY, header::ORIGIN.into());
        if let Some(origin) = origin {
            headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
            headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, RESPONSE_HEADERS);
        }
        response
    }
}

/// What pages of listed origins may send: what any client may. Whether it is allowed shows with the request and its key.
pub(crate) fn preflight() -> Response {
    let headers = [
        (header::ACCESS_CONTROL_ALLOW_METHODS, METHODS),
        (header::ACCESS_CONTROL_ALLOW_HEADERS, REQUEST_HEADERS),
        (header::ACCESS_CONTROL_MAX_AGE, REMEMBERED),
    ];
    (StatusCode::NO_CONTENT, headers).into_response()
}
