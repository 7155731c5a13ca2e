//! Batching: concurrent requests for one model become one matrix product.

use super::queue::{Queue, QueuedRows};
use crate::model::{Contributions, Extras, Predictions, Predictor};
use crate::serving::{PredictionPool, RequestRows};
use crate::telemetry::{ModelMeters, PredictionStage, ShedReason};
use ndarray::{Array2, ArrayView2, Axis, concatenate, s};
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

/// How rows of concurrent requests are put into batches.
#[derive(Debug, Clone, Copy)]
pub struct BatchLimits {
    /// Most rows of a batch.
    pub batch_rows: usize,
    /// How long a row may wait to be batched with others. With zero it waits only while all threads are busy.
    pub queue_delay: Duration,
    /// Most rows that may wait; requests beyond that are refused.
    pub queue_rows: usize,
    /// A request of this many rows or more is not batched with others.
    pub bypass_rows: usize,
}

/// Why a request got no predictions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BatchError {
    /// The queue of the model is full.
    #[error("{waiting} rows are already waiting for this model; the limit is {limit}")]
    Full {
        /// Rows in the queue that count against the limit.
        waiting: usize,
        /// [`BatchLimits::queue_rows`].
        limit: usize,
    },
    /// The request's deadline passed first.
    #[error("the deadline passed before the rows were computed")]
    Expired,
    /// The predictor panicked on these rows; the log has the panic.
    #[error("computing the predictions panicked")]
    Panicked,
}

/// One model with its queue of rows. Batches are computed on the threads of the pool, which all models share.
pub struct Batcher {
    predictor: Arc<Predictor>,
    limits: BatchLimits,
    pool: PredictionPool,
    meters: Arc<ModelMeters>,
    queue: Mutex<Queue>,
}

impl Batcher {
    /// A batcher whose queue is empty.
    pub fn new(
        predictor: Arc<Predictor>,
        limits: BatchLimits,
        pool: PredictionPool,
        meters: Arc<ModelMeters>,
    ) -> Arc<Self> {
        Arc::new(Self { predictor, limits, pool, meters, queue: Mutex::default() })
    }

    /// The predictions of a block of rows, batched with other waiting rows. Rows that are `exempt` from the queue limit
    /// are accepted when the queue is full and do not count against it: for callers that send one block at a time.
    pub async fn predict(
        self: &Arc<Self>,
        block: RequestRows,
        extras: Extras,
        deadline: Instant,
        exempt: bool,
    ) -> Result<Predictions, BatchError> {
        let replies = self.enqueue(block, extras, deadline, exempt)?;
        let mut guard = DisconnectGuard { meters: &self.meters, done: false };
        let mut parts = Vec::with_capacity(replies.len());
        let mut failed = None;
        // Wait for the last reply first: the others have mostly arrived by then, so the task is woken once.
        for reply in replies.into_iter().rev() {
            let outcome = tokio::time::timeout_at(deadline.into(), reply).await;
            let outcome = outcome.map_err(|_| BatchError::Expired);
            match outcome.and_then(|reply| reply.unwrap_or(Err(BatchError::Panicked))) {
                Ok(part) => parts.push(part),
                Err(error) => {
                    failed = Some(error);
                    break;
                }
            }
        }
        guard.done = true;
        parts.reverse();
        failed.map_or_else(|| Ok(joined(parts)), Err)
    }

    /// Adds the rows to the queue in pieces of at most one batch.
    fn enqueue(
        self: &Arc<Self>,
        block: RequestRows,
        extras: Extras,
        deadline: Instant,
        exempt: bool,
    ) -> Result<Vec<oneshot::Receiver<Result<Predictions, BatchError>>>, BatchError> {
        let (rows, since, block) = (block.len(), Instant::now(), Arc::new(block));
        let (counted, bulk) = (!exempt, rows >= self.limits.bypass_rows);
        let mut queue = self.lock();
        if counted {
            queue.admit(rows, self.limits.queue_rows, since)?;
        }
        let mut replies = Vec::new();
        for start in (0..rows).step_by(self.limits.batch_rows) {
            let (reply, receiver) = oneshot::channel();
            let range = start..rows.min(start + self.limits.batch_rows);
            let block = Arc::clone(&block);
            queue.push(QueuedRows { block, range, extras, since, deadline, counted, reply }, bulk);
            replies.push(receiver);
        }
        self.dispatch(queue, since);
        Ok(replies)
    }

    /// Requests threads for the rows in the queue, or sets a timer while they wait to be batched: a waiting row keeps no
    /// thread from other models.
    fn dispatch(self: &Arc<Self>, mut queue: MutexGuard<Queue>, now: Instant) {
        let threads = match queue.batching_deadline(&self.limits, now) {
            None => queue.request_threads(self.pool.threads()),
            Some(until) => {
                if queue.start_timer() {
                    let batcher = Arc::clone(self);
                    self.pool.run_at(until, move || {
                        let mut queue = batcher.lock();
                        queue.timer_fired();
                        batcher.dispatch(queue, Instant::now());
                    });
                }
                0
            }
        };
        self.meters.queued(queue.rows());
        drop(queue);
        for _ in 0..threads {
            let batcher = Arc::clone(self);
            self.pool.run(move || batcher.work());
        }
    }

    /// Computes one batch. If rows are left, a new task goes to the end of the pool's queue, so that models take turns.
    fn work(self: &Arc<Self>) {
        let batch = self.next_batch();
        let computed = !batch.is_empty();
        if computed {
            self.compute(batch);
        }
        let mut queue = self.lock();
        if computed {
            queue.finish_batch();
        }
        self.dispatch(queue, Instant::now());
    }

    fn next_batch(&self) -> Vec<QueuedRows> {
        let mut queue = self.lock();
        let batch = queue.take(&self.limits, Instant::now());
        self.meters.queued(queue.rows());
        batch
    }

    fn compute(&self, batch: Vec<QueuedRows>) {
        let start = Instant::now();
        for entry in &batch {
            self.meters.observe(PredictionStage::Queue, start - entry.since);
        }
        let outcomes: Vec<Result<Predictions, BatchError>> = match self.predict_together(&batch) {
            Ok(predictions) => {
                let mut first = 0;
                let cut = |entry: &QueuedRows| {
                    let rows = first..first + entry.rows();
                    first = rows.end;
                    Ok(part(&predictions, rows))
                };
                batch.iter().map(cut).collect()
            }
            // One request must not fail the others: each is computed alone.
            Err(_) if batch.len() > 1 => {
                batch.iter().map(|entry| self.predict_together(std::slice::from_ref(entry))).collect()
            }
            Err(error) => vec![Err(error)],
        };
        // Counted before it is sent: a client that has its answer finds it in the metrics.
        self.meters.observe(PredictionStage::Compute, start.elapsed());
        for (entry, outcome) in batch.into_iter().zip(outcomes) {
            entry.answer(outcome);
        }
    }

    fn predict_together(&self, batch: &[QueuedRows]) -> Result<Predictions, BatchError> {
        let rows: Vec<&[f64]> = batch.iter().flat_map(|entry| entry.block.slices(entry.range.clone())).collect();
        self.meters.batch(rows.len());
        let extras = batch.first().map(|entry| entry.extras).unwrap_or_default();
        catch_unwind(AssertUnwindSafe(|| self.predictor.compute(&rows, extras))).map_err(|_| BatchError::Panicked)
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Counts a client that disconnects: then the future of its request is dropped before it is done.
struct DisconnectGuard<'a> {
    meters: &'a ModelMeters,
    done: bool,
}

impl Drop for DisconnectGuard<'_> {
    fn drop(&mut self) {
        if !self.done {
            self.meters.shed(ShedReason::Disconnected);
        }
    }
}

/// A copy of some rows of predictions.
fn part(predictions: &Predictions, rows: Range<usize>) -> Predictions {
    let cut = |all: &Array2<f64>| all.slice(s![rows.clone(), ..]).to_owned();
    Predictions {
        values: cut(&predictions.values),
        spreads: predictions.spreads.as_ref().map(cut),
        error_bars: predictions.error_bars.as_ref().map(cut),
        contributions: predictions
            .contributions
            .as_ref()
            .map(|all| Contributions { baseline: all.baseline.clone(), shares: cut(&all.shares) }),
    }
}

/// The predictions of the pieces of one request, in order.
fn joined(mut parts: Vec<Predictions>) -> Predictions {
    if parts.len() == 1 {
        return parts.remove(0);
    }
    let join = |pick: &dyn Fn(&Predictions) -> Option<&Array2<f64>>| {
        let views: Option<Vec<ArrayView2<f64>>> = parts.iter().map(|part| pick(part).map(|all| all.view())).collect();
        views.and_then(|views| concatenate(Axis(0), &views).ok())
    };
    let shares = join(&|part| part.contributions.as_ref().map(|all| &all.shares));
    let baseline = parts.first().and_then(|part| part.contributions.as_ref()).map(|all| all.baseline.clone());
    Predictions {
        contributions: baseline.zip(shares).map(|(baseline, shares)| Contributions { baseline, shares }),
        values: join(&|part| Some(&part.values)).unwrap_or_default(),
        spreads: join(&|part| part.spreads.as_ref()),
        error_bars: join(&|part| part.error_bars.as_ref()),
    }
}
