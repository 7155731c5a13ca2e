//! The first bytes of a body whose content type does not say what it is.

use crate::api::http::body::content_encoding;
use crate::api::http::error::ApiError;
use crate::api::http::error_code::ErrorCode;
use crate::dataset::ContentEncoding;
use axum::body::{Body, Bytes, HttpBody};
use axum::http::HeaderMap;
use futures_util::{StreamExt, stream};
use std::io::Read;
use std::time::Instant;

/// So many bytes, or the whole body, are looked at.
const MOST_BYTES: usize = 4096;

/// Whether a content type says nothing about the format.
pub(super) fn is_generic(media_type: &str) -> bool {
    matches!(media_type, "" | "application/octet-stream" | "binary/octet-stream")
}

/// The first bytes of a body, decompressed, and the same body with all its bytes.
pub(super) async fn peek(headers: &HeaderMap, body: Body, deadline: Instant) -> Result<(Vec<u8>, Body), ApiError> {
    let encoding = content_encoding(headers)?;
    let expected = body.size_hint().exact();
    let mut chunks = body.into_data_stream();
    let mut first: Vec<Bytes> = Vec::new();
    let is_enough = |first: &[Bytes]| {
        let length = first.iter().map(Bytes::len).sum::<usize>();
        length >= MOST_BYTES || Some(length as u64) == expected
    };
    while !is_enough(&first) {
        let next = tokio::time::timeout_at(deadline.into(), chunks.next()).await;
        let next = next.map_err(|_| {
            let detail =
                "the body did not arrive before the deadline of the request; send it faster or allow more time";
            ApiError::new(ErrorCode::BodyTimeout, detail)
        })?;
        let Some(chunk) = next else { break };
        let broken = |error| ApiError::new(ErrorCode::UnreadableBody, format!("the body ended early: {error}"));
        first.push(chunk.map_err(broken)?);
    }
    let beginning = decompressed(&first.concat(), encoding);
    let body = match first.as_slice() {
        [whole] if Some(whole.len() as u64) == expected => Body::from(whole.clone()),
        _ => Body::from_stream(stream::iter(first.into_iter().map(Ok)).chain(chunks)),
    };
    Ok((beginning, body))
}

/// As much as these bytes give; whether they are sound is found out when the body is read.
fn decompressed(bytes: &[u8], encoding: ContentEncoding) -> Vec<u8> {
    let mut beginning = vec![0; MOST_BYTES];
    let mut length = 0;
    let Ok(mut decoder) = encoding.decoder(bytes) else { return Vec::new() };
    while let Ok(count @ 1..) = decoder.read(&mut beginning[length..]) {
        length += count;
    }
    beginning.truncate(length);
    beginning
}
