//! What every handler shares.

use super::auth::{ClientSlots, RateLimit};
use super::http::connection_limits::ConnectionLimits;
use super::http::cross_site::AllowedHosts;
use super::http::error::ApiError;
use super::http::error_code::ErrorCode;
use crate::config::Config;
use crate::dataset::DatasetStore;
use crate::jobs::JobPool;
use crate::keys::KeyWatch;
use crate::model::ModelRegistry;
use crate::serving::{ModelCache, ModelCacheError, ReadyModel};
use crate::telemetry::{Metrics, ShedReason};
use std::ops::Deref;
use std::sync::Arc;
use std::time::Instant;
use tokio::sync::{Semaphore, watch};

/// Each read takes a thread for a moment, and a thread that has just read may be counted as busy for a while. Without a
/// limit, a change of one job that many listen to would start hundreds; with four at once there were up to 76, one is
/// enough for thousands of reads a second.
const EVENT_READS: usize = 1;

/// What every handler shares; a clone is one reference count.
#[derive(Clone)]
pub struct AppState(Arc<AppParts>);

/// The parts of an app.
pub struct AppParts {
    pub(super) config: Config,
    pub(super) hosts: AllowedHosts,
    pub(super) datasets: DatasetStore,
    pub(super) jobs: JobPool,
    pub(super) registry: ModelRegistry,
    pub(super) model_cache: ModelCache,
    pub(super) metrics: Metrics,
    /// None if no request needs a key.
    pub(super) keys: Option<Arc<KeyWatch>>,
    /// None if there is no limit.
    pub(super) rate: Option<RateLimit>,
    /// Uploads that are read at the same time.
    pub(super) uploads: ClientSlots,
    pub(super) imports: Arc<Semaphore>,
    /// Tables and exports that are computed at the same time.
    pub(super) streams: ClientSlots,
    /// Event streams that read their job at the same time.
    pub(super) event_reads: Semaphore,
    /// Memory for large bodies, in KiB.
    pub(super) bodies: Arc<Semaphore>,
    /// Memory for large responses, in KiB: what is free, and the whole budget.
    pub(super) answers: Arc<Semaphore>,
    pub(super) answer_kibibytes: usize,
    phase: watch::Sender<Phase>,
}

/// Where a service is between start and exit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// It serves.
    Ready,
    /// It serves, and load balancers should send no more.
    Leaving,
    /// It ends as soon as its requests have.
    Draining,
}

impl Deref for AppState {
    type Target = AppParts;

    fn deref(&self) -> &AppParts {
        &self.0
    }
}

impl AppState {
    /// The state of a service that is ready, because its stores are open.
    pub fn new(
        config: Config,
        keys: Option<Arc<KeyWatch>>,
        datasets: DatasetStore,
        jobs: JobPool,
        registry: ModelRegistry,
        model_cache: ModelCache,
        metrics: Metrics,
    ) -> Self {
        // The largest body must fit when it is the only one, compressed and decompressed.
        let bodies = config.max_request_memory.0.max(2 * config.max_request.0 + (1 << 20)) >> 10;
        let permits = |kibibytes| usize::try_from(kibibytes).unwrap_or(usize::MAX).min(Semaphore::MAX_PERMITS);
        let answer_kibibytes = permits(config.max_answer_memory.0 >> 10);
        Self(Arc::new(AppParts {
            bodies: Arc::new(Semaphore::new(permits(bodies))),
            answers: Arc::new(Semaphore::new(answer_kibibytes)),
            answer_kibibytes,
            keys,
            rate: config.access.max_requests_per_second.map(RateLimit::new),
            uploads: ClientSlots::new("uploads", config.max_concurrent_uploads),
            imports: Arc::new(Semaphore::new(1)),
            streams: ClientSlots::new("tables and exports", config.max_concurrent_predictions),
            event_reads: Semaphore::new(EVENT_READS),
            phase: watch::Sender::new(Phase::Ready),
            hosts: AllowedHosts::new(&config),
            config,
            datasets,
            jobs,
            registry,
            model_cache,
            metrics,
        }))
    }

    /// Makes `/readyz` fail, so that load balancers send no more requests.
    pub fn stop_being_ready(&self) {
        self.phase.send_replace(Phase::Leaving);
    }

    /// Ends event streams and requests that wait for a job.
    pub fn stop_waiting(&self) {
        self.phase.send_replace(Phase::Draining);
    }

    /// The limits of connections.
    pub fn connection_limits(&self) -> ConnectionLimits {
        ConnectionLimits::new(&self.config)
    }

    pub(super) fn is_ready(&self) -> bool {
        *self.phase.borrow() == Phase::Ready
    }

    /// Whether event streams stop.
    pub(super) fn is_draining(&self) -> bool {
        *self.phase.borrow() == Phase::Draining
    }

    /// Ends when no new connections are accepted, when event streams stop.
    pub(super) async fn draining(&self) {
        // The sender lives as long as this state does.
        let _ = self.phase.subscribe().wait_for(|phase| *phase == Phase::Draining).await;
    }

    /// Refuses what would take more of a disk that is at its low-water mark.
    pub(super) async fn refuse_low_disk(&self) -> Result<(), ApiError> {
        let disk = self.registry.disk().clone();
        blocking(move || disk.check()).await
    }

    /// Loads a version of a model, the newest if none is named.
    pub(super) async fn load(&self, name: &str, version: Option<u32>) -> Result<Arc<ReadyModel>, ApiError> {
        let entry = self.registry.find(name, version)?;
        if let Some(model) = self.model_cache.ready(&entry)? {
            return Ok(model);
        }
        let state = self.clone();
        blocking(move || -> Result<_, ModelCacheError> { state.model_cache.get(&entry) }).await
    }

    /// Like `load`, for a request with a deadline. The model is loaded for later requests even if the deadline passes.
    pub(super) async fn load_by(
        &self,
        name: &str,
        version: Option<u32>,
        deadline: Instant,
    ) -> Result<Arc<ReadyModel>, ApiError> {
        let entry = self.registry.find(name, version)?;
        if let Some(model) = self.model_cache.ready(&entry)? {
            return Ok(model);
        }
        let (state, version) = (self.clone(), Arc::clone(&entry));
        let loading = blocking(move || -> Result<_, ModelCacheError> { state.model_cache.get(&version) });
        // Boxed because most predictions never get here, to keep their future small.
        Box::pin(tokio::time::timeout_at(deadline.into(), loading)).await.unwrap_or_else(|_| {
            self.metrics.predictions.shed(&entry.name, entry.version, ShedReason::ModelLoading);
            let detail = format!("model '{}' version {} is being loaded; try again", entry.name, entry.version);
            Err(ApiError::new(ErrorCode::ModelLoading, detail))
        })
    }
}

/// Runs blocking `work` off the async threads.
pub(super) async fn blocking<T, E>(work: impl FnOnce() -> Result<T, E> + Send + 'static) -> Result<T, ApiError>
where
    T: Send + 'static,
    E: Send + 'static,
    ApiError: From<E>,
{
    let span = tracing::Span::current();
    match tokio::task::spawn_blocking(move || span.in_scope(work)).await {
        Ok(outcome) => outcome.map_err(ApiError::from),
        Err(error) => Err(ApiError::internal(format!("a blocking task ended early: {error}"))),
    }
}
