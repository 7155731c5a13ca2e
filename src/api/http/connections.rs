//! HTTP/1.1 connections with keep-alive, one task for each.

use super::connection_limits::{Admitted, ConnectionLimits, OpenConnections, SPARE_CONNECTIONS};
use super::error::ApiError;
use super::error_code::ErrorCode;
use super::idle::{Activity, TrackedStream};
use super::observe::refuse_uncounted;
use crate::api::tls::Tls;
use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::http::request::Parts;
use axum::http::{Extensions, HeaderValue, header};
use axum::response::Response;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper_util::rt::TokioIo;
use std::collections::VecDeque;
use std::convert::Infallible;
use std::net::{IpAddr, Ipv4Addr};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::AbortHandle;
use tokio::time::{Instant, interval_at};
use tower::ServiceExt;

/// Pause after a failure to accept, such as too many open files, until other connections have ended.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Most bytes of a head, and of the buffer of a connection.
pub(crate) const MAX_HEAD: usize = 64 << 10;

/// How long a connection beyond the caps may take.
const SPARE_TIME: Duration = Duration::from_secs(5);

/// The paths that connections beyond the caps may ask for.
const HEALTH_PATHS: [&str; 6] = ["/livez", "/readyz", "/ping", "/health", "/v2/health/live", "/v2/health/ready"];

/// How long a handshake may take at most, whatever a head may take: shutting down waits for it.
const MAX_HANDSHAKE: Duration = Duration::from_secs(10);

/// What answers requests: the route table, or the dispatch in front of it.
pub trait Handler: Clone + Send + Sync + 'static {
    /// Answers a request from an address.
    fn handle(&self, address: IpAddr, parts: Parts, body: Body) -> impl Future<Output = Response> + Send;
}

/// Where a request comes from, for the route table.
#[derive(Clone, Copy)]
pub(crate) struct ClientAddress(IpAddr);

impl ClientAddress {
    /// The address of a request; an unspecified one if it came over no connection.
    pub(crate) fn of(extensions: &Extensions) -> IpAddr {
        extensions.get::<Self>().map_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED), |address| address.0)
    }
}

impl Handler for Router {
    async fn handle(&self, address: IpAddr, mut parts: Parts, body: Body) -> Response {
        parts.extensions.insert(ClientAddress(address));
        let Ok(response) = self.clone().oneshot(Request::from_parts(parts, body)).await;
        response
    }
}

/// What all connections are asked to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Order {
    /// Close if overdue.
    Check,
    /// Close after the current request.
    Drain,
}

/// Answers until `stop` ends, then lets every connection finish its current request. All connections are checked at the
/// same times for being overdue. Connections beyond the caps can only ask for health. Plain HTTP, unless there is TLS.
pub async fn serve(
    listener: TcpListener,
    handler: impl Handler,
    limits: ConnectionLimits,
    tls: Option<Arc<Tls>>,
    stop: impl Future<Output = ()>,
) {
    // Each connection holds a receiver, so that the channel closes with the last of them.
    let (commands, receiver) = watch::channel(Order::Check);
    let mut checks = interval_at(Instant::now() + limits.check_interval(), limits.check_interval());
    let open = OpenConnections::new(limits);
    let mut spare = SpareConnections::default();
    let mut stop = pin!(stop);
    let mut failing = false;
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            _ = checks.tick() => {
                commands.send_replace(Order::Check);
                continue;
            }
            () = &mut stop => break,
        };
        match accepted {
            Ok((stream, address)) => {
                failing = false;
                match open.admit(address.ip()) {
                    Some(admitted) => {
                        let (handler, commands) = (handler.clone(), receiver.clone());
                        let connection = Connection { address: address.ip(), handler, commands, limits, admitted };
                        tokio::spawn(connection.open(stream, tls.clone()));
                    }
                    None => spare.serve(stream, address.ip(), tls.clone(), handler.clone()),
                }
            }
            Err(error) => {
                if !std::mem::replace(&mut failing, true) {
                    tracing::warn!(
                        %error,
                        "new connections are refused until others end; if this persists, raise the limit of open files"
                    );
                }
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
    drop(listener);
    drop(receiver);
    commands.send_replace(Order::Drain);
    commands.closed().await;
}

/// A connection within the caps.
struct Connection<H> {
    address: IpAddr,
    handler: H,
    commands: watch::Receiver<Order>,
    limits: ConnectionLimits,
    admitted: Admitted,
}

impl<H: Handler> Connection<H> {
    async fn open(self, stream: TcpStream, tls: Option<Arc<Tls>>) {
        let _ = stream.set_nodelay(true); // a response is one write, so that there is nothing to wait for
        let Some(tls) = tls else { return serve_connection(stream, self).await };
        let handshake = tokio::time::timeout(self.limits.head.min(MAX_HANDSHAKE), tls.accept(stream));
        match Box::pin(handshake).await {
            Ok(Ok(stream)) => Box::pin(serve_connection(stream, self)).await,
            Ok(Err(error)) => tracing::debug!(%error, "a TLS handshake failed"),
            Err(_) => tracing::debug!("a TLS handshake took too long"),
        }
    }
}

async fn serve_connection<H: Handler>(stream: impl AsyncRead + AsyncWrite + Unpin + Send, connection: Connection<H>) {
    let Connection { address, handler, mut commands, limits, admitted: _admitted } = connection;
    let activity = &Activity::default();
    let socket = TokioIo::new(TrackedStream { stream, activity });
    let handler = &handler;
    let service = hyper::service::service_fn(|request: hyper::Request<Incoming>| async move {
        let guard = activity.begin_request();
        let (parts, body) = request.into_parts();
        let response = handler.handle(address, parts, Body::new(body)).await;
        drop(guard);
        Ok::<_, Infallible>(response)
    });
    let mut connection =
        pin!(http1::Builder::new().writev(false).max_buf_size(MAX_HEAD).serve_connection(socket, service));
    let outcome = loop {
        tokio::select! {
            biased;
            outcome = &mut connection => break outcome,
            _ = commands.changed() => {}
        }
        if *commands.borrow() == Order::Drain {
            connection.as_mut().graceful_shutdown();
            break connection.await;
        }
        if activity.is_overdue(&limits) {
            tracing::debug!("a connection is closed: it is idle, or the head of its request takes too long");
            return;
        }
    };
    if let Err(error) = outcome {
        tracing::debug!(%error, "a connection ended with an error");
    }
}

/// Connections beyond the caps. The newest ones are kept, since health checks send their request at once.
#[derive(Default)]
struct SpareConnections(VecDeque<AbortHandle>);

impl SpareConnections {
    /// Answers one request on a connection beyond the caps.
    fn serve(&mut self, stream: TcpStream, address: IpAddr, tls: Option<Arc<Tls>>, handler: impl Handler) {
        self.0.retain(|task| !task.is_finished());
        if self.0.is_empty() {
            tracing::warn!("too many connections: more are answered with 503, except for health checks");
        }
        if self.0.len() == SPARE_CONNECTIONS
            && let Some(oldest) = self.0.pop_front()
        {
            oldest.abort();
        }
        let service = hyper::service::service_fn(move |request: hyper::Request<Incoming>| {
            let handler = handler.clone();
            async move {
                let (parts, body) = request.into_parts();
                let mut response = if HEALTH_PATHS.contains(&parts.uri.path()) {
                    handler.handle(address, parts, Body::new(body)).await
                } else {
                    let detail = "too many connections are open; try again later";
                    refuse_uncounted(&parts, &ApiError::new(ErrorCode::Overloaded, detail))
                };
                response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
                Ok::<_, Infallible>(response)
            }
        });
        let connection = async move {
            let http = http1::Builder::new().max_buf_size(MAX_HEAD).clone();
            match tls {
                None => drop(http.serve_connection(TokioIo::new(stream), service).await),
                Some(tls) => {
                    if let Ok(stream) = tls.accept(stream).await {
                        drop(http.serve_connection(TokioIo::new(stream), service).await);
                    }
                }
            }
        };
        self.0
            .push_back(tokio::spawn(async { drop(tokio::time::timeout(SPARE_TIME, connection).await) }).abort_handle());
    }
}
