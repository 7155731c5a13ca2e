//! Request bodies: their type, compression and length, and how they are read.

use super::error::ApiError;
use super::error_code::ErrorCode;
use crate::api::AppState;
use crate::api::state::blocking;
use crate::dataset::ContentEncoding;
use axum::body::{Body, Bytes, HttpBody};
use axum::http::{HeaderMap, HeaderValue, header};
use futures_util::{FutureExt, Stream, StreamExt, stream};
use std::borrow::Cow;
use std::io::Read;
use std::ops::Deref;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::io::{StreamReader, SyncIoBridge};

/// The media type without its parameters, in lower case; empty if absent.
pub(crate) fn media_type(headers: &HeaderMap) -> Cow<'_, str> {
    const USUAL: &str = "application/json";
    let Some(value) = headers.get(header::CONTENT_TYPE) else { return "".into() };
    if value == USUAL {
        return USUAL.into();
    }
    let value = value.to_str().unwrap_or_default();
    let value = value.split(';').next().unwrap_or_default().trim();
    if value.bytes().any(|byte| byte.is_ascii_uppercase()) { value.to_ascii_lowercase().into() } else { value.into() }
}

/// Whether a table has a header line, if the content type says `header=present` or `header=absent`.
/// [RFC 4180, section 3]
pub(crate) fn csv_header(headers: &HeaderMap) -> Option<bool> {
    let parameters = headers.get(header::CONTENT_TYPE)?.to_str().ok()?.split(';').skip(1);
    let mut named = parameters.filter_map(|parameter| parameter.split_once('='));
    let (_, value) = named.find(|(name, _)| name.trim().eq_ignore_ascii_case("header"))?;
    match value.trim().trim_matches('"').to_ascii_lowercase().as_str() {
        "present" => Some(true),
        "absent" => Some(false),
        _ => None,
    }
}

/// How the body is compressed.
pub(crate) fn content_encoding(headers: &HeaderMap) -> Result<ContentEncoding, ApiError> {
    let Some(value) = headers.get(header::CONTENT_ENCODING) else { return Ok(ContentEncoding::Identity) };
    match value.to_str().unwrap_or("?").to_ascii_lowercase().as_str() {
        "" | "identity" => Ok(ContentEncoding::Identity),
        "gzip" | "x-gzip" => Ok(ContentEncoding::Gzip),
        "deflate" => Ok(ContentEncoding::Deflate),
        "zstd" => Ok(ContentEncoding::Zstd),
        other => {
            let detail = format!("content-encoding '{other}' is not supported; send gzip, deflate, zstd or identity");
            Err(ApiError::new(ErrorCode::UnsupportedEncoding, detail))
        }
    }
}

/// The announced length of a body, if there is one; refused if it is over the limit, before any of the body is read.
pub(crate) fn check_content_length(headers: &HeaderMap, limit: u64) -> Result<Option<u64>, ApiError> {
    let parse = |value: &HeaderValue| value.to_str().ok()?.parse().ok();
    let length = headers.get(header::CONTENT_LENGTH).and_then(parse);
    if length.is_some_and(|length| length > limit) { Err(ApiError::too_large(limit)) } else { Ok(length) }
}

/// The error of a body that cannot be read or decompressed.
pub(crate) fn unreadable(encoding: ContentEncoding) -> impl Fn(std::io::Error) -> ApiError {
    move |error| ApiError::new(ErrorCode::UnreadableBody, encoding.unreadable(&error))
}

/// A body of more bytes takes memory from a shared budget, and is decoded off the async threads.
pub(crate) const LARGE: usize = 256 << 10;

/// Up to so many compressed bytes are decompressed on the async thread.
const FEW_COMPRESSED: usize = 1 << 10;

/// A complete body, with the memory reserved for it.
pub(crate) struct WholeBody {
    bytes: Bytes,
    _reservation: Option<OwnedSemaphorePermit>,
}

impl Deref for WholeBody {
    type Target = Bytes;

    fn deref(&self) -> &Bytes {
        &self.bytes
    }
}

impl WholeBody {
    /// Whether it is decoded off the async threads.
    pub(crate) fn is_large(&self) -> bool {
        self.bytes.len() > LARGE
    }
}

/// The complete body, decompressed. Refused if it is over the limit before or after that, or late.
pub(crate) async fn read_whole(
    state: &AppState,
    headers: &HeaderMap,
    body: Body,
    deadline: Instant,
) -> Result<WholeBody, ApiError> {
    read_whole_with(state, headers, body, deadline, |_, _| 0).await
}

/// Like `read_whole`, with a callback. For an uncompressed body that arrives in parts, `on_progress` is called after each
/// part with the bytes so far and the length expected in all, so that work on the first parts overlaps with the arrival
/// of the last. It returns how many bytes that work has allocated.
pub(crate) async fn read_whole_with(
    state: &AppState,
    headers: &HeaderMap,
    body: Body,
    deadline: Instant,
    mut on_progress: impl FnMut(&[u8], usize) -> usize + Send,
) -> Result<WholeBody, ApiError> {
    let limit = state.config.max_request.0;
    let encoding = content_encoding(headers)?;
    let announced = match body.size_hint().exact() {
        Some(length) if length > limit => return Err(ApiError::too_large(limit)),
        Some(length) => Some(length),
        None => check_content_length(headers, limit)?,
    };
    let expected = announced.map_or(0, |length| length as usize);
    let plain = encoding == ContentEncoding::Identity;
    let on_progress = |so_far: &[u8]| if plain { on_progress(so_far, expected) } else { 0 };
    let memory = BodyMemory { budget: &state.bodies, reservation: None };
    let mut collecting = std::pin::pin!(collect(body, expected, limit, memory, on_progress));
    // A small body has arrived with its headers, and needs no timer.
    let (bytes, reservation) = if let Some(outcome) = collecting.as_mut().now_or_never() {
        outcome?
    } else {
        let collected = Box::pin(tokio::time::timeout_at(deadline.into(), collecting)).await;
        collected.map_err(|_| {
            let detail =
                "the body did not arrive before the deadline of the request; send it faster or allow more time";
            ApiError::new(ErrorCode::BodyTimeout, detail)
        })??
    };
    if plain {
        return Ok(WholeBody { bytes, _reservation: reservation });
    }
    let budget = Arc::clone(&state.bodies);
    let few = bytes.len() <= FEW_COMPRESSED;
    let work = move || decompress(encoding, &bytes, limit, BodyMemory { budget: &budget, reservation });
    if few { work() } else { Box::pin(blocking(work)).await }
}

fn decompress(
    encoding: ContentEncoding,
    bytes: &Bytes,
    limit: u64,
    mut memory: BodyMemory,
) -> Result<WholeBody, ApiError> {
    let mut decoder = encoding.decoder(bytes.as_ref()).map_err(unreadable(encoding))?;
    let mut decoded = Vec::new();
    loop {
        let step = decoder.by_ref().take(LARGE as u64).read_to_end(&mut decoded).map_err(unreadable(encoding))?;
        if decoded.len() as u64 > limit {
            return Err(ApiError::too_large(limit));
        }
        if step == 0 {
            return Ok(WholeBody { bytes: decoded.into(), _reservation: memory.reservation });
        }
        memory.reserve(bytes.len() + decoded.len())?;
    }
}

/// Most bytes that are allocated for a body before it has arrived.
const MAX_PREALLOCATED: usize = 16 << 20;

async fn collect(
    body: Body,
    expected: usize,
    limit: u64,
    mut memory: BodyMemory<'_>,
    mut on_progress: impl FnMut(&[u8]) -> usize,
) -> Result<(Bytes, Option<OwnedSemaphorePermit>), ApiError> {
    let mut chunks = body.into_data_stream();
    let broken = |error| ApiError::new(ErrorCode::UnreadableBody, format!("the body ended early: {error}"));
    let first = chunks.next().await.transpose().map_err(broken)?.unwrap_or_default();
    if first.len() as u64 > limit {
        return Err(ApiError::too_large(limit));
    }
    memory.reserve(first.len())?;
    // Most bodies are one chunk, which needs no copy, and no wait for another if it has the announced length.
    if first.len() == expected {
        return Ok((first, memory.reservation));
    }
    let Some(second) = chunks.next().await else { return Ok((first, memory.reservation)) };
    let mut bytes = Vec::with_capacity(expected.min(MAX_PREALLOCATED).max(first.len()));
    bytes.extend_from_slice(&first);
    let mut next = Some(second);
    while let Some(chunk) = next {
        let chunk = chunk.map_err(broken)?;
        if (bytes.len() + chunk.len()) as u64 > limit {
            return Err(ApiError::too_large(limit));
        }
        memory.reserve(bytes.len() + chunk.len())?;
        bytes.extend_from_slice(&chunk);
        memory.reserve(bytes.len() + on_progress(&bytes))?;
        next = chunks.next().await;
    }
    Ok((bytes.into(), memory.reservation))
}

/// The memory of one body, taken from the budget that all large ones share and counted in kibibytes.
struct BodyMemory<'a> {
    budget: &'a Arc<Semaphore>,
    reservation: Option<OwnedSemaphorePermit>,
}

impl BodyMemory<'_> {
    /// Makes sure that so many bytes are reserved; refused at once if the budget is used up.
    fn reserve(&mut self, bytes: usize) -> Result<(), ApiError> {
        const STEP: usize = LARGE >> 10;
        let held = self.reservation.as_ref().map_or(0, OwnedSemaphorePermit::num_permits);
        let more = (bytes >> 10).next_multiple_of(STEP).saturating_sub(held);
        if bytes <= LARGE || more == 0 {
            return Ok(());
        }
        let more = u32::try_from(more).unwrap_or(u32::MAX);
        let full = |_| ApiError::new(ErrorCode::Overloaded, "too many large bodies are being read; try again later");
        let permit = Arc::clone(self.budget).try_acquire_many_owned(more).map_err(full)?;
        match &mut self.reservation {
            Some(reservation) => reservation.merge(permit),
            none => *none = Some(permit),
        }
        Ok(())
    }
}

/// Lowest rate at which a body may arrive, in bytes a second, beyond a pause of the idle time.
const MIN_RATE: u64 = 16 << 10;

/// The body for a thread that blocks on reading it. Fails if nothing arrives for `idle_seconds`, or less than the lowest
/// rate allows in the whole time spent waiting. The time that the reader takes does not count.
pub(crate) fn blocking_reader(body: Body, idle_seconds: u64) -> impl Read + Send {
    SyncIoBridge::new(StreamReader::new(Box::pin(chunks(body, Duration::from_secs(idle_seconds)))))
}

fn chunks(body: Body, idle: Duration) -> impl Stream<Item = std::io::Result<Bytes>> + Send {
    stream::unfold((body.into_data_stream(), idle), move |(mut body, allowance)| async move {
        let start = Instant::now();
        let chunk = tokio::time::timeout(allowance.min(idle), body.next()).await;
        let waited = start.elapsed();
        let too_slow = || {
            if waited >= idle {
                format!("nothing arrived for {} seconds", idle.as_secs())
            } else {
                format!("less than {} KiB a second arrived", MIN_RATE >> 10)
            }
        };
        let chunk = match chunk {
            Ok(chunk) => chunk?.map_err(std::io::Error::other),
            Err(_) => Err(std::io::Error::other(too_slow())),
        };
        let bytes = chunk.as_ref().map_or(0, |chunk| chunk.len() as u64);
        let earned = Duration::from_secs_f64(bytes as f64 / MIN_RATE as f64);
        Some((chunk, (body, allowance.saturating_sub(waited) + earned)))
    })
}
