//! The memory of large responses. A client that reads slowly holds the memory of its response, so that all large
//! responses share one budget.

use super::body::LARGE;
use super::error::ApiError;
use super::error_code::ErrorCode;
use crate::api::AppState;
use crate::serving::ReadyModel;
use crate::telemetry::ShedReason;
use axum::body::{Body, Bytes};
use hyper::body::{Frame, SizeHint};
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use tokio::sync::OwnedSemaphorePermit;

/// Bytes handed to the connection at once.
const CHUNK: usize = 64 << 10;

/// Bytes as the body of a response; refused if other large responses take all the memory.
pub(crate) fn budgeted_body(state: &AppState, model: &ReadyModel, bytes: Vec<u8>) -> Result<Body, ApiError> {
    if bytes.len() <= LARGE {
        return Ok(Body::from(bytes));
    }
    // A response larger than the whole budget is sent when it is the only one.
    let kibibytes = u32::try_from((bytes.len() >> 10).min(state.answer_kibibytes)).unwrap_or(u32::MAX);
    let reservation = Arc::clone(&state.answers).try_acquire_many_owned(kibibytes).map_err(|_| {
        model.meters.shed(ShedReason::Overloaded);
        ApiError::new(ErrorCode::Overloaded, "too many large responses are being sent; try again later")
    })?;
    Ok(Body::new(BudgetedBody { rest: bytes.into(), _reservation: reservation }))
}

/// The unsent rest of a response, with the memory reserved for all of it.
struct BudgetedBody {
    rest: Bytes,
    _reservation: OwnedSemaphorePermit,
}

impl hyper::body::Body for BudgetedBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let length = self.rest.len().min(CHUNK);
        let chunk = self.rest.split_to(length);
        Poll::Ready((!chunk.is_empty()).then(|| Ok(Frame::data(chunk))))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.rest.len() as u64)
    }
}
