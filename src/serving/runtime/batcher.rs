//! Concurrent requests for one model, merged into one matrix product.

use super::queue::{Queue, QueuedRows};
use crate::model::{Extras, Predictions, Predictor};
use crate::serving::{PredictionPool, RequestRows};
use crate::telemetry::{ModelMeters, ShedReason};
use ndarray::{Array2, ArrayView2, Axis, concatenate, s};
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

/// How requests are merged.
#[derive(Debug, Clone, Copy)]
pub struct BatchLimits {
    /// Rows computed at once.
    pub batch_rows: usize,
    /// How long a row may wait for company. With zero it waits only while all threads are busy.
    pub queue_delay: Duration,
    /// Rows that may wait; more are refused.
    pub queue_rows: usize,
    /// A request of so many rows is a batch by itself.
    pub bypass_rows: usize,
}

/// Why a request got no predictions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BatchError {
    /// Too many rows wait already.
    #[error("{waiting} rows wait for this model already, of at most {limit}")]
    Full {
        /// Rows.
        waiting: usize,
        /// Rows.
        limit: usize,
    },
    /// The deadline passed before the rows were computed.
    #[error("the deadline passed before the rows were computed")]
    Expired,
    /// Computing these rows panicked.
    #[error("computing the predictions panicked")]
    Panicked,
}

/// The queue of one model.
pub struct Batcher {
    predictor: Arc<Predictor>,
    limits: BatchLimits,
    pool: PredictionPool,
    meters: Arc<ModelMeters>,
    queue: Mutex<Queue>,
}

impl Batcher {
    /// An empty queue.
    pub fn new(
        predictor: Arc<Predictor>,
        limits: BatchLimits,
        pool: PredictionPool,
        meters: Arc<ModelMeters>,
    ) -> Arc<Self> {
        Arc::new(Self { predictor, limits, pool, meters, queue: Mutex::default() })
    }

    /// The predictions of a block of rows, computed together with what else is waiting. With `patient` the rows are
    /// taken even when too many wait, and take no room from others: for callers that bring one block at a time.
    pub async fn predict(
        self: &Arc<Self>,
        block: RequestRows,
        extras: Extras,
        deadline: Instant,
        patient: bool,
    ) -> Result<Predictions, BatchError> {
        let replies = self.enqueue(block, extras, deadline, patient)?;
        let mut waiting = Waiting { meters: &self.meters, over: false };
        let mut parts = Vec::with_capacity(replies.len());
        let mut failed = None;
        // The last is waited for first: by then the others have mostly come, and nobody is woken for each.
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
        waiting.over = true;
        parts.reverse();
        failed.map_or_else(|| Ok(joined(parts)), Err)
    }

    /// Puts the rows into the queue, cut into batches.
    fn enqueue(
        self: &Arc<Self>,
        block: RequestRows,
        extras: Extras,
        deadline: Instant,
        patient: bool,
    ) -> Result<Vec<oneshot::Receiver<Result<Predictions, BatchError>>>, BatchError> {
        let (rows, since, block) = (block.len(), Instant::now(), Arc::new(block));
        let (counted, bulk) = (!patient, rows >= self.limits.bypass_rows);
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
        self.call(queue, since);
        Ok(replies)
    }

    /// Calls threads for what waits. While it waits for company none is taken from other models.
    fn call(self: &Arc<Self>, mut queue: MutexGuard<Queue>, now: Instant) {
        let called = match queue.patience(&self.limits, now) {
            None => queue.call(self.pool.threads()),
            Some(until) => {
                if queue.begin_timing() {
                    let batcher = Arc::clone(self);
                    self.pool.run_at(until, move || {
                        let mut queue = batcher.lock();
                        queue.end_timing();
                        batcher.call(queue, Instant::now());
                    });
                }
                0
            }
        };
        self.meters.queued(queue.rows());
        drop(queue);
        self.schedule(called);
    }

    fn schedule(self: &Arc<Self>, threads: usize) {
        for _ in 0..threads {
            let batcher = Arc::clone(self);
            self.pool.run(move || batcher.work());
        }
    }

    /// Computes one batch, then goes to the end of the pool's line if more waits: models take turns.
    fn work(self: &Arc<Self>) {
        let batch = self.next_batch();
        let computed = !batch.is_empty();
        if computed {
            self.compute(batch);
        }
        let mut queue = self.lock();
        if computed {
            queue.computed();
        }
        self.call(queue, Instant::now());
    }

    /// Takes entries that go together.
    fn next_batch(&self) -> Vec<QueuedRows> {
        let mut queue = self.lock();
        let batch = queue.take(&self.limits, Instant::now());
        self.meters.queued(queue.rows());
        batch
    }

    fn compute(&self, batch: Vec<QueuedRows>) {
        let start = Instant::now();
        for entry in &batch {
            self.meters.queue.observe(start - entry.since);
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
            // Whatever it was, one request must not fail the others.
            Err(_) if batch.len() > 1 => {
                batch.iter().map(|entry| self.predict_together(std::slice::from_ref(entry))).collect()
            }
            Err(error) => vec![Err(error)],
        };
        // Who has an answer finds it counted.
        self.meters.compute.observe(start.elapsed());
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

/// A request that waits. Dropped before its end, its sender has gone away.
struct Waiting<'a> {
    meters: &'a ModelMeters,
    over: bool,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        if !self.over {
            self.meters.shed(ShedReason::Disconnected);
        }
    }
}

/// Some rows of predictions.
fn part(predictions: &Predictions, rows: Range<usize>) -> Predictions {
    let cut = |all: &Array2<f64>| all.slice(s![rows.clone(), ..]).to_owned();
    Predictions {
        values: cut(&predictions.values),
        spreads: predictions.spreads.as_ref().map(cut),
        error_bars: predictions.error_bars.as_ref().map(cut),
    }
}

/// Parts of a request, one after the other.
fn joined(mut parts: Vec<Predictions>) -> Predictions {
    if parts.len() == 1 {
        return parts.remove(0);
    }
    let join = |pick: &dyn Fn(&Predictions) -> Option<&Array2<f64>>| {
        let views: Option<Vec<ArrayView2<f64>>> = parts.iter().map(|part| pick(part).map(|all| all.view())).collect();
        views.and_then(|views| concatenate(Axis(0), &views).ok())
    };
    Predictions {
        values: join(&|part| Some(&part.values)).unwrap_or_default(),
        spreads: join(&|part| part.spreads.as_ref()),
        error_bars: join(&|part| part.error_bars.as_ref()),
    }
}
