//! The model cache: models are read when first requested and evicted, least recently used first, to stay within a budget.

use crate::model::{FittedModel, ModelRegistry, ModelVersion, Predictor, RegistryError};
use crate::serving::{BatchLimits, Batcher, InputDrift, NotReady, PredictionPool, make_ready};
use crate::telemetry::{ModelMeters, PredictionMetrics};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A version of a model in memory. A request in flight keeps its own, whatever happens to the cache.
pub struct ReadyModel {
    /// Its name, version and artifact.
    pub entry: Arc<ModelVersion>,
    /// Warmed up.
    pub predictor: Arc<Predictor>,
    /// Its queue.
    pub batcher: Arc<Batcher>,
    /// Its metrics.
    pub meters: Arc<ModelMeters>,
    /// What its requests were about, since it was loaded.
    pub drift: InputDrift,
}

/// Why a model cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum ModelCacheError {
    /// An operator unloaded it.
    #[error("model '{name}' is unloaded; load it first")]
    Unloaded {
        /// The model's name.
        name: String,
    },
    /// It does not exist, or its artifact cannot be read.
    #[error(transparent)]
    Registry(#[from] RegistryError),
    /// Its warm-up failed.
    #[error(transparent)]
    NotReady(#[from] NotReady),
}

/// Ready models by artifact; clones share one cache.
#[derive(Clone)]
pub struct ModelCache {
    registry: ModelRegistry,
    settings: Arc<CacheSettings>,
    state: Arc<Mutex<CacheState>>,
}

struct CacheSettings {
    budget_bytes: usize,
    limits: BatchLimits,
    pool: PredictionPool,
    metrics: PredictionMetrics,
}

#[derive(Default)]
struct CacheState {
    ready: BTreeMap<String, CachedModel>,
    /// A lock held while an artifact is read, so that concurrent requests read it once.
    loading: HashMap<String, Arc<Mutex<()>>>,
    /// Models that an operator unloaded.
    unloaded: HashSet<String>,
    bytes: usize,
    clock: u64,
}

struct CachedModel {
    model: Arc<ReadyModel>,
    bytes: usize,
    last_used: u64,
}

impl ModelCache {
    /// An empty cache of at most `budget_bytes`.
    pub fn new(
        registry: ModelRegistry,
        budget_bytes: usize,
        limits: BatchLimits,
        pool: PredictionPool,
        metrics: PredictionMetrics,
    ) -> Self {
        let settings = Arc::new(CacheSettings { budget_bytes, limits, pool, metrics });
        Self { registry, settings, state: Arc::default() }
    }

    /// The model if it is in memory. Does not touch the disk.
    pub fn ready(&self, version: &ModelVersion) -> Result<Option<Arc<ReadyModel>>, ModelCacheError> {
        let mut state = self.state();
        if !state.unloaded.is_empty() && state.unloaded.contains(&version.name) {
            return Err(ModelCacheError::Unloaded { name: version.name.clone() });
        }
        Ok(state.touch(&version.artifact))
    }

    /// The model, read from disk and warmed up if it is not in memory. Blocks meanwhile.
    pub fn get(&self, version: &Arc<ModelVersion>) -> Result<Arc<ReadyModel>, ModelCacheError> {
        if let Some(model) = self.ready(version)? {
            return Ok(model);
        }
        let loading = Arc::clone(self.state().loading.entry(version.artifact.clone()).or_default());
        let outcome = {
            let _alone = loading.lock().unwrap_or_else(PoisonError::into_inner);
            match self.ready(version)? {
                Some(model) => Ok(model), // another request has read it
                None => self.read(version),
            }
        };
        let mut state = self.state();
        // Two references, the map's and ours, mean that no request waits for the lock. Otherwise it stays, so that
        // later requests find the same one.
        if Arc::strong_count(&loading) <= 2 {
            state.loading.remove(&version.artifact);
        }
        drop(state);
        outcome
    }

    fn read(&self, version: &Arc<ModelVersion>) -> Result<Arc<ReadyModel>, ModelCacheError> {
        let model = FittedModel { statistics: None, ..self.registry.load(version)? }; // predictions need none
        let model = self.assemble(version, make_ready(model)?);
        let mut state = self.state();
        // A version that was deleted or replaced meanwhile serves this request and is not kept. One that is deleted
        // from now on is removed from the cache once this lock is free.
        let known = self.registry.find(&version.name, Some(version.version));
        if known.is_ok_and(|known| known.artifact == version.artifact) {
            self.keep(&mut state, &model);
        } else if !state.has(version) {
            model.meters.forget();
        }
        Ok(model)
    }

    /// Adds a version that is warmed up, before it is published: its first request does not wait for a read.
    pub fn put(&self, version: &Arc<ModelVersion>, predictor: Predictor) {
        let model = self.assemble(version, predictor.without_statistics());
        self.keep(&mut self.state(), &model);
    }

    fn assemble(&self, version: &Arc<ModelVersion>, predictor: Predictor) -> Arc<ReadyModel> {
        let predictor = Arc::new(predictor);
        let CacheSettings { limits, pool, metrics, .. } = &*self.settings;
        let meters = Arc::new(metrics.of(&version.name, version.version));
        let batcher = Batcher::new(Arc::clone(&predictor), *limits, pool.clone(), Arc::clone(&meters));
        let drift = InputDrift::new(predictor.model());
        Arc::new(ReadyModel { entry: Arc::clone(version), predictor, batcher, meters, drift })
    }

    /// Puts a model into the cache, unless it was unloaded.
    fn keep(&self, state: &mut CacheState, model: &Arc<ReadyModel>) {
        if !state.unloaded.contains(&model.entry.name) {
            let bytes = model.predictor.memory_bytes();
            state.make_room(bytes, self.settings.budget_bytes);
            state.insert(model.entry.artifact.clone(), Arc::clone(model), bytes);
        }
    }

    /// Evicts an artifact that was replaced by another.
    pub fn release(&self, version: &ModelVersion) {
        self.state().remove(&version.artifact);
    }

    /// Evicts a version that was deleted, and drops its metrics.
    pub fn forget(&self, version: &ModelVersion) {
        self.state().remove(&version.artifact);
        self.settings.metrics.forget(&version.name, version.version);
    }

    /// Evicts all versions of a model and refuses requests for it until [`load`](Self::load).
    pub fn unload(&self, name: &str) {
        let mut state = self.state();
        state.unloaded.insert(name.to_owned());
        let of_model = |(id, entry): (&String, &CachedModel)| (entry.model.entry.name == name).then(|| id.clone());
        let artifacts: Vec<String> = state.ready.iter().filter_map(of_model).collect();
        for artifact in artifacts {
            state.remove(&artifact);
        }
    }

    /// Allows requests for a model again; its versions are read when they are requested.
    pub fn load(&self, name: &str) {
        self.state().unloaded.remove(name);
    }

    /// Whether a version is in memory and not unloaded.
    pub fn holds(&self, version: &ModelVersion) -> bool {
        let state = self.state();
        state.ready.contains_key(&version.artifact) && !state.unloaded.contains(&version.name)
    }

    /// All models in memory, ordered by name and version.
    pub fn all(&self) -> Vec<Arc<ReadyModel>> {
        let mut all: Vec<Arc<ReadyModel>> = self.state().ready.values().map(|entry| Arc::clone(&entry.model)).collect();
        all.sort_by(|left, right| {
            (&left.entry.name, left.entry.version).cmp(&(&right.entry.name, right.entry.version))
        });
        all
    }

    /// Whether a model was unloaded.
    pub fn is_unloaded(&self, name: &str) -> bool {
        self.state().unloaded.contains(name)
    }

    fn state(&self) -> MutexGuard<'_, CacheState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl CacheState {
    fn touch(&mut self, artifact: &str) -> Option<Arc<ReadyModel>> {
        self.clock += 1;
        let entry = self.ready.get_mut(artifact)?;
        entry.last_used = self.clock;
        Some(Arc::clone(&entry.model))
    }

    /// Evicts the least recently used models. One larger than the whole budget is kept alone: otherwise it could not be
    /// served at all.
    fn make_room(&mut self, wanted: usize, budget: usize) {
        while self.bytes + wanted > budget {
            let oldest = self.ready.iter().min_by_key(|(_, entry)| entry.last_used).map(|(id, _)| id.clone());
            let Some(oldest) = oldest else { break };
            tracing::debug!(artifact = oldest, "evicted a model from memory");
            self.remove(&oldest);
        }
    }

    fn insert(&mut self, artifact: String, model: Arc<ReadyModel>, bytes: usize) {
        self.remove(&artifact);
        self.clock += 1;
        self.bytes += bytes;
        let version = Arc::clone(&model.entry);
        let meters = Arc::clone(&model.meters);
        self.ready.insert(artifact, CachedModel { model, bytes, last_used: self.clock });
        meters.memory(self.bytes_of(&version));
    }

    fn remove(&mut self, artifact: &str) -> Option<Arc<ReadyModel>> {
        let entry = self.ready.remove(artifact)?;
        self.bytes -= entry.bytes;
        entry.model.meters.memory(self.bytes_of(&entry.model.entry));
        Some(entry.model)
    }

    /// The bytes of all artifacts of a version: there are two while one replaces the other.
    fn bytes_of(&self, version: &ModelVersion) -> usize {
        let of_version = |entry: &&CachedModel| is_same(&entry.model.entry, version);
        self.ready.values().filter(of_version).map(|entry| entry.bytes).sum()
    }

    fn has(&self, version: &ModelVersion) -> bool {
        self.ready.values().any(|entry| is_same(&entry.model.entry, version))
    }
}

fn is_same(left: &ModelVersion, right: &ModelVersion) -> bool {
    left.version == right.version && left.name == right.name
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::decode;
    use crate::storage::database::Database;
    use crate::storage::files::DataDir;
    use std::time::Duration;
    use tokio::runtime::Handle;

    const ARTIFACT: &[u8] = include_bytes!("../../../tests/fixtures/artifacts/ridge.bochner");

    /// A cache over a registry with one published model.
    fn model_cache() -> (ModelCache, Arc<ModelVersion>, tempfile::TempDir) {
        let folder = tempfile::tempdir().unwrap();
        let directory = DataDir::open(folder.path()).unwrap();
        let database = Database::open(&directory.database()).unwrap();
        let registry = ModelRegistry::open(directory, database).unwrap();
        let limits = BatchLimits { batch_rows: 8, queue_delay: Duration::ZERO, queue_rows: 8, bypass_rows: 4 };
        let metrics = crate::telemetry::Metrics::new(9).predictions;
        let model_cache =
            ModelCache::new(registry, 1 << 30, limits, PredictionPool::start(1, Handle::current()).unwrap(), metrics);
        let model = decode(ARTIFACT).unwrap();
        let stored = model_cache.registry.store("first", &model).unwrap();
        let version = model_cache.registry.publish("m", &stored, "{}", None, |_| ()).unwrap();
        (model_cache, version, folder)
    }

    #[tokio::test]
    async fn however_many_ask_an_artifact_is_read_once() {
        let (model_cache, version, _folder) = model_cache();
        let models: Vec<Arc<ReadyModel>> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..8).map(|_| scope.spawn(|| model_cache.get(&version).unwrap())).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert!(models.iter().all(|model| Arc::ptr_eq(model, &models[0])));
        let state = model_cache.state();
        assert_eq!(state.bytes, models[0].predictor.memory_bytes());
        assert!(state.loading.is_empty());
    }

    #[tokio::test]
    async fn an_artifact_that_takes_its_own_place_is_counted_once() {
        let (model_cache, version, _folder) = model_cache();
        let model = model_cache.get(&version).unwrap();
        let mut state = model_cache.state();
        let bytes = state.bytes;
        state.insert(version.artifact.clone(), model, 100);
        assert_eq!(state.bytes, 100);
        state.remove(&version.artifact);
        assert_eq!((state.bytes, state.ready.len()), (0, 0));
        assert!(bytes > 100);
    }

    #[tokio::test]
    async fn what_was_deleted_while_it_was_read_serves_once_and_is_not_kept() {
        let (model_cache, version, _folder) = model_cache();
        // As if it had been found before it was deleted, and its file opened before it was removed.
        let gone = Arc::new(ModelVersion { version: 7, ..(*version).clone() });
        let model = model_cache.get(&gone).unwrap();
        assert_eq!(model.entry.version, 7);
        assert!(!model_cache.holds(&gone));
        assert_eq!(model_cache.state().bytes, 0);
        model_cache.get(&version).unwrap();
        assert!(model_cache.holds(&version));
    }
}
