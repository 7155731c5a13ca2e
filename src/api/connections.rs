//! Connections: HTTP/1.1 with keep-alive, a task for each.

use super::Front;
use axum::body::Body;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper_util::rt::TokioIo;
use std::pin::pin;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tower::Service;

/// After a failure to accept, such as too many open files, others must end first.
const PAUSE: Duration = Duration::from_millis(100);

/// Answers until `stop` ends, then lets every connection finish the request it is at.
pub async fn serve(listener: TcpListener, front: Front, stop: impl Future<Output = ()>) {
    // Each connection holds a receiver: it hears of the end, and is counted.
    let (stopping, running) = watch::channel(());
    let mut stop = pin!(stop);
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = &mut stop => break,
        };
        match accepted {
            Ok((stream, _)) => {
                tokio::spawn(answer(stream, front.clone(), running.clone()));
            }
            Err(error) => {
                tracing::warn!(%error, "a connection cannot be accepted");
                tokio::time::sleep(PAUSE).await;
            }
        }
    }
    drop(listener);
    drop(running);
    let _ = stopping.send(()); // fails where there is no connection
    stopping.closed().await;
}

async fn answer(stream: TcpStream, front: Front, mut running: watch::Receiver<()>) {
    let _ = stream.set_nodelay(true); // an answer is one write: there is nothing to wait for
    let service =
        hyper::service::service_fn(move |request: hyper::Request<Incoming>| front.clone().call(request.map(Body::new)));
    let mut connection = pin!(http1::Builder::new().writev(false).serve_connection(TokioIo::new(stream), service));
    let mut stopped = pin!(running.changed());
    let outcome = tokio::select! {
        biased;
        outcome = &mut connection => outcome,
        _ = &mut stopped => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = outcome {
        tracing::debug!(%error, "a connection broke off");
    }
}
