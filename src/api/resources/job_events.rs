//! Server-sent events of a job.

use super::jobs::{find_visible, render};
use crate::api::AppState;
use crate::api::auth::Caller;
use crate::api::http::error::ApiError;
use crate::api::http::extract::Id;
use crate::api::state::blocking;
use crate::jobs::{EventId, JobError, JobEvent};
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use serde_json::Value;
use std::collections::VecDeque;
use std::convert::Infallible;
use std::time::Duration;
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;

/// The id of the event that ends a job, whatever process sent it: nothing comes after it.
const END: &str = "end";

/// `GET …/{id}/events`: the job now, and again whenever its state or progress changes, until it ends. Events are named
/// `state` or `progress`; each has the complete job, and an id. A client that comes back with `Last-Event-ID` gets what it
/// missed; one that has seen the end gets 204, at which browsers stop to come back.
pub(crate) async fn events(
    State(state): State<AppState>,
    caller: Caller,
    Id(id): Id,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let changes = state.jobs.changes();
    let now = state.jobs.last_event(); // before the job is read, so that nothing falls between
    let jobs = state.jobs.clone();
    let wanted = id.clone();
    let found = blocking(move || -> Result<_, JobError> {
        let job = find_visible(&jobs, &caller, &wanted)?; // 404 before the stream begins
        Ok((render(&job, jobs.progress(&wanted)), job.status.is_final()))
    });
    let (shown, ended) = read_in_turn(&state, found).await?;
    let seen = headers.get("last-event-id").and_then(|id| id.to_str().ok()).map(str::trim);
    if ended && seen == Some(END) {
        return Ok(StatusCode::NO_CONTENT.into_response());
    }
    let seen: Option<EventId> = seen.and_then(|id| id.parse().ok());
    let missed = seen.and_then(|seen| Some((seen, state.jobs.events_since(&id, seen)?)));
    // A job that has ended has an end to tell.
    let missed = missed.filter(|(_, events)| !ended || events.iter().any(|event| event.job.status.is_final()));
    // Comments, so that neither proxies nor our own idle timeout close the connection.
    let keep_alive = Duration::from_secs(state.config.connection_idle_seconds.min(30)) / 2;
    let mut listener = Listener { state, id, changes, after: now, waiting: VecDeque::new(), last: None, ended };
    match missed {
        Some((seen, missed)) => {
            listener.after = seen;
            listener.ended = false;
            listener.take(missed);
        }
        None => listener.waiting.push_back(Told::Now(shown)),
    }
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

/// What is still to be sent.
enum Told {
    /// The job as it was when the stream began.
    Now(Value),
    /// What happened since.
    Happened(Box<JobEvent>),
}

struct Listener {
    state: AppState,
    id: String,
    changes: Receiver<String>,
    /// The last event that was taken from the log.
    after: EventId,
    waiting: VecDeque<Told>,
    /// The last job sent.
    last: Option<Value>,
    ended: bool,
}

impl Listener {
    /// The next event that differs from the last one; none after the end of the job.
    async fn next(&mut self) -> Option<Event> {
        loop {
            let Some(told) = self.waiting.pop_front() else {
                if self.ended {
                    return None;
                }
                self.wait_for_change().await?;
                if let Some(happened) = self.state.jobs.events_since(&self.id, self.after) {
                    self.take(happened);
                } else {
                    let (job, ended) = self.read().await?;
                    self.ended = ended;
                    self.waiting.push_back(Told::Now(job));
                }
                continue;
            };
            let (id, kind, job) = match told {
                Told::Now(job) => (self.after.to_string(), "state", job),
                Told::Happened(event) => {
                    self.ended = event.job.status.is_final();
                    // Only the journal has the report.
                    let job =
                        if self.ended { self.read().await?.0 } else { render(&event.job, event.progress.clone()) };
                    (event.id.to_string(), event.kind.name(), job)
                }
            };
            if self.last.as_ref() != Some(&job) {
                let id = if self.ended { END.to_owned() } else { id };
                let event = Event::default().event(kind).id(id).data(job.to_string());
                self.last = Some(job);
                return Some(event);
            }
        }
    }

    fn take(&mut self, events: Vec<JobEvent>) {
        self.after = events.last().map_or(self.after, |event| event.id);
        self.waiting.extend(events.into_iter().map(|event| Told::Happened(Box::new(event))));
    }

    /// The job with its report, and whether it has ended; none if it was deleted meanwhile.
    async fn read(&self) -> Option<(Value, bool)> {
        let (jobs, id) = (self.state.jobs.clone(), self.id.clone());
        let read = blocking(move || -> Result<_, JobError> {
            let job = jobs.find(&id)?;
            Ok((render(&job, jobs.progress(&id)), job.status.is_final()))
        });
        read_in_turn(&self.state, read).await.ok()
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
