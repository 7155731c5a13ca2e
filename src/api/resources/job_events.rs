//! Server-sent events of a job.

use super::jobs::{find_visible, render};
use crate::api::AppState;
use crate::api::auth::Caller;
use crate::api::http::error::ApiError;
use crate::api::http::extract::Id;
use crate::api::state::blocking;
use crate::jobs::JobError;
use axum::extract::State;
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use serde_json::Value;
use std::convert::Infallible;
use std::time::Duration;
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;

/// `GET …/{id}/events`: the job now, and again whenever its state or progress changes, until it ends. Events are named
/// `state` or `progress`; each has the complete job.
pub(crate) async fn events(State(state): State<AppState>, caller: Caller, Id(id): Id) -> Result<Response, ApiError> {
    let changes = state.jobs.changes();
    let jobs = state.jobs.clone();
    let wanted = id.clone();
    read_in_turn(&state, blocking(move || find_visible(&jobs, &caller, &wanted))).await?; // 404 before the stream begins
    // Comments, so that neither proxies nor our own idle timeout close the connection.
    let keep_alive = Duration::from_secs(state.config.connection_idle_seconds.min(30)) / 2;
    let listener = Listener { state, id, changes, last: None, ended: false };
    let events = stream::unfold(listener, |mut listener| async {
        let event = listener.next().await?;
        Some((Ok::<_, Infallible>(event), listener))
    });
    Ok(Sse::new(events).keep_alive(KeepAlive::new().interval(keep_alive)).into_response())
}

/// Lets only a few of those who wait for changes read at the same time.
pub(super) async fn read_in_turn<T>(
    state: &AppState,
    read: impl Future<Output = Result<T, ApiError>>,
) -> Result<T, ApiError> {
    let _turn = state.event_reads.acquire().await.map_err(ApiError::internal)?;
    read.await
}

struct Listener {
    state: AppState,
    id: String,
    changes: Receiver<String>,
    /// The last job sent.
    last: Option<Value>,
    ended: bool,
}

impl Listener {
    /// The next event that differs from the last one; none after the end of the job.
    async fn next(&mut self) -> Option<Event> {
        while !self.ended {
            if self.last.is_some() {
                self.wait_for_change().await?;
            }
            let (jobs, id) = (self.state.jobs.clone(), self.id.clone());
            let read = blocking(move || -> Result<_, JobError> {
                let job = jobs.find(&id)?;
                Ok((job.status.is_final(), render(&job, jobs.progress(&id))))
            });
            let (ended, now) = read_in_turn(&self.state, read).await.ok()?; // none if it was deleted meanwhile
            self.ended = ended;
            if self.last.as_ref() != Some(&now) {
                let same_state = self.last.as_ref().is_some_and(|last| last["status"] == now["status"]);
                let event = Event::default().event(if same_state { "progress" } else { "state" }).data(now.to_string());
                self.last = Some(now);
                return Some(event);
            }
        }
        None
    }

    async fn wait_for_change(&mut self) -> Option<()> {
        loop {
            let change = tokio::select! {
                change = self.changes.recv() => change,
                () = self.state.draining() => return None,
            };
            match change {
                Ok(id) if id == self.id => return Some(()),
                Ok(_) => {}
                Err(RecvError::Lagged(_)) => return Some(()), // some were missed, perhaps ours
                Err(RecvError::Closed) => return None,
            }
        }
    }
}
