//! The composition root, used by the binary and by tests: stores, workers, routes.

/// What a training job does: open, train, publish.
pub mod training_jobs;

/// The lock of a data directory, and whether its database belongs to its files.
mod data_directory;

/// Checks every file of a data directory against its entry, and repairs.
pub mod doctor;

use crate::api::{self, AppState, Dispatch};
use crate::config::Config;
use crate::dataset::{DatasetError, DatasetStore};
use crate::jobs::{JobError, JobPool, PoolSettings};
use crate::linalg;
use crate::model::{ModelRegistry, RegistryError};
use crate::serving::{BatchLimits, ModelCache, PredictionPool};
use crate::storage::database::{Database, OpenError};
use crate::storage::files::{DataDir, make_folder};
use crate::storage::inventory::own_files;
use crate::storage::reserve::Reserve;
use crate::telemetry::Metrics;
use crate::training::SpecLimits;
use data_directory::Mismatch;
use std::fs::File;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::runtime::Handle;
use training_jobs::TrainingJobs;

/// Why the service cannot start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// Another process uses the data directory.
    #[error("another process is using the data directory {0}")]
    InUse(String),
    /// The data directory is not usable.
    #[error("the data directory {path} cannot be used: {cause}")]
    DataDir {
        /// Which.
        path: String,
        /// Why.
        cause: std::io::Error,
    },
    /// There is no room.
    #[error("the disk of the data directory {path} is full: {cause}")]
    DiskFull {
        /// Which directory.
        path: String,
        /// What failed for lack of room.
        cause: Box<StartError>,
    },
    /// Threads cannot be had.
    #[error("the threads cannot be started: {0}")]
    Threads(std::io::Error),
    /// The database is not usable.
    #[error("the database cannot be used: {0}")]
    Database(#[from] OpenError),
    /// The database does not belong to the files beside it. Nothing was changed.
    #[error(transparent)]
    Mismatch(#[from] Mismatch),
    /// The data sets are not usable.
    #[error(transparent)]
    Datasets(#[from] DatasetError),
    /// The models are not usable.
    #[error(transparent)]
    Models(#[from] RegistryError),
    /// The queue is not usable.
    #[error(transparent)]
    Jobs(#[from] JobError),
}

/// A running service without its socket.
pub struct App {
    /// All routes.
    pub dispatch: Dispatch,
    /// The queue, to be drained at the end.
    pub jobs: JobPool,
    state: AppState,
    /// Unlocks the data directory when dropped.
    _lock: File,
}

impl App {
    /// Opens the data directory, restores what an earlier process left, and starts the workers. Must be called within a
    /// tokio runtime, which times how long rows wait to be batched.
    pub fn start(config: Config) -> Result<Self, StartError> {
        let path = config.data_dir.display().to_string();
        let unusable = |cause| StartError::DataDir { path: path.clone(), cause };
        make_folder(&config.data_dir).map_err(unusable)?;
        let lock = data_directory::lock(&config.data_dir)?;
        let reserve = Reserve::beside(&config.data_dir.join("bochner.sqlite"));
        let room = reserve.lend();
        Self::open(config, lock).map_err(|cause| {
            if room.is_disk_full() { StartError::DiskFull { path, cause: Box::new(cause) } } else { cause }
        })
    }

    fn open(config: Config, lock: File) -> Result<Self, StartError> {
        let unusable = |cause| StartError::DataDir { path: config.data_dir.display().to_string(), cause };
        let files = own_files(&DataDir::at(&config.data_dir)).map_err(unusable)?;
        data_directory::check_presence(&config.data_dir, &files)?;
        let directory = DataDir::open(&config.data_dir).map_err(unusable)?;
        linalg::use_one_blas_thread();
        let database = Database::open(&directory.database())?;
        data_directory::check_match(&config.data_dir, &files, &database)?;
        let metrics = Metrics::new();
        let datasets = DatasetStore::open(directory.clone(), database.clone())?;
        let registry = ModelRegistry::open(directory, database.clone())?;
        let artifacts = registry.clone();
        let verify = std::thread::Builder::new().name("verify-artifacts".into());
        verify.spawn(move || artifacts.quarantine_damaged()).map_err(StartError::Threads)?;
        let model_cache = open_model_cache(&config, &registry, &metrics).map_err(StartError::Threads)?;
        let runner = TrainingJobs {
            datasets: datasets.clone(),
            registry: registry.clone(),
            model_cache: model_cache.clone(),
            threads: config.training_threads,
            memory: config.training_memory.0,
            limits: SpecLimits { feature_count: config.max_features },
            metrics: metrics.clone(),
        };
        let settings = PoolSettings { workers: config.training_workers, queue_limit: config.max_queued_jobs };
        let jobs = JobPool::start(database, settings, Arc::new(runner))?;
        let state = AppState::new(config, datasets, jobs.clone(), registry, model_cache, metrics);
        Ok(Self { dispatch: Dispatch::new(state.clone()), jobs, state, _lock: lock })
    }

    /// Answers on a socket until `stop` ends, then lets every connection finish the request it is at.
    pub fn serve<S>(&self, listener: TcpListener, stop: S) -> impl Future<Output = ()> + Send + use<S>
    where
        S: Future<Output = ()> + Send,
    {
        api::serve(listener, self.dispatch.clone(), self.state.connection_limits(), stop)
    }

    /// From now on `/readyz` says no.
    pub fn stop_being_ready(&self) {
        self.state.stop_being_ready();
    }
}

fn open_model_cache(config: &Config, registry: &ModelRegistry, metrics: &Metrics) -> std::io::Result<ModelCache> {
    let limits = BatchLimits {
        batch_rows: config.max_batch_rows,
        queue_delay: Duration::from_micros(config.max_queue_delay_us),
        queue_rows: config.max_queue_rows,
        bypass_rows: config.bypass_rows,
    };
    let budget = usize::try_from(config.model_memory.0).unwrap_or(usize::MAX);
    let pool = PredictionPool::start(config.prediction_threads, Handle::current())?;
    Ok(ModelCache::new(registry.clone(), budget, limits, pool, metrics.predictions.clone()))
}
