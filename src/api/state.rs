//! What every handler shares.

use super::error::ApiError;
use crate::config::Config;
use crate::dataset::DatasetStore;
use crate::jobs::JobPool;
use crate::model::{ModelRegistry, ModelVersion, Predictor, RegistryError};
use crate::serving::Shelf;
use crate::telemetry::Metrics;
use std::sync::Arc;
use tokio::sync::{Semaphore, watch};

/// Handles to everything; a clone is cheap.
#[derive(Clone)]
pub struct AppState {
    pub(super) config: Arc<Config>,
    pub(super) datasets: DatasetStore,
    pub(super) jobs: JobPool,
    pub(super) registry: ModelRegistry,
    pub(super) shelf: Shelf,
    pub(super) metrics: Metrics,
    pub(super) uploads: Arc<Semaphore>,
    pub(super) predictions: Arc<Semaphore>,
    ready: Arc<watch::Sender<bool>>,
}

impl AppState {
    /// Ready from the start: the stores are open.
    pub fn new(
        config: Config,
        datasets: DatasetStore,
        jobs: JobPool,
        registry: ModelRegistry,
        shelf: Shelf,
        metrics: Metrics,
    ) -> Self {
        Self {
            uploads: Arc::new(Semaphore::new(config.max_concurrent_uploads)),
            predictions: Arc::new(Semaphore::new(config.max_concurrent_predictions)),
            ready: Arc::new(watch::Sender::new(true)),
            config: Arc::new(config),
            datasets,
            jobs,
            registry,
            shelf,
            metrics,
        }
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
}

impl AppState {
    /// A version of a model, the newest if none is named, ready to predict.
    pub(super) async fn load(
        &self,
        name: String,
        version: Option<u32>,
    ) -> Result<(ModelVersion, Arc<Predictor>), ApiError> {
        let (registry, shelf) = (self.registry.clone(), self.shelf.clone());
        blocking(move || -> Result<_, RegistryError> {
            let entry = registry.find(&name, version)?;
            let predictor = shelf.get(&entry)?;
            Ok((entry, predictor))
        })
        .await
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
