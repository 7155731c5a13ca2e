//! Models in memory, the queues of rows in front of them, and the threads that compute predictions.

/// Prediction threads.
pub(crate) mod prediction_pool;

/// The rows that wait for one model.
pub(crate) mod queue;

/// Batching of concurrent requests.
pub(crate) mod batcher;

/// A first prediction before a model is served.
pub(crate) mod warm_up;

/// What requests were about.
pub(crate) mod input_drift;

/// Ready models, within a memory budget.
pub(crate) mod model_cache;
