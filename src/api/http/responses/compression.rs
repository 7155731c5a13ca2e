//! Compressed responses, for clients that ask for them. [RFC 9110, section 12.5.3]
//!
//! Texts are compressed from a kilobyte on; model files and Arrow streams are numbers that hardly shrink, and events must
//! not wait in the buffer of an encoder. Predictions are compressed only if they are long: a single row is answered in
//! less time than an encoder takes to start. Predictions of `/v2` have codings of their own, and nothing else there is compressed.

use crate::api::http::accept::{Weighted, field_lines};
use axum::Router;
use axum::extract::Request;
use axum::http::{Extensions, HeaderMap, HeaderValue, StatusCode, Version, header};
use axum::middleware::{map_request, map_response};
use axum::response::{IntoResponse, Response};
use axum::routing::MethodRouter;
use hyper::body::Body;
use std::convert::Infallible;
use std::future::ready;
use tower::{ServiceExt, service_fn};
use tower_http::compression::predicate::{And, Predicate, SizeAbove};
use tower_http::compression::{CompressionLayer, CompressionLevel};

/// Shorter responses fit into one packet anyway.
const WORTH_COMPRESSING: u64 = 1 << 10;

/// Shorter predictions are not compressed: clients often name codings without being asked, and most wait nearby.
const LONG_PREDICTIONS: u64 = 64 << 10;

/// Media types that shrink, without parameters; all of `text/` does too, except for events.
const TEXTS: [&str; 6] = [
    "application/json",
    "application/problem+json",
    "application/x-ndjson",
    "application/yaml",
    "application/openmetrics-text",
    "image/svg+xml",
];

/// How a response is compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Coding {
    Zstd,
    Gzip,
}

impl Coding {
    fn name(self) -> HeaderValue {
        HeaderValue::from_static(match self {
            Self::Zstd => "zstd",
            Self::Gzip => "gzip",
        })
    }

    /// The coding with the highest weight, zstd of equals. None unless the client names one, and prefers it to none.
    fn accepted(headers: &HeaderMap) -> Option<Self> {
        let list = field_lines(headers, &header::ACCEPT_ENCODING)?;
        let named: Vec<Weighted> = list.split(',').map(Weighted::read).collect();
        let weight = |names: &[&str]| {
            let is_named = |member: &&Weighted| names.iter().any(|name| member.name.eq_ignore_ascii_case(name));
            named.iter().find(is_named).map(|member| member.weight)
        };
        let any = weight(&["*"]).unwrap_or(0.0);
        let (zstd, gzip) = (weight(&["zstd"]).unwrap_or(any), weight(&["gzip", "x-gzip"]).unwrap_or(any));
        match zstd.max(gzip) {
            best if best <= 0.0 || best < weight(&["identity"]).unwrap_or(0.0) => None,
            best if zstd == best => Some(Self::Zstd),
            _ => Some(Self::Gzip),
        }
    }
}

/// All routes of a table, with compressed responses.
pub(crate) fn compressed<S: Clone + Send + Sync + 'static>(routes: Router<S>) -> Router<S> {
    routes.layer(layer(WORTH_COMPRESSING)).layer(map_request(name_one_coding)).layer(map_response(weaken_tag))
}

/// A route that predicts, with long responses compressed.
pub(crate) fn compressed_predictions<S: Clone + Send + Sync + 'static>(route: MethodRouter<S>) -> MethodRouter<S> {
    route.layer(layer(LONG_PREDICTIONS)).layer(map_request(name_one_coding))
}

/// Whether a prediction is long enough to be compressed, or of unknown length.
pub(crate) fn is_long(response: &Response) -> bool {
    response.body().size_hint().exact().is_none_or(|length| length > LONG_PREDICTIONS)
}

/// A long prediction that did not come through the route table, compressed if the client asks for it.
pub(crate) async fn compress_prediction(headers: &HeaderMap, response: Response) -> Response {
    let mut request = Request::new(axum::body::Body::empty());
    if let Some(coding) = Coding::accepted(headers) {
        request.headers_mut().insert(header::ACCEPT_ENCODING, coding.name());
    }
    let mut response = Some(response);
    let answered = service_fn(move |_: Request| ready(Ok::<_, Infallible>(response.take().unwrap_or_default())));
    let Ok(compressed) = tower::Layer::layer(&layer(LONG_PREDICTIONS), answered).oneshot(request).await;
    compressed.into_response()
}

/// Whether an answer is to be compressed.
type Rule = fn(StatusCode, Version, &HeaderMap, &Extensions) -> bool;

/// The fastest level: the rest of an answer waits for it, and it has most of the gain.
fn layer(least: u64) -> CompressionLayer<And<SizeAbove, Rule>> {
    let texts: Rule = is_text;
    CompressionLayer::new().quality(CompressionLevel::Fastest).compress_when(SizeAbove::new(least).and(texts))
}

fn is_text(_: StatusCode, _: Version, headers: &HeaderMap, _: &Extensions) -> bool {
    let media_type = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let media_type = media_type.split(';').next().unwrap_or_default().trim();
    (media_type.starts_with("text/") && media_type != "text/event-stream") || TEXTS.contains(&media_type)
}

/// Leaves one coding in `Accept-Encoding`, or none: the layer would answer a list that it cannot satisfy with 406, after
/// the work is done. Triton's asynchronous client names codings that it cannot read, so `/v2` answers plainly.
async fn name_one_coding(mut request: Request) -> Request {
    let readable = !request.uri().path().starts_with("/v2");
    match Coding::accepted(request.headers()).filter(|_| readable) {
        Some(coding) => request.headers_mut().insert(header::ACCEPT_ENCODING, coding.name()),
        None => request.headers_mut().remove(header::ACCEPT_ENCODING),
    };
    request
}

/// A strong tag would say that the compressed bytes are those of the plain answer.
async fn weaken_tag(mut response: Response) -> Response {
    let headers = response.headers_mut();
    if headers.contains_key(header::CONTENT_ENCODING)
        && let Some(tag) = headers.get(header::ETAG).and_then(|tag| tag.to_str().ok())
        && tag.starts_with('"')
        && let Ok(weak) = HeaderValue::from_str(&format!("W/{tag}"))
    {
        headers.insert(header::ETAG, weak);
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_coding_is_chosen_by_weight_and_only_if_it_is_named() {
        use Coding::{Gzip, Zstd};
        for (accepted, chosen) in [
            ("", None),
            ("gzip", Some(Gzip)),
            ("GZIP", Some(Gzip)),
            ("x-gzip", Some(Gzip)),
            ("gzip, deflate, br, zstd", Some(Zstd)),
            ("gzip;q=1.0, zstd;q=0.5", Some(Gzip)),
            ("gzip;q=0", None),
            ("gzip;q=0, *", Some(Zstd)),
            ("zstd;q=0, *;q=0.5", Some(Gzip)),
            ("*", Some(Zstd)),
            ("*;q=0", None),
            ("identity;q=0", None),
            ("identity, gzip;q=0.5", None),
            ("identity;q=0.5, gzip", Some(Gzip)),
            ("br, deflate", None),
            ("gzip;q=much", Some(Gzip)),
        ] {
            let headers = HeaderMap::from_iter([(header::ACCEPT_ENCODING, HeaderValue::from_static(accepted))]);
            assert_eq!(Coding::accepted(&headers), chosen, "{accepted}");
        }
        assert_eq!(Coding::accepted(&HeaderMap::new()), None);
    }

    #[test]
    fn texts_are_compressed_and_events_and_files_are_not() {
        for (media_type, expected) in [
            ("application/json", true),
            ("text/csv; charset=utf-8", true),
            ("text/html", true),
            ("image/svg+xml", true),
            ("application/openmetrics-text; version=1.0.0; charset=utf-8", true),
            ("text/event-stream", false),
            ("application/octet-stream", false),
            ("application/vnd.apache.arrow.stream", false),
            ("image/png", false),
            ("", false),
        ] {
            let headers = HeaderMap::from_iter([(header::CONTENT_TYPE, HeaderValue::from_static(media_type))]);
            assert_eq!(
                is_text(StatusCode::OK, Version::HTTP_11, &headers, &Extensions::new()),
                expected,
                "{media_type}"
            );
        }
    }
}
