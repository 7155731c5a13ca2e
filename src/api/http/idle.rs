//! Idle connections. A timer for each request or connection would cost more than it protects. Instead, all connections
//! check at the same intervals whether anything happened since the last check.

use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

/// What happened on a connection. Only the connection's own task uses it, so that relaxed ordering is enough.
pub(crate) struct Activity {
    /// A request is being answered.
    in_request: AtomicBool,
    /// A request arrived, or the client read some of a response, since the last check.
    since_check: AtomicBool,
}

/// A new connection counts as active: its first check may come at once.
impl Default for Activity {
    fn default() -> Self {
        Self { in_request: AtomicBool::new(false), since_check: AtomicBool::new(true) }
    }
}

impl Activity {
    /// Whether nothing happened since the last check, and no request is being answered. Bytes read do not count: this
    /// protects from headers that arrive byte by byte, and bodies have a limit of their own.
    pub(crate) fn is_idle(&self) -> bool {
        let active = self.since_check.swap(false, Ordering::Relaxed);
        !active && !self.in_request.load(Ordering::Relaxed)
    }

    /// Marks a request as being answered until the guard is dropped. HTTP/1.1 has one at a time.
    pub(crate) fn begin_request(&self) -> RequestGuard<'_> {
        self.since_check.store(true, Ordering::Relaxed);
        self.in_request.store(true, Ordering::Relaxed);
        RequestGuard(self)
    }
}

/// A request that is being answered.
pub(crate) struct RequestGuard<'a>(&'a Activity);

impl Drop for RequestGuard<'_> {
    fn drop(&mut self) {
        self.0.in_request.store(false, Ordering::Relaxed);
    }
}

/// A socket whose writes count as activity.
pub(crate) struct TrackedStream<'a> {
    pub(crate) stream: TcpStream,
    pub(crate) activity: &'a Activity,
}

impl AsyncRead for TrackedStream<'_> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buffer)
    }
}

impl AsyncWrite for TrackedStream<'_> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<std::io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(cx, bytes);
        if written.is_ready() {
            self.activity.since_check.store(true, Ordering::Relaxed);
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
