//! HTTP/1.1 connections with keep-alive, one task for each.

use super::idle::{Activity, TrackedStream};
use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::http::request::Parts;
use axum::response::Response;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper_util::rt::TokioIo;
use std::convert::Infallible;
use std::pin::pin;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::time::{Instant, interval_at};
use tower::ServiceExt;

/// Pause after a failure to accept, such as too many open files, until other connections have ended.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// What answers requests: the route table, or the dispatch in front of it.
pub trait Handler: Clone + Send + Sync + 'static {
    /// Answers a request.
    fn handle(&self, parts: Parts, body: Body) -> impl Future<Output = Response> + Send;
}

impl Handler for Router {
    async fn handle(&self, parts: Parts, body: Body) -> Response {
        let Ok(response) = self.clone().oneshot(Request::from_parts(parts, body)).await;
        response
    }
}

/// What all connections are asked to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Command {
    /// Close if nothing happened since the last check.
    CheckIdle,
    /// Close after the current request.
    Drain,
}

/// Answers until `stop` ends, then lets every connection finish its current request. All connections are checked once
/// in `idle_timeout`, so that an idle one is closed within twice that time.
pub async fn serve(
    listener: TcpListener,
    handler: impl Handler,
    idle_timeout: Duration,
    stop: impl Future<Output = ()>,
) {
    // Each connection holds a receiver, so that the channel closes with the last of them.
    let (commands, receiver) = watch::channel(Command::CheckIdle);
    let mut checks = interval_at(Instant::now() + idle_timeout, idle_timeout);
    let mut stop = pin!(stop);
    let mut failing = false;
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            _ = checks.tick() => {
                commands.send_replace(Command::CheckIdle);
                continue;
            }
            () = &mut stop => break,
        };
        match accepted {
            Ok((stream, _)) => {
                failing = false;
                tokio::spawn(serve_connection(stream, handler.clone(), receiver.clone()));
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
    commands.send_replace(Command::Drain);
    commands.closed().await;
}

async fn serve_connection(stream: TcpStream, handler: impl Handler, mut commands: watch::Receiver<Command>) {
    let _ = stream.set_nodelay(true); // a response is one write, so that there is nothing to wait for
    let activity = &Activity::default();
    let socket = TokioIo::new(TrackedStream { stream, activity });
    let handler = &handler;
    let service = hyper::service::service_fn(|request: hyper::Request<Incoming>| async move {
        let guard = activity.begin_request();
        let (parts, body) = request.into_parts();
        let response = handler.handle(parts, Body::new(body)).await;
        drop(guard);
        Ok::<_, Infallible>(response)
    });
    let mut connection = pin!(http1::Builder::new().writev(false).serve_connection(socket, service));
    let outcome = loop {
        tokio::select! {
            biased;
            outcome = &mut connection => break outcome,
            _ = commands.changed() => {}
        }
        if *commands.borrow() == Command::Drain {
            connection.as_mut().graceful_shutdown();
            break connection.await;
        }
        if activity.is_idle() {
            tracing::debug!("an idle connection is closed");
            return;
        }
    };
    if let Err(error) = outcome {
        tracing::debug!(%error, "a connection ended with an error");
    }
}
