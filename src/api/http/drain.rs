//! Bodies that nobody reads to their end.
//!
//! A request may be refused before its body has come. Who is still sending does not read the answer yet, and a
//! connection with half a request in it cannot be used again: so what is left is let in and dropped, within bounds.

use axum::body::{Body, BodyDataStream, Bytes, HttpBody};
use axum::extract::Request;
use futures_util::{Stream, StreamExt};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

/// Most that is let in.
const MOST_BYTES: usize = 64 << 20;

/// And how long that may take.
const LONGEST: Duration = Duration::from_secs(30);

/// A body of so few bytes has come before anyone could refuse it.
const SHORT: u64 = 1 << 14;

/// The request with a body that may be left half read.
pub(crate) async fn let_in(request: Request) -> Request {
    request.map(patient)
}

/// A body that may be left half read.
pub(crate) fn patient(body: Body) -> Body {
    if body.size_hint().upper().is_some_and(|length| length < SHORT) {
        return body;
    }
    Body::from_stream(Leftover(Some(body.into_data_stream())))
}

/// A body, until it has ended.
struct Leftover(Option<BodyDataStream>);

impl Stream for Leftover {
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

impl Drop for Leftover {
    fn drop(&mut self) {
        let body = self.0.take().filter(|body| !body.is_end_stream());
        if let (Some(mut body), Ok(runtime)) = (body, tokio::runtime::Handle::try_current()) {
            runtime.spawn(tokio::time::timeout(LONGEST, async move {
                let mut bytes = 0;
                while let Some(Ok(chunk)) = body.next().await
                    && bytes < MOST_BYTES
                {
                    bytes += chunk.len();
                }
            }));
        }
    }
}
