//! Connections: HTTP/1.1 with keep-alive, a task for each.

use super::idle::{Felt, Pulse};
use crate::api::Dispatch;
use axum::body::Body;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper_util::rt::TokioIo;
use std::convert::Infallible;
use std::pin::pin;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::time::{Instant, interval_at};

/// After a failure to accept, such as too many open files, others must end first.
const PAUSE: Duration = Duration::from_millis(100);

/// What connections are told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Word {
    /// Some time has passed: whoever did nothing in it ends.
    Look,
    /// The service stops: whoever is at a request ends with it.
    Stop,
}

/// Answers until `stop` ends, then lets every connection finish the request it is at. A connection on which nothing
/// happens is closed.
pub(crate) async fn serve(listener: TcpListener, front: Dispatch, stop: impl Future<Output = ()>) {
    // Each connection holds a receiver: it hears what is told to all, and is counted.
    let (telling, hearing) = watch::channel(Word::Look);
    let idle = front.connection_idle();
    let mut looks = interval_at(Instant::now() + idle, idle);
    let mut stop = pin!(stop);
    let mut failing = false;
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            _ = looks.tick() => {
                telling.send_replace(Word::Look);
                continue;
            }
            () = &mut stop => break,
        };
        match accepted {
            Ok((stream, _)) => {
                failing = false;
                tokio::spawn(answer(stream, front.clone(), hearing.clone()));
            }
            Err(error) => {
                if !std::mem::replace(&mut failing, true) {
                    tracing::warn!(%error, "connections cannot be accepted until others end");
                }
                tokio::time::sleep(PAUSE).await;
            }
        }
    }
    drop(listener);
    drop(hearing);
    telling.send_replace(Word::Stop);
    telling.closed().await;
}

async fn answer(stream: TcpStream, front: Dispatch, mut hearing: watch::Receiver<Word>) {
    let _ = stream.set_nodelay(true); // an answer is one write: there is nothing to wait for
    let pulse = &Pulse::default();
    let socket = TokioIo::new(Felt { stream, pulse });
    let front = &front;
    let service = hyper::service::service_fn(|request: hyper::Request<Incoming>| async move {
        let under_way = pulse.request();
        let (parts, body) = request.into_parts();
        let answer = front.answer(parts, Body::new(body)).await;
        drop(under_way);
        Ok::<_, Infallible>(answer)
    });
    let mut connection = pin!(http1::Builder::new().writev(false).serve_connection(socket, service));
    let outcome = loop {
        tokio::select! {
            biased;
            outcome = &mut connection => break outcome,
            _ = hearing.changed() => {}
        }
        if *hearing.borrow() == Word::Stop {
            connection.as_mut().graceful_shutdown();
            break connection.await;
        }
        if !pulse.beats() {
            tracing::debug!("a connection stood idle");
            return;
        }
    };
    if let Err(error) = outcome {
        tracing::debug!(%error, "a connection broke off");
    }
}
