//! The key in a cookie, and what a form must show before it changes something.
//!
//! A form is accepted if the browser says that it comes from this very origin and if it has the token of the page. The
//! cookie is `HttpOnly`, so that no script reads the key, and `SameSite=Strict`, so that no other site makes a browser
//! send it.

use super::backend::Backend;
use crate::api::http::error::ApiError;
use crate::api::http::error_code::ErrorCode;
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, header};
use subtle::ConstantTimeEq;

const COOKIE: &str = "bochner_key";

/// The key in the cookie of a request, if it can be one.
pub(super) fn key_of(headers: &HeaderMap) -> Option<String> {
    let cookies = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    let mut pairs = cookies.flat_map(|line| line.split(';')).filter_map(|pair| pair.trim().split_once('='));
    pairs.find(|(name, _)| *name == COOKIE).map(|(_, key)| key.to_owned()).filter(|key| is_plain(key))
}

/// Whether a text can be a key: it then needs no quotes in a cookie or a header.
pub(super) fn is_plain(key: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    (1..=200).contains(&key.len()) && key.bytes().all(allowed)
}

/// The cookie that keeps a key until the browser is closed; without a key, the one that removes it.
pub(super) fn cookie(key: Option<&str>, secure: bool) -> HeaderValue {
    let secure = if secure { "; Secure" } else { "" };
    let value = match key {
        Some(key) => format!("{COOKIE}={key}; Path=/; HttpOnly; SameSite=Strict{secure}"),
        None => format!("{COOKIE}=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0{secure}"),
    };
    HeaderValue::from_str(&value).unwrap_or(HeaderValue::from_static("")) // a plain key is always valid
}

/// Whether the reader came by TLS, here or at a proxy.
pub(super) fn is_secure(backend: &Backend, headers: &HeaderMap) -> bool {
    backend.state.config.access.tls_certificate.is_some() || is_secure_at_proxy(headers)
}

/// A browser says so in `Origin`, which only forms have. Without TLS it sends no `Sec-Fetch-Site` but to its own machine.
fn is_secure_at_proxy(headers: &HeaderMap) -> bool {
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok()).unwrap_or("localhost");
    let end = if host.starts_with('[') { host.find(']').map(|end| end + 1) } else { host.find(':') };
    let name = &host[..end.unwrap_or(host.len())];
    let is_own_machine =
        name == "localhost" || name.ends_with(".localhost") || name.starts_with("127.") || name == "[::1]";
    match headers.get(header::ORIGIN) {
        Some(origin) => origin.as_bytes().starts_with(b"https://"),
        None => headers.contains_key("sec-fetch-site") && !is_own_machine,
    }
}

/// Refuses a form that does not come from a page of this very origin, by what browsers say and scripts cannot.
pub(in crate::api) fn check_same_origin(parts: &Parts) -> Result<(), ApiError> {
    let headers = &parts.headers;
    let host = headers.get(header::HOST).map(HeaderValue::as_bytes).unwrap_or_default();
    let is_own = |origin: &HeaderValue| {
        let origin = origin.as_bytes();
        let authority = origin.strip_prefix(b"http://").or_else(|| origin.strip_prefix(b"https://"));
        authority.is_some_and(|authority| authority.eq_ignore_ascii_case(host))
    };
    let fetched = headers.get("sec-fetch-site");
    let same_origin = match headers.get(header::ORIGIN) {
        Some(origin) => is_own(origin) && fetched.is_none_or(|site| site == "same-origin"),
        None => fetched.is_some_and(|site| site == "same-origin"),
    };
    if same_origin {
        return Ok(());
    }
    let detail = "a form of the console must come from a page of this service; open the console again and send the form \
                  from there. Programs use /api/v1";
    Err(ApiError::new(ErrorCode::OriginNotAllowed, detail))
}

/// Whether a form shows the token of its reader.
pub(super) fn has_token(backend: &Backend, key: Option<&str>, shown: &str) -> bool {
    backend.form_token(key).is_some_and(|token| bool::from(token.as_bytes().ct_eq(shown.as_bytes())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::Request;

    fn same_origin(pairs: &[(&str, &str)]) -> bool {
        let request = Request::post("/login").header("host", "localhost:8080");
        let request = pairs.iter().fold(request, |request, (name, value)| request.header(*name, *value));
        check_same_origin(&request.body(()).unwrap().into_parts().0).is_ok()
    }

    #[test]
    fn forms_come_from_this_very_origin() {
        assert!(same_origin(&[("origin", "http://localhost:8080")]));
        assert!(same_origin(&[("origin", "https://localhost:8080"), ("sec-fetch-site", "same-origin")]));
        assert!(same_origin(&[("sec-fetch-site", "same-origin")]));
        for foreign in [
            &[][..],
            &[("origin", "null")],
            &[("origin", "http://localhost:3000")],
            &[("origin", "http://evil.example")],
            &[("sec-fetch-site", "same-site")],
            &[("sec-fetch-site", "none")],
            &[("origin", "http://localhost:8080"), ("sec-fetch-site", "cross-site")],
        ] {
            assert!(!same_origin(foreign), "{foreign:?}");
        }
    }

    #[test]
    fn a_key_is_found_among_other_cookies() {
        let mut headers = HeaderMap::new();
        headers.append(header::COOKIE, HeaderValue::from_static("theme=dark; bochner_key=bo_1_abc-D"));
        assert_eq!(key_of(&headers).as_deref(), Some("bo_1_abc-D"));
        headers.clear();
        for none in ["bochner_key=", "bochner_key=a b", "bochner_key=\"x\"", "other=1", "xbochner_key=1"] {
            headers.insert(header::COOKIE, HeaderValue::from_str(none).unwrap());
            assert_eq!(key_of(&headers), None, "{none}");
        }
    }

    #[test]
    fn tls_at_a_proxy_is_seen_by_what_browsers_send() {
        let secure = |host: &'static str, pair: Option<(&'static str, &'static str)>| {
            let mut headers = HeaderMap::new();
            headers.insert(header::HOST, HeaderValue::from_static(host));
            if let Some((name, value)) = pair {
                headers.insert(name, HeaderValue::from_static(value));
            }
            is_secure_at_proxy(&headers)
        };
        assert!(secure("models.example", Some(("sec-fetch-site", "none"))));
        assert!(secure("models.example:8443", Some(("origin", "https://models.example:8443"))));
        assert!(
            !secure("models.example", None) && !secure("models.example", Some(("origin", "http://models.example")))
        );
        for own in ["localhost:8080", "127.0.0.1:8080", "[::1]:8080", "[::1]", "a.localhost"] {
            assert!(!secure(own, Some(("sec-fetch-site", "none"))), "{own}");
        }
    }

    #[test]
    fn the_cookie_is_out_of_reach_of_scripts_and_other_sites() {
        let value = cookie(Some("k"), true);
        assert_eq!(value.to_str().unwrap(), "bochner_key=k; Path=/; HttpOnly; SameSite=Strict; Secure");
        assert!(cookie(None, false).to_str().unwrap().contains("Max-Age=0"));
    }
}
