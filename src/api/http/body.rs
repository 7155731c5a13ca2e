//! Request bodies: how they are compressed, how large they may be, and how they are read.

use super::error::ApiError;
use crate::api::AppState;
use crate::api::state::blocking;
use crate::dataset::ContentEncoding;
use axum::body::{Body, Bytes, HttpBody};
use axum::http::{HeaderMap, StatusCode, header};
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

/// Whether the content type of a table says that there is a header, `present` or `absent`. [RFC 4180, section 3]
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
            let detail = format!("content-encoding '{other}' is not taken; send gzip, deflate, zstd or identity");
            Err(ApiError::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "unsupported_encoding", detail))
        }
    }
}

/// Refuses a body whose announced length is over the limit before any of it is sent; the length, if there is one.
pub(crate) fn refuse_announced(headers: &HeaderMap, limit: u64) -> Result<Option<u64>, ApiError> {
    let length = announced_length(headers);
    if length.is_some_and(|length| length > limit) { Err(ApiError::too_large(limit)) } else { Ok(length) }
}

fn announced_length(headers: &HeaderMap) -> Option<u64> {
    headers.get(header::CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

/// A body of more bytes takes room that all requests share, and is worked on off the async threads.
pub(crate) const LARGE: usize = 256 << 10;

/// So few compressed bytes are decompressed at once.
const FEW_COMPRESSED: usize = 1 << 10;

/// A body read whole, with the room it takes.
pub(crate) struct WholeBody {
    bytes: Bytes,
    _room: Option<OwnedSemaphorePermit>,
}

impl Deref for WholeBody {
    type Target = Bytes;

    fn deref(&self) -> &Bytes {
        &self.bytes
    }
}

impl WholeBody {
    /// Whether it is to be worked on off the async threads.
    pub(crate) fn is_large(&self) -> bool {
        self.bytes.len() > LARGE
    }
}

/// The whole body, decompressed, within the limit before and after, come by the deadline.
pub(crate) async fn read_whole(
    state: &AppState,
    headers: &HeaderMap,
    body: Body,
    deadline: Instant,
) -> Result<WholeBody, ApiError> {
    read_whole_and(state, headers, body, deadline, |_, _| 0).await
}

/// The same. One that comes in parts, and is not compressed, is shown as far as it has come after each of them, with the
/// bytes expected in all: work on the first parts can be done while the last are on their way. `show` tells how many
/// bytes are held for that work.
pub(crate) async fn read_whole_and(
    state: &AppState,
    headers: &HeaderMap,
    body: Body,
    deadline: Instant,
    mut show: impl FnMut(&[u8], usize) -> usize + Send,
) -> Result<WholeBody, ApiError> {
    let limit = state.config.max_request.0;
    let encoding = content_encoding(headers)?;
    let announced = match body.size_hint().exact() {
        Some(length) if length > limit => return Err(ApiError::too_large(limit)),
        Some(length) => Some(length), // as the head was read already
        None => refuse_announced(headers, limit)?,
    };
    let expected = announced.map_or(0, |length| length as usize);
    let plain = encoding == ContentEncoding::Identity;
    let show = |so_far: &[u8]| if plain { show(so_far, expected) } else { 0 };
    let room = Room { all: &state.bodies, taken: None };
    let mut collecting = std::pin::pin!(collect(body, expected, limit, room, show));
    // A small body came with its head, and needs no timer.
    let (bytes, taken) = if let Some(outcome) = collecting.as_mut().now_or_never() {
        outcome?
    } else {
        let collected = Box::pin(tokio::time::timeout_at(deadline.into(), collecting)).await;
        collected.map_err(|_| {
            let detail = "the body did not come before the deadline of the request";
            ApiError::new(StatusCode::REQUEST_TIMEOUT, "body_timeout", detail)
        })??
    };
    if plain {
        return Ok(WholeBody { bytes, _room: taken });
    }
    let all = Arc::clone(&state.bodies);
    let few = bytes.len() <= FEW_COMPRESSED;
    let work = move || decompress(encoding, &bytes, limit, Room { all: &all, taken });
    if few { work() } else { Box::pin(blocking(work)).await }
}

fn decompress(encoding: ContentEncoding, bytes: &Bytes, limit: u64, mut room: Room) -> Result<WholeBody, ApiError> {
    let unreadable = |error| ApiError::malformed("unreadable_body", encoding.unreadable(&error));
    let mut decoder = encoding.decoder(bytes.as_ref()).map_err(unreadable)?;
    let mut decoded = Vec::new();
    loop {
        let step = decoder.by_ref().take(LARGE as u64).read_to_end(&mut decoded).map_err(unreadable)?;
        if decoded.len() as u64 > limit {
            return Err(ApiError::too_large(limit));
        }
        if step == 0 {
            return Ok(WholeBody { bytes: decoded.into(), _room: room.taken });
        }
        room.hold(bytes.len() + decoded.len())?;
    }
}

/// Most that is set aside for a body before it has come.
const MOST_RESERVED: usize = 16 << 20;

async fn collect(
    body: Body,
    expected: usize,
    limit: u64,
    mut room: Room<'_>,
    mut show: impl FnMut(&[u8]) -> usize,
) -> Result<(Bytes, Option<OwnedSemaphorePermit>), ApiError> {
    let mut chunks = body.into_data_stream();
    let broke = |error| ApiError::malformed("unreadable_body", format!("the body broke off: {error}"));
    let first = chunks.next().await.transpose().map_err(broke)?.unwrap_or_default();
    if first.len() as u64 > limit {
        return Err(ApiError::too_large(limit));
    }
    room.hold(first.len())?;
    // Most bodies are one chunk, which needs no copy, and no look for another where all that was announced has come.
    if first.len() == expected {
        return Ok((first, room.taken));
    }
    let Some(second) = chunks.next().await else { return Ok((first, room.taken)) };
    let mut bytes = Vec::with_capacity(expected.min(MOST_RESERVED).max(first.len()));
    bytes.extend_from_slice(&first);
    let mut next = Some(second);
    while let Some(chunk) = next {
        let chunk = chunk.map_err(broke)?;
        if (bytes.len() + chunk.len()) as u64 > limit {
            return Err(ApiError::too_large(limit));
        }
        room.hold(bytes.len() + chunk.len())?;
        bytes.extend_from_slice(&chunk);
        room.hold(bytes.len() + show(&bytes))?;
        next = chunks.next().await;
    }
    Ok((bytes.into(), room.taken))
}

/// What one body takes of the room that all large ones share, counted in kibibytes.
struct Room<'a> {
    all: &'a Arc<Semaphore>,
    taken: Option<OwnedSemaphorePermit>,
}

impl Room<'_> {
    /// Makes sure that so many bytes are held; refused at once where there is no room.
    fn hold(&mut self, bytes: usize) -> Result<(), ApiError> {
        const STEP: usize = LARGE >> 10;
        let held = self.taken.as_ref().map_or(0, OwnedSemaphorePermit::num_permits);
        let more = (bytes >> 10).next_multiple_of(STEP).saturating_sub(held);
        if bytes <= LARGE || more == 0 {
            return Ok(());
        }
        let more = u32::try_from(more).unwrap_or(u32::MAX);
        let permit = Arc::clone(self.all)
            .try_acquire_many_owned(more)
            .map_err(|_| ApiError::busy("overloaded", "too many large bodies are being read at once"))?;
        match &mut self.taken {
            Some(taken) => taken.merge(permit),
            taken => *taken = Some(permit),
        }
        Ok(())
    }
}

/// Bytes a second that a body must bring, beyond a pause.
const SLOWEST: u64 = 16 << 10;

/// The body for a thread that blocks on reading it; given up on when nothing comes for too long, or too little for what
/// was waited in all. How long the reader takes is not the sender's fault.
pub(crate) fn blocking_reader(body: Body, idle_seconds: u64) -> impl Read + Send {
    SyncIoBridge::new(StreamReader::new(Box::pin(chunks(body, Duration::from_secs(idle_seconds)))))
}

fn chunks(body: Body, idle: Duration) -> impl Stream<Item = std::io::Result<Bytes>> + Send {
    let begun = (body.into_data_stream(), idle);
    stream::unfold(begun, move |(mut body, patience)| async move {
        let start = Instant::now();
        let chunk = tokio::time::timeout(patience.min(idle), body.next()).await;
        let waited = start.elapsed();
        let too_late = || {
            if waited >= idle {
                format!("nothing came for {} seconds", idle.as_secs())
            } else {
                format!("less than {} KiB a second came", SLOWEST >> 10)
            }
        };
        let chunk = match chunk {
            Ok(chunk) => chunk?.map_err(std::io::Error::other),
            Err(_) => Err(std::io::Error::other(too_late())),
        };
        let bytes = chunk.as_ref().map_or(0, |chunk| chunk.len() as u64);
        let earned = Duration::from_secs_f64(bytes as f64 / SLOWEST as f64);
        Some((chunk, (body, patience.saturating_sub(waited) + earned)))
    })
}
