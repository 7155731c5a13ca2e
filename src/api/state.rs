//! What every handler shares.

use super::http::error::ApiError;
use crate::config::Config;
use crate::dataset::DatasetStore;
use crate::jobs::JobPool;
use crate::model::ModelRegistry;
use crate::serving::{ModelCache, ModelCacheError, ReadyModel};
use crate::telemetry::Metrics;
use std::ops::Deref;
use std::sync::Arc;
use std::time::Instant;
use tokio::sync::{Semaphore, watch};

/// A handle to everything; a clone is one count.
#[derive(Clone)]
pub struct AppState(Arc<AppParts>);

/// Everything.
pub struct AppParts {
    pub(super) config: Config,
    pub(super) datasets: DatasetStore,
    pub(super) jobs: JobPool,
    pub(super) registry: ModelRegistry,
    pub(super) model_cache: ModelCache,
    pub(super) metrics: Metrics,
    pub(super) uploads: Arc<Semaphore>,
    pub(super) imports: Arc<Semaphore>,
    pub(super) streams: Arc<Semaphore>,
    /// Kibibytes of large bodies.
    pub(super) bodies: Arc<Semaphore>,
    /// Kibibytes of large answers on their way, and how many there are of them in all.
    pub(super) answers: Arc<Semaphore>,
    pub(super) answer_kibibytes: usize,
    ready: watch::Sender<bool>,
}

impl Deref for AppState {
    type Target = AppParts;

    fn deref(&self) -> &AppParts {
        &self.0
    }
}

impl AppState {
    /// Ready from the start: the stores are open.
    pub fn new(
        config: Config,
        datasets: DatasetStore,
        jobs: JobPool,
        registry: ModelRegistry,
        model_cache: ModelCache,
        metrics: Metrics,
    ) -> Self {
        // A body of the largest size must find room when it is alone, compressed and not.
        let bodies = config.max_request_memory.0.max(2 * config.max_request.0 + (1 << 20)) >> 10;
        let permits = |kibibytes| usize::try_from(kibibytes).unwrap_or(usize::MAX).min(Semaphore::MAX_PERMITS);
        let answer_kibibytes = permits(config.max_answer_memory.0 >> 10);
        Self(Arc::new(AppParts {
            bodies: Arc::new(Semaphore::new(permits(bodies))),
            answers: Arc::new(Semaphore::new(answer_kibibytes)),
            answer_kibibytes,
            uploads: Arc::new(Semaphore::new(config.max_concurrent_uploads)),
            imports: Arc::new(Semaphore::new(1)),
            streams: Arc::new(Semaphore::new(config.max_concurrent_predictions)),
            ready: watch::Sender::new(true),
            config,
            datasets,
            jobs,
            registry,
            model_cache,
            metrics,
        }))
    }

    /// From now on `/readyz` says no.
    pub fn stop_being_ready(&self) {
        self.ready.send_replace(false);
    }

    pub(super) fn is_ready(&self) -> bool {
        *self.ready.borrow()
    }

    /// Ends when the service begins to shut down: long answers stop then.
    pub(super) async fn draining(&self) {
        // The sender lives as long as this state does.
        let _ = self.ready.subscribe().wait_for(|ready| !ready).await;
    }

    /// A version of a model ready to predict, the newest if none is named. From memory if it is there.
    pub(super) async fn load(&self, name: &str, version: Option<u32>) -> Result<Arc<ReadyModel>, ApiError> {
        let entry = self.registry.find(name, version)?;
        if let Some(model) = self.model_cache.ready(&entry)? {
            return Ok(model);
        }
        let state = self.clone();
        blocking(move || -> Result<_, ModelCacheError> { state.model_cache.get(&entry) }).await
    }

    /// The same for a request that gives up at a deadline; the model is read on for those who come next.
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
        // Boxed, as is all that a usual prediction never comes to: its future stays small.
        Box::pin(tokio::time::timeout_at(deadline.into(), loading)).await.unwrap_or_else(|_| {
            self.metrics.predictions.shed(&entry.name, entry.version, "model_loading");
            let detail = format!("model '{}' version {} is being read; ask again", entry.name, entry.version);
            Err(ApiError::busy("model_loading", detail))
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
