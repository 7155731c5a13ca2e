//! Request bodies: how they are compressed, how large they may be, and how they are read.

use super::error::ApiError;
use crate::dataset::ContentEncoding;
use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, StatusCode, header};
use futures_util::{Stream, StreamExt, stream};
use std::borrow::Cow;
use std::io::Read;
use std::time::Duration;
use tokio_util::io::{StreamReader, SyncIoBridge};

/// The media type without its parameters, in lower case; empty if absent.
pub(super) fn media_type(headers: &HeaderMap) -> Cow<'_, str> {
    let value = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let value = value.split(';').next().unwrap_or_default().trim();
    if value.bytes().any(|byte| byte.is_ascii_uppercase()) { value.to_ascii_lowercase().into() } else { value.into() }
}

/// How the body is compressed.
pub(super) fn content_encoding(headers: &HeaderMap) -> Result<ContentEncoding, ApiError> {
    let Some(value) = headers.get(header::CONTENT_ENCODING) else { return Ok(ContentEncoding::Identity) };
    match value.to_str().unwrap_or("?").to_ascii_lowercase().as_str() {
        "" | "identity" => Ok(ContentEncoding::Identity),
        "gzip" | "x-gzip" => Ok(ContentEncoding::Gzip),
        "deflate" => Ok(ContentEncoding::Deflate),
        "zstd" => Ok(ContentEncoding::Zstd),
        other => {
            let detail = format!("content-encoding '{other}' is not taken; send gzip, deflate, zstd or identity");
            Err(ApiError::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "unsupported_encoding", detail))
        }
    }
}

/// Refuses a body whose announced length is over the limit before any of it is sent.
pub(super) fn refuse_announced(headers: &HeaderMap, limit: u64) -> Result<(), ApiError> {
    let announced = headers.get(header::CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse::<u64>().ok());
    if announced.is_some_and(|length| length > limit) { Err(ApiError::too_large(limit)) } else { Ok(()) }
}

/// The whole body, decompressed, within the limit before and after.
pub(super) async fn read_whole(headers: &HeaderMap, body: Body, limit: u64) -> Result<Bytes, ApiError> {
    let encoding = content_encoding(headers)?;
    refuse_announced(headers, limit)?;
    let bytes = collect(body, limit).await?;
    if encoding == ContentEncoding::Identity {
        return Ok(bytes);
    }
    let mut decoded = Vec::new();
    let unreadable = |error| ApiError::malformed("unreadable_body", encoding.unreadable(&error));
    let decoder = encoding.decoder(bytes.as_ref()).map_err(unreadable)?;
    decoder.take(limit + 1).read_to_end(&mut decoded).map_err(unreadable)?;
    if decoded.len() as u64 > limit { Err(ApiError::too_large(limit)) } else { Ok(decoded.into()) }
}

async fn collect(body: Body, limit: u64) -> Result<Bytes, ApiError> {
    let mut chunks = body.into_data_stream();
    let broke = |error| ApiError::malformed("unreadable_body", format!("the body broke off: {error}"));
    let first = chunks.next().await.transpose().map_err(broke)?.unwrap_or_default();
    let Some(second) = chunks.next().await else {
        // Most bodies are one chunk, which needs no copy.
        return if first.len() as u64 > limit { Err(ApiError::too_large(limit)) } else { Ok(first) };
    };
    let mut bytes = first.to_vec();
    let mut next = Some(second);
    while let Some(chunk) = next {
        let chunk = chunk.map_err(broke)?;
        if (bytes.len() + chunk.len()) as u64 > limit {
            return Err(ApiError::too_large(limit));
        }
        bytes.extend_from_slice(&chunk);
        next = chunks.next().await;
    }
    Ok(bytes.into())
}

/// The body for a thread that blocks on reading it; given up on when nothing comes for too long.
pub(super) fn blocking_reader(body: Body, idle_seconds: u64) -> impl Read + Send {
    SyncIoBridge::new(StreamReader::new(Box::pin(chunks(body, Duration::from_secs(idle_seconds)))))
}

fn chunks(body: Body, idle: Duration) -> impl Stream<Item = std::io::Result<Bytes>> + Send {
    stream::unfold(body.into_data_stream(), move |mut body| async move {
        let chunk = match tokio::time::timeout(idle, body.next()).await {
            Ok(chunk) => chunk?.map_err(std::io::Error::other),
            Err(_) => Err(std::io::Error::other(format!("nothing came for {} seconds", idle.as_secs()))),
        };
        Some((chunk, body))
    })
}
