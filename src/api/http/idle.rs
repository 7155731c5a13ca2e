//! Whether a connection still does something. A timer for each request, or each connection, would cost more than it
//! protects: all of them look at once, now and then, whether anything has happened since they last looked.

use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

/// What was seen of a connection. All of it happens in the connection's own task, so that no order is needed.
pub(crate) struct Pulse {
    /// A request is being answered.
    answering: AtomicBool,
    /// A request came, or some of an answer was taken by the other side.
    moved: AtomicBool,
}

/// A new connection has moved: its first look may come at once.
impl Default for Pulse {
    fn default() -> Self {
        Self { answering: AtomicBool::new(false), moved: AtomicBool::new(true) }
    }
}

impl Pulse {
    /// Whether a request is under way, or came, or got some of its answer since this was last asked. What is read does
    /// not count: a head that comes byte by byte is what this protects from, and bodies have a limit of their own.
    pub(crate) fn beats(&self) -> bool {
        let moved = self.moved.swap(false, Ordering::Relaxed);
        moved || self.answering.load(Ordering::Relaxed)
    }

    /// A request is under way as long as the value lives.
    pub(crate) fn request(&self) -> UnderWay<'_> {
        self.moved.store(true, Ordering::Relaxed);
        self.answering.store(true, Ordering::Relaxed);
        UnderWay(self)
    }
}

/// A request under way; HTTP/1.1 has one at a time.
pub(crate) struct UnderWay<'a>(&'a Pulse);

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        self.0.answering.store(false, Ordering::Relaxed);
    }
}

/// A socket whose writes are felt.
pub(crate) struct Felt<'a> {
    pub(crate) stream: TcpStream,
    pub(crate) pulse: &'a Pulse,
}

impl AsyncRead for Felt<'_> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buffer)
    }
}

impl AsyncWrite for Felt<'_> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<std::io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(cx, bytes);
        if written.is_ready() {
            self.pulse.moved.store(true, Ordering::Relaxed);
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
