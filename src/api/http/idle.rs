//! Idle connections and unfinished heads. A timer for each request or connection would cost more than it protects.
//! Instead, all connections check at the same intervals whether anything happened since the last check.

use super::connection_limits::ConnectionLimits;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// What happened on a connection. Only the connection's own task uses it, so that relaxed ordering is enough.
#[derive(Default)]
pub(crate) struct Activity {
    /// A request is being answered.
    in_request: AtomicBool,
    /// A request arrived, or the client read some of a response, since the last check.
    since_check: AtomicBool,
    /// Some of a head has arrived.
    in_head: AtomicBool,
    /// Checks in a row at which nothing had happened.
    idle_checks: AtomicU32,
    /// Checks in a row at which some of the same head had arrived.
    head_checks: AtomicU32,
}

impl Activity {
    /// One of the checks: whether the connection is to be closed, because nothing happened for too long and no request
    /// is being answered. Bytes read do not count as activity: this protects from heads that arrive byte by byte, and
    /// bodies have a limit of their own.
    pub(crate) fn is_overdue(&self, limits: &ConnectionLimits) -> bool {
        if self.since_check.swap(false, Ordering::Relaxed) || self.in_request.load(Ordering::Relaxed) {
            self.idle_checks.store(0, Ordering::Relaxed);
        }
        let in_head = u32::from(self.in_head.load(Ordering::Relaxed));
        let idle_checks = self.idle_checks.fetch_add(1, Ordering::Relaxed) + 1;
        let head_checks = self.head_checks.fetch_add(in_head, Ordering::Relaxed) + in_head;
        idle_checks > limits.idle_checks() || head_checks > limits.head_checks()
    }

    /// Marks a request as being answered until the guard is dropped. HTTP/1.1 has one at a time.
    pub(crate) fn begin_request(&self) -> RequestGuard<'_> {
        self.happened();
        self.in_request.store(true, Ordering::Relaxed);
        RequestGuard(self)
    }

    fn happened(&self) {
        self.since_check.store(true, Ordering::Relaxed);
        self.in_head.store(false, Ordering::Relaxed);
        self.head_checks.store(0, Ordering::Relaxed);
    }

    /// Bytes that arrive while no request is being answered belong to the head of the next one.
    fn read(&self) {
        if !self.in_request.load(Ordering::Relaxed) {
            self.in_head.store(true, Ordering::Relaxed);
        }
    }
}

/// A request that is being answered.
pub(crate) struct RequestGuard<'a>(&'a Activity);

impl Drop for RequestGuard<'_> {
    fn drop(&mut self) {
        self.0.in_request.store(false, Ordering::Relaxed);
    }
}

/// A socket, plain or with TLS, whose writes count as activity, and whose reads begin a head.
pub(crate) struct TrackedStream<'a, S> {
    pub(crate) stream: S,
    pub(crate) activity: &'a Activity,
}

impl<S: AsyncRead + Unpin> AsyncRead for TrackedStream<'_, S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        let filled = buffer.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(cx, buffer);
        if buffer.filled().len() > filled {
            self.activity.read();
        }
        read
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for TrackedStream<'_, S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<std::io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(cx, bytes);
        if written.is_ready() {
            self.activity.happened();
        }
        written
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
