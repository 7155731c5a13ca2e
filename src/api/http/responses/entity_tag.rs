//! Entity tags: a client that names the tag of what it has gets 304 instead of the same bytes again. [RFC 9110, sections
//! 8.8.3 and 13.1.2]

use crate::api::http::accept::field_lines;
use crate::storage::files::hex;
use axum::Json;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::Value;
use sha2::{Digest, Sha256};

/// Caches ask every time, and are of one client only: who may see an answer depends on the key.
const CACHING: HeaderValue = HeaderValue::from_static("private, no-cache");

/// A strong tag: two answers with the same tag have the same bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct EntityTag(String);

impl EntityTag {
    /// Made of a hash, or of anything else that names the bytes. Only letters, digits and `-._` are kept.
    pub(crate) fn new(name: &str) -> Self {
        let allowed = |c: &char| c.is_ascii_alphanumeric() || "-._".contains(*c);
        Self(format!("\"{}\"", name.chars().filter(allowed).collect::<String>()))
    }

    /// The value of `ETag`.
    pub(crate) fn value(&self) -> HeaderValue {
        HeaderValue::from_str(&self.0).unwrap_or(HeaderValue::from_static("\"\"")) // these characters are always valid
    }

    /// Whether `If-None-Match` of a request lists this tag. Weak tags are compared without their mark, as the header asks;
    /// our compressed answers have them.
    pub(crate) fn is_listed(&self, headers: &HeaderMap) -> bool {
        field_lines(headers, &header::IF_NONE_MATCH).is_some_and(|list| tags(&list).any(|tag| tag == self.0))
    }

    /// Whether `If-None-Match` matches an answer that exists: it lists the tag, or is `*`.
    pub(crate) fn is_known(&self, headers: &HeaderMap) -> bool {
        let any = field_lines(headers, &header::IF_NONE_MATCH).is_some_and(|list| list.trim() == "*");
        any || self.is_listed(headers)
    }

    /// 304, with the headers that the whole answer would have.
    pub(crate) fn not_modified(&self) -> Response {
        let headers = [(header::ETAG, self.value()), (header::CACHE_CONTROL, CACHING)];
        (StatusCode::NOT_MODIFIED, headers).into_response()
    }

    /// Adds the tag to a whole answer.
    pub(crate) fn attach(&self, mut response: Response) -> Response {
        response.headers_mut().insert(header::ETAG, self.value());
        response.headers_mut().insert(header::CACHE_CONTROL, CACHING);
        response
    }
}

/// JSON with the hash of its text as tag, or 304.
pub(crate) fn tagged_json(headers: &HeaderMap, body: &Value) -> Response {
    let text = body.to_string();
    let tag = EntityTag::new(&hex(&Sha256::digest(&text)));
    let mut response = if tag.is_known(headers) { tag.not_modified() } else { tag.attach(Json(body).into_response()) };
    // It may be compressed, and 304 has the same header.
    response.headers_mut().insert(header::VARY, header::ACCEPT_ENCODING.into());
    response
}

/// The tags of a list, with their quotes and without the mark of weak ones. A tag may contain commas, so that the list
/// is cut at quotes.
fn tags(list: &str) -> impl Iterator<Item = &str> {
    let mut rest = list;
    std::iter::from_fn(move || {
        let start = rest.find('"')?;
        let end = start + 1 + rest[start + 1..].find('"')? + 1;
        let tag = &rest[start..end];
        rest = &rest[end..];
        Some(tag)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderName;

    fn headers(lines: &[&str]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for line in lines {
            headers.append(HeaderName::from_static("if-none-match"), HeaderValue::from_str(line).unwrap());
        }
        headers
    }

    #[test]
    fn a_tag_is_found_in_lists_weak_or_strong() {
        let tag = EntityTag::new("ab-1.0");
        for lines in [
            &["\"ab-1.0\""][..],
            &["W/\"ab-1.0\""],
            &["\"x\", \"ab-1.0\""],
            &["\"x,y\" ,W/\"ab-1.0\",\"z\""],
            &["\"x\"", "\"ab-1.0\""],
        ] {
            assert!(tag.is_listed(&headers(lines)) && tag.is_known(&headers(lines)), "{lines:?}");
        }
        for lines in [
            &[][..],
            &[""],
            &["ab-1.0"],
            &["\"ab-1.0"],
            &["\"AB-1.0\""],
            &["\"ab\""],
            &["\"x\"ab-1.0\"y\""],
            &["\"*\""],
            &["\"x\", *"],
        ] {
            assert!(!tag.is_known(&headers(lines)), "{lines:?}");
        }
        assert!(tag.is_known(&headers(&[" *"])) && !tag.is_listed(&headers(&["*"])));
    }

    #[test]
    fn tags_have_nothing_that_a_header_must_not() {
        assert_eq!(EntityTag::new("a\"b\n,c-1.2_").value(), "\"abc-1.2_\"");
    }
}
