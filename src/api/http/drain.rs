//! Draining of bodies that a handler does not read to their end.
//!
//! A request may be refused before its body has arrived. A client that is still sending does not read the response yet,
//! and a connection with half a request in it cannot be used again. So the rest of the body is read and dropped, up to
//! a limit.

use axum::body::{Body, BodyDataStream, Bytes, HttpBody};
use axum::extract::Request;
use futures_util::{Stream, StreamExt};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

/// Most bytes that are drained.
const MAX_BYTES: usize = 64 << 20;

/// Longest time that draining takes, no longer than a head may take by default: what arrives after the response counts
/// as the next head.
const MAX_TIME: Duration = Duration::from_secs(20);

/// A shorter body has arrived before a handler can refuse it.
const SHORT: u64 = 1 << 14;

/// The middleware of the route table.
pub(crate) async fn drain_request(request: Request) -> Request {
    request.map(drain_on_drop)
}

/// A body that is drained when it is dropped before its end.
pub(crate) fn drain_on_drop(body: Body) -> Body {
    if body.size_hint().upper().is_some_and(|length| length < SHORT) {
        return body;
    }
    Body::from_stream(DrainOnDrop(Some(body.into_data_stream())))
}

/// A body, until it has ended.
struct DrainOnDrop(Option<BodyDataStream>);

impl Stream for DrainOnDrop {
    type Item = Result<Bytes, axum::Error>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let Some(body) = &mut self.0 else { return Poll::Ready(None) };
        let chunk = body.poll_next_unpin(context);
        if matches!(chunk, Poll::Ready(None | Some(Err(_)))) {
            self.0 = None;
        }
        chunk
    }
}

impl Drop for DrainOnDrop {
    fn drop(&mut self) {
        let body = self.0.take().filter(|body| !body.is_end_stream());
        if let (Some(mut body), Ok(runtime)) = (body, tokio::runtime::Handle::try_current()) {
            runtime.spawn(tokio::time::timeout(MAX_TIME, async move {
                let mut bytes = 0;
                while let Some(Ok(chunk)) = body.next().await
                    && bytes < MAX_BYTES
                {
                    bytes += chunk.len();
                }
            }));
        }
    }
}
