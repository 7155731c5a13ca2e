//! Large answers on their way. Whoever takes one slowly holds its memory, which all of them share.

use super::body::LARGE;
use super::error::ApiError;
use crate::api::AppState;
use crate::serving::ReadyModel;
use axum::body::{Body, Bytes};
use axum::http::{HeaderValue, header};
use axum::response::Response;
use hyper::body::{Frame, SizeHint};
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use tokio::sync::OwnedSemaphorePermit;

/// Bytes handed over at once: what is taken from here is no longer counted.
const PIECE: usize = 64 << 10;

/// An answer of a type.
pub(crate) fn typed(media_type: &'static str, body: Body) -> Response {
    let mut response = Response::new(body);
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(media_type));
    response
}

/// An answer as a body; refused at once where too much of others is on its way.
pub(crate) fn outgoing(state: &AppState, model: &ReadyModel, bytes: Vec<u8>) -> Result<Body, ApiError> {
    if bytes.len() <= LARGE {
        return Ok(Body::from(bytes));
    }
    // One that is larger than all the room is sent when it is alone.
    let kibibytes = u32::try_from((bytes.len() >> 10).min(state.answer_kibibytes)).unwrap_or(u32::MAX);
    let room = Arc::clone(&state.answers).try_acquire_many_owned(kibibytes).map_err(|_| {
        model.meters.shed("overloaded");
        ApiError::busy("overloaded", "too many large answers are on their way")
    })?;
    Ok(Body::new(Outgoing { rest: bytes.into(), _room: room }))
}

/// What is left of an answer, with the room it takes.
struct Outgoing {
    rest: Bytes,
    _room: OwnedSemaphorePermit,
}

impl hyper::body::Body for Outgoing {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let length = self.rest.len().min(PIECE);
        let piece = self.rest.split_to(length);
        Poll::Ready((!piece.is_empty()).then(|| Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.rest.len() as u64)
    }
}
