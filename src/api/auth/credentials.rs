//! The key in the headers of a request.
//!
//! Clients send a key as they can: `Authorization: Bearer` (MLflow by `MLFLOW_TRACKING_TOKEN`, Triton's client by its
//! `headers`), `x-api-key`, or `Authorization: Basic` with the key as password (Triton's `BasicAuth` plugin, MLflow by
//! `MLFLOW_TRACKING_PASSWORD`, `curl -u`).

use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use std::borrow::Cow;

const API_KEY: HeaderName = HeaderName::from_static("x-api-key");

/// Longest user name and password that are decoded.
const LONGEST: usize = 1024;

/// The key that a request shows. None if it shows none, an empty text if what it shows cannot be a key, as when a header
/// is there twice: a proxy and we might each take another one of them.
pub(crate) fn presented(headers: &HeaderMap) -> Option<Cow<'_, str>> {
    if let Some(value) = only(headers, API_KEY) {
        return Some(value.trim().into());
    }
    let value = only(headers, header::AUTHORIZATION)?;
    let (scheme, credentials) = value.split_once(' ').unwrap_or((value, ""));
    let credentials = credentials.trim();
    Some(if scheme.eq_ignore_ascii_case("bearer") {
        credentials.into()
    } else if scheme.eq_ignore_ascii_case("basic") {
        password(credentials).unwrap_or_default().into()
    } else {
        "".into()
    })
}

/// Whether a request has a header that no web page can make a browser send: a page of another origin would have to ask
/// first. Browsers add credentials of the scheme Basic by themselves, so that these do not count.
pub(crate) fn are_deliberate(headers: &HeaderMap) -> bool {
    let is_bearer = |value: &HeaderValue| {
        value.as_bytes().split_at_checked(7).is_some_and(|(scheme, _)| scheme.eq_ignore_ascii_case(b"bearer "))
    };
    headers.contains_key(API_KEY) || headers.get(header::AUTHORIZATION).is_some_and(is_bearer)
}

/// The text of a header; empty if it is no text, or there twice.
fn only(headers: &HeaderMap, name: HeaderName) -> Option<&str> {
    let mut values = headers.get_all(name).iter();
    let value = values.next()?;
    Some(if values.next().is_none() { value.to_str().unwrap_or_default() } else { "" })
}

/// The password of `user:password` in base64.
fn password(encoded: &str) -> Option<String> {
    let decoded = BASE64_STANDARD.decode(Some(encoded).filter(|encoded| encoded.len() <= LONGEST)?).ok()?;
    Some(String::from_utf8(decoded).ok()?.split_once(':')?.1.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&str, &str)]) -> HeaderMap {
        let parse = |(name, value): &(&str, &str)| {
            (HeaderName::from_bytes(name.as_bytes()).unwrap(), HeaderValue::from_str(value).unwrap())
        };
        pairs.iter().map(parse).collect()
    }

    #[test]
    fn a_key_is_found_in_every_form_that_clients_send() {
        for (pairs, expected, deliberate) in [
            (vec![], None, false),
            (vec![("authorization", "Bearer secret")], Some("secret"), true),
            (vec![("authorization", "bearer  secret ")], Some("secret"), true),
            (vec![("x-api-key", " secret")], Some("secret"), true),
            (vec![("authorization", "Basic dXNlcjpzZWNyZXQ=")], Some("secret"), false),
            (vec![("authorization", "Basic OnNlYzpyZXQ=")], Some("sec:ret"), false),
            (vec![("authorization", "Basic !!")], Some(""), false),
            (vec![("authorization", "Basic c2VjcmV0")], Some(""), false),
            (vec![("authorization", "Digest x")], Some(""), false),
            (vec![("authorization", "Bearer")], Some(""), false),
            (vec![("authorization", "Basic OnByb3h5"), ("x-api-key", "secret")], Some("secret"), true),
        ] {
            let headers = headers(&pairs);
            assert_eq!(presented(&headers).as_deref(), expected, "{pairs:?}");
            assert_eq!(are_deliberate(&headers), deliberate, "{pairs:?}");
        }
        for name in ["authorization", "x-api-key"] {
            for second in ["Bearer secret", "Bearer other", ""] {
                let mut doubled = headers(&[(name, "Bearer secret")]);
                doubled.append(HeaderName::from_static(name), HeaderValue::from_static(second));
                assert_eq!(presented(&doubled).as_deref(), Some(""), "{name} {second}");
            }
        }
        let mut binary = HeaderMap::new();
        binary.insert(header::AUTHORIZATION, HeaderValue::from_bytes(b"Bearer \xff").unwrap());
        assert_eq!(presented(&binary).as_deref(), Some(""));
    }
}
