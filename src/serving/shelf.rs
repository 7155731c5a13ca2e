//! Models in memory: read when first asked for, dropped when others need the room.

use crate::model::{FittedModel, ModelRegistry, ModelVersion, Predictor, RegistryError};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Ready models by artifact, least recently used dropped first; clones share it.
#[derive(Clone)]
pub struct Shelf {
    registry: ModelRegistry,
    budget_bytes: usize,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    ready: HashMap<String, Entry>,
    bytes: usize,
    clock: u64,
}

struct Entry {
    predictor: Arc<Predictor>,
    bytes: usize,
    last_used: u64,
}

impl Shelf {
    /// An empty shelf.
    pub fn new(registry: ModelRegistry, budget_bytes: usize) -> Self {
        Self { registry, budget_bytes, state: Arc::default() }
    }

    /// The model if it is in memory.
    fn ready(&self, version: &ModelVersion) -> Option<Arc<Predictor>> {
        self.state().touch(&version.artifact)
    }

    /// The model, read from disk where needed. Blocks on that; requests in flight keep what they
    /// began with even if it is dropped meanwhile.
    pub fn get(&self, version: &ModelVersion) -> Result<Arc<Predictor>, RegistryError> {
        if let Some(predictor) = self.ready(version) {
            return Ok(predictor);
        }
        let model = FittedModel { statistics: None, ..self.registry.load(version)? }; // predictions need none
        let predictor = Arc::new(Predictor::new(model));
        let bytes = predictor.memory_bytes();
        let mut state = self.state();
        if let Some(predictor) = state.touch(&version.artifact) {
            return Ok(predictor); // another request was faster
        }
        state.make_room(bytes, self.budget_bytes);
        state.insert(version.artifact.clone(), Arc::clone(&predictor), bytes);
        Ok(predictor)
    }

    /// Forgets a model that was deleted.
    pub fn forget(&self, artifact: &str) {
        self.state().remove(artifact);
    }

    /// Memory of what is ready.
    pub fn bytes(&self) -> usize {
        self.state().bytes
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn touch(&mut self, artifact: &str) -> Option<Arc<Predictor>> {
        self.clock += 1;
        let entry = self.ready.get_mut(artifact)?;
        entry.last_used = self.clock;
        Some(Arc::clone(&entry.predictor))
    }

    /// Drops what was not used for longest. A model larger than the whole budget still gets in,
    /// alone: refusing it would make it useless.
    fn make_room(&mut self, wanted: usize, budget: usize) {
        while self.bytes + wanted > budget {
            let oldest = self.ready.iter().min_by_key(|(_, entry)| entry.last_used).map(|(id, _)| id.clone());
            let Some(oldest) = oldest else { break };
            tracing::debug!(artifact = oldest, "dropped from memory");
            self.remove(&oldest);
        }
    }

    fn insert(&mut self, artifact: String, predictor: Arc<Predictor>, bytes: usize) {
        self.bytes += bytes;
        self.ready.insert(artifact, Entry { predictor, bytes, last_used: self.clock });
    }

    fn remove(&mut self, artifact: &str) {
        if let Some(entry) = self.ready.remove(artifact) {
            self.bytes -= entry.bytes;
        }
    }
}
