//! The composition root, used by the binary and by tests: stores, workers, routes.

/// What a training job does: open, train, publish.
pub mod training_jobs;

/// Training jobs on rows that stay where they are.
mod located_jobs;

/// The lock of a data directory, and whether its database belongs to its files.
mod data_directory;

/// A table file read without a service.
pub mod table_file;

/// Checks every file of a data directory against its entry, and repairs.
pub mod doctor;

/// A copy of a data directory while a service uses it.
pub mod backup;

/// Deletes finished jobs and old versions beyond what is kept.
mod retention;

use crate::api::{self, AppState, Dispatch, Tls, TlsError};
use crate::cluster::{Locations, SparkOptions};
use crate::config::Config;
use crate::dataset::{DatasetError, DatasetStore};
use crate::jobs::{JobError, JobPool, PoolSettings};
use crate::keys::{KeyFile, KeyFileError, KeyWatch};
use crate::linalg;
use crate::model::{ModelRegistry, RegistryError};
use crate::serving::{BatchLimits, ModelCache, PredictionPool};
use crate::storage::database::{Database, OpenError};
use crate::storage::disk::DiskLimits;
use crate::storage::files::{DataDir, make_folder};
use crate::storage::inventory::own_files;
use crate::storage::reserve::Reserve;
use crate::telemetry::Metrics;
use crate::training::SpecLimits;
use data_directory::Mismatch;
use retention::Retention;
use std::fs::File;
use std::net::SocketAddr;
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
    /// Sessions of the cluster cannot be started.
    #[error("--spark-master: {0}")]
    Cluster(String),
    /// Threads cannot be had.
    #[error("the threads cannot be started: {0}")]
    Threads(std::io::Error),
    /// The keys are not usable.
    #[error(transparent)]
    Keys(#[from] KeyFileError),
    /// The certificate is not usable.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// It would be reached from elsewhere, and there are no keys.
    #[error(
        "{0} can be reached from other machines, and there are no keys: make some with `bochner keys new` and name their \
         file by --api-keys-file, or listen on 127.0.0.1. --insecure-no-keys lets anyone who reaches the port do anything"
    )]
    NoKeys(SocketAddr),
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
    tls: Option<Arc<Tls>>,
    /// Unlocks the data directory when dropped.
    _lock: File,
}

impl App {
    /// Opens the data directory, restores what an earlier process left, and starts the workers. Must be called within a
    /// tokio runtime, which times how long rows wait to be batched.
    pub fn start(config: Config) -> Result<Self, StartError> {
        let keys = open_keys(&config)?;
        let tls = match (&config.access.tls_certificate, &config.access.tls_key) {
            (Some(certificate), Some(key)) => Some(Tls::start(certificate, key)?),
            _ => None, // clap asks for both or none
        };
        let path = config.data_dir.display().to_string();
        let unusable = |cause| StartError::DataDir { path: path.clone(), cause };
        make_folder(&config.data_dir).map_err(unusable)?;
        let lock = data_directory::lock(&config.data_dir)?;
        let reserve = Reserve::beside(&config.data_dir.join("bochner.sqlite"));
        let room = reserve.lend();
        Self::open(config, keys, tls, lock).map_err(|cause| {
            if room.is_disk_full() { StartError::DiskFull { path, cause: Box::new(cause) } } else { cause }
        })
    }

    fn open(
        config: Config,
        keys: Option<Arc<KeyWatch>>,
        tls: Option<Arc<Tls>>,
        lock: File,
    ) -> Result<Self, StartError> {
        let unusable = |cause| StartError::DataDir { path: config.data_dir.display().to_string(), cause };
        let files = own_files(&DataDir::at(&config.data_dir)).map_err(unusable)?;
        let or_damaged = |error| data_directory::or_damaged(&config.data_dir, &files, error);
        data_directory::check_presence(&config.data_dir, &files).map_err(or_damaged)?;
        let limits = DiskLimits {
            budget: config.max_disk.map(|bytes| bytes.0),
            low_water: config.min_free_disk.map(|bytes| bytes.0),
        };
        let directory = DataDir::open(&config.data_dir).map_err(unusable)?.limited(limits);
        linalg::use_one_blas_thread();
        let database = Database::open(&directory.database()).map_err(|error| or_damaged(error.into()))?;
        data_directory::check_match(&config.data_dir, &files, &database)?;
        let metrics = Metrics::new(config.max_metric_versions);
        let datasets = DatasetStore::open(directory.clone(), database.clone())?.with_program(config.program.clone());
        let registry = ModelRegistry::open(directory, database.clone())?;
        let artifacts = registry.clone();
        let verify = std::thread::Builder::new().name("verify-artifacts".into());
        verify.spawn(move || artifacts.quarantine_damaged()).map_err(StartError::Threads)?;
        let model_cache = open_model_cache(&config, &registry, &metrics).map_err(StartError::Threads)?;
        let runner = TrainingJobs {
            datasets: datasets.clone(),
            registry: registry.clone(),
            model_cache: model_cache.clone(),
            locations: Locations::new(&config.cluster.dataset_locations),
            spark: SparkOptions::of(&config.cluster).map_err(StartError::Cluster)?,
            threads: config.training_threads,
            memory: config.training_memory.0,
            limits: SpecLimits { feature_count: config.max_features },
            metrics: metrics.clone(),
        };
        let settings = PoolSettings {
            workers: config.training_workers,
            queue_limit: config.max_queued_jobs,
            client_limit: config.queued_jobs_per_client(),
            time_limit: (config.max_job_seconds > 0).then(|| Duration::from_secs(config.max_job_seconds)),
        };
        let jobs = JobPool::start(database, settings, Arc::new(runner))?;
        Retention::new(&config, &jobs, &registry, &model_cache).start();
        warn_of_default_model(&config, &registry);
        let state = AppState::new(config, keys, datasets, jobs.clone(), registry, model_cache, metrics);
        Ok(Self { dispatch: Dispatch::new(state.clone()), jobs, state, tls, _lock: lock })
    }

    /// Answers on a socket until `stop` ends, then lets every connection finish the request it is at.
    pub fn serve<S>(&self, listener: TcpListener, stop: S) -> impl Future<Output = ()> + Send + use<S>
    where
        S: Future<Output = ()> + Send,
    {
        api::serve(listener, self.dispatch.clone(), self.state.connection_limits(), self.tls.clone(), stop)
    }

    /// From now on `/readyz` says no; everything else is served.
    pub fn stop_being_ready(&self) {
        self.state.stop_being_ready();
    }

    /// Ends event streams and requests that wait for a job; to be called before connections are drained.
    pub fn stop_waiting(&self) {
        self.state.stop_waiting();
    }
}

/// A default model may be trained later, so that this is no error.
fn warn_of_default_model(config: &Config, registry: &ModelRegistry) {
    if let Some(name) = &config.default_model
        && let Err(error) = registry.find(name, None)
    {
        tracing::warn!(%error, default_model = name, "the default model does not exist: /invocations answers 404 until it does");
    }
}

/// The keys in force; none if no request needs one, which is refused where others can reach the service.
fn open_keys(config: &Config) -> Result<Option<Arc<KeyWatch>>, StartError> {
    let access = &config.access;
    let Some(path) = &access.api_keys_file else {
        let is_safe = config.listen.ip().to_canonical().is_loopback() || access.insecure_no_keys;
        return if is_safe { Ok(None) } else { Err(StartError::NoKeys(config.listen)) };
    };
    let file = KeyFile::at(path);
    if access.create_keys
        && let Some(first) = file.make_first_keys()?
    {
        for path in first.files {
            tracing::warn!(file = %path.display(), "made a key; this file holds it, and `bochner keys secret` prints it");
        }
    }
    Ok(Some(KeyWatch::start(file)?))
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
