//! Server-sent events of a job.

use super::jobs::view;
use crate::api::AppState;
use crate::api::http::error::ApiError;
use crate::api::http::extract::Id;
use crate::api::state::blocking;
use axum::extract::State;
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use serde_json::Value;
use std::convert::Infallible;
use std::time::Duration;
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;

/// `GET …/{id}/events`: the job now, then whenever its state or progress changes, until it ends.
/// Events are named `state` or `progress`; each carries the whole job.
pub(crate) async fn events(State(state): State<AppState>, Id(id): Id) -> Result<Response, ApiError> {
    let changes = state.jobs.changes();
    let jobs = state.jobs.clone();
    let wanted = id.clone();
    blocking(move || jobs.find(&wanted)).await?; // 404 before the stream begins
    // A comment now and then, so that neither proxies nor our own limit take the connection for idle.
    let quiet = Duration::from_secs(state.config.connection_idle_seconds.min(30)) / 2;
    let listener = Listener { state, id, changes, told: None, ended: false };
    let events = stream::unfold(listener, |mut listener| async {
        let event = listener.next().await?;
        Some((Ok::<_, Infallible>(event), listener))
    });
    Ok(Sse::new(events).keep_alive(KeepAlive::new().interval(quiet)).into_response())
}

struct Listener {
    state: AppState,
    id: String,
    changes: Receiver<String>,
    /// The last thing told.
    told: Option<Value>,
    ended: bool,
}

impl Listener {
    /// The next event that says something new; nothing after the end.
    async fn next(&mut self) -> Option<Event> {
        while !self.ended {
            if self.told.is_some() {
                self.wait_for_change().await?;
            }
            let (jobs, id) = (self.state.jobs.clone(), self.id.clone());
            let job = blocking(move || jobs.find(&id)).await.ok()?; // deleted meanwhile
            self.ended = job.status.is_final();
            let now = view(&self.state, job).await.ok()?;
            if self.told.as_ref() != Some(&now) {
                let same_state = self.told.as_ref().is_some_and(|told| told["status"] == now["status"]);
                let event = Event::default().event(if same_state { "progress" } else { "state" }).data(now.to_string());
                self.told = Some(now);
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
                Err(RecvError::Lagged(_)) => return Some(()), // missed some: look
                Err(RecvError::Closed) => return None,
            }
        }
    }
}
