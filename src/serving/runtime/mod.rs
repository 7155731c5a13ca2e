//! Models in memory and the threads that compute their predictions.

/// Threads that predict.
pub(crate) mod pool;

/// Tasks for later.
pub(crate) mod timer;

/// Rows that wait for a thread.
pub(crate) mod queue;

/// Concurrent requests merged into one product.
pub(crate) mod batcher;

/// A model made ready before anyone is told that it is there.
pub(crate) mod warm_up;

/// Models in memory, under a budget.
pub(crate) mod model_cache;
