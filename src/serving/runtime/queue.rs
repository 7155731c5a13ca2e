//! The queue of one model: small requests before large ones, which still get every fifth batch.

use crate::model::{Extras, Predictions};
use crate::serving::{BatchError, BatchLimits, RequestRows};
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

/// Batches of small requests between two of large ones.
const QUICK_TURNS: usize = 4;

/// Most entries skipped, because they ask for other outputs, while a batch is put together.
const PASSED_OVER: usize = 64;

/// A full queue is searched for abandoned entries at most this often.
const PURGE_INTERVAL: Duration = Duration::from_millis(10);

/// An entry of the queue: rows of one request, at most one batch of them.
pub(crate) struct QueuedRows {
    pub(crate) block: Arc<RequestRows>,
    pub(crate) range: Range<usize>,
    pub(crate) extras: Extras,
    pub(crate) since: Instant,
    pub(crate) deadline: Instant,
    /// Whether the rows count against the queue limit.
    pub(crate) counted: bool,
    pub(crate) reply: oneshot::Sender<Result<Predictions, BatchError>>,
}

impl QueuedRows {
    pub(crate) fn rows(&self) -> usize {
        self.range.len()
    }

    /// Whether the client has gone or the deadline has passed.
    fn is_abandoned(&self, now: Instant) -> bool {
        self.reply.is_closed() || now >= self.deadline
    }

    pub(crate) fn answer(self, outcome: Result<Predictions, BatchError>) {
        let _ = self.reply.send(outcome); // the client may have disconnected
    }
}

/// The entries of one model in two lanes, and how many threads are at work on them.
#[derive(Default)]
pub(crate) struct Queue {
    /// Small requests.
    quick: VecDeque<QueuedRows>,
    /// Pieces of requests too large to be batched with others.
    bulk: VecDeque<QueuedRows>,
    /// Batches taken from `quick` since the last one from `bulk`.
    quick_turns: usize,
    /// Rows in both lanes.
    rows: usize,
    /// Rows in both lanes that count against the limit.
    counted: usize,
    /// Tasks given to the pool that have not taken a batch yet.
    requested: usize,
    /// Threads that compute a batch.
    computing: usize,
    /// Whether a timer will dispatch the waiting rows.
    timer_running: bool,
    purged: Option<Instant>,
}

impl Queue {
    /// Rows in both lanes.
    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    /// Refuses a request that would take the queue over its limit. One larger than the limit is accepted when the queue
    /// is empty.
    pub(crate) fn admit(&mut self, rows: usize, limit: usize, now: Instant) -> Result<(), BatchError> {
        if self.is_full(rows, limit) && self.purged.is_none_or(|last| now >= last + PURGE_INTERVAL) {
            self.purge(now);
        }
        if self.is_full(rows, limit) { Err(BatchError::Full { waiting: self.counted, limit }) } else { Ok(()) }
    }

    fn is_full(&self, rows: usize, limit: usize) -> bool {
        self.counted > 0 && self.counted + rows > limit
    }

    /// Drops abandoned entries.
    fn purge(&mut self, now: Instant) {
        self.purged = Some(now);
        for bulk in [false, true] {
            let all = std::mem::take(self.lane(bulk));
            let (abandoned, alive): (VecDeque<QueuedRows>, VecDeque<QueuedRows>) =
                all.into_iter().partition(|e| e.is_abandoned(now));
            *self.lane(bulk) = alive;
            for entry in abandoned {
                self.drop_abandoned(entry);
            }
        }
    }

    pub(crate) fn push(&mut self, entry: QueuedRows, bulk: bool) {
        self.rows += entry.rows();
        self.counted += if entry.counted { entry.rows() } else { 0 };
        self.lane(bulk).push_back(entry);
    }

    /// How many more tasks to give to the pool: one for each waiting entry, while threads are idle.
    pub(crate) fn request_threads(&mut self, threads: usize) -> usize {
        let idle = threads.saturating_sub(self.requested + self.computing);
        let wanted = (self.quick.len() + self.bulk.len()).saturating_sub(self.requested).min(idle);
        self.requested += wanted;
        wanted
    }

    /// Notes that a timer runs; false if one ran already.
    pub(crate) fn start_timer(&mut self) -> bool {
        !std::mem::replace(&mut self.timer_running, true)
    }

    /// Notes that no timer runs any more.
    pub(crate) fn timer_fired(&mut self) {
        self.timer_running = false;
    }

    /// Until when the waiting rows may wait to be batched; none if a batch is due now.
    pub(crate) fn batching_deadline(&mut self, limits: &BatchLimits, now: Instant) -> Option<Instant> {
        // The deadline is that of the first row that is still wanted.
        while self.quick.front().is_some_and(|entry| entry.is_abandoned(now))
            && let Some(abandoned) = self.quick.pop_front()
        {
            self.drop_abandoned(abandoned);
        }
        // Large requests are not batched with others, so they do not wait.
        let first = self.quick.front().filter(|_| self.bulk.is_empty() && self.rows < limits.batch_rows)?;
        let until = (first.since + limits.queue_delay).min(first.deadline);
        (now < until).then_some(until)
    }

    /// The entries of the next batch: all ask for the same outputs. Abandoned ones are dropped. If any are left, the
    /// calling thread counts as computing until [`finish_batch`](Self::finish_batch).
    pub(crate) fn take(&mut self, limits: &BatchLimits, now: Instant) -> Vec<QueuedRows> {
        let bulk = self.is_turn_of_bulk();
        self.quick_turns = if bulk || self.bulk.is_empty() { 0 } else { self.quick_turns + 1 };
        let mut batch: Vec<QueuedRows> = Vec::new();
        let mut others = Vec::new();
        let mut rows = 0;
        while let Some(entry) = self.lane(bulk).pop_front() {
            let same = batch.first().is_none_or(|first| first.extras == entry.extras);
            let fits = batch.first().is_none_or(|first| {
                rows + entry.rows() <= limits.batch_rows && first.rows().max(entry.rows()) < limits.bypass_rows
            });
            if entry.is_abandoned(now) {
                self.drop_abandoned(entry);
            } else if same && fits {
                rows += entry.rows();
                self.uncount(&entry);
                batch.push(entry);
            } else if same || others.len() == PASSED_OVER {
                self.lane(bulk).push_front(entry);
                break;
            } else {
                others.push(entry);
            }
        }
        for entry in others.into_iter().rev() {
            self.lane(bulk).push_front(entry);
        }
        self.requested -= 1;
        self.computing += usize::from(!batch.is_empty());
        batch
    }

    /// Notes that a thread has computed its batch.
    pub(crate) fn finish_batch(&mut self) {
        self.computing -= 1;
    }

    fn is_turn_of_bulk(&self) -> bool {
        self.quick.is_empty() || (!self.bulk.is_empty() && self.quick_turns >= QUICK_TURNS)
    }

    fn lane(&mut self, bulk: bool) -> &mut VecDeque<QueuedRows> {
        if bulk { &mut self.bulk } else { &mut self.quick }
    }

    fn uncount(&mut self, entry: &QueuedRows) {
        self.rows -= entry.rows();
        self.counted -= if entry.counted { entry.rows() } else { 0 };
    }

    fn drop_abandoned(&mut self, entry: QueuedRows) {
        self.uncount(&entry);
        entry.answer(Err(BatchError::Expired));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: BatchLimits =
        BatchLimits { batch_rows: 8, queue_delay: Duration::from_secs(60), queue_rows: 16, bypass_rows: 4 };

    type Reply = oneshot::Receiver<Result<Predictions, BatchError>>;

    fn entry(rows: usize, spreads: bool) -> (QueuedRows, Reply) {
        let (reply, receiver) = oneshot::channel();
        let (since, extras) = (Instant::now(), Extras { spreads, ..Extras::default() });
        let deadline = since + Duration::from_secs(600);
        (QueuedRows { block: Arc::default(), range: 0..rows, extras, since, deadline, counted: true, reply }, receiver)
    }

    fn sizes(batch: &[QueuedRows]) -> Vec<usize> {
        batch.iter().map(QueuedRows::rows).collect()
    }

    #[test]
    fn a_row_that_comes_while_one_thread_computes_gets_the_idle_one() {
        let mut queue = Queue::default();
        let (first, _a) = entry(1, false);
        queue.push(first, false);
        assert_eq!(queue.request_threads(2), 1);
        assert_eq!(queue.take(&LIMITS, Instant::now()).len(), 1);
        let (second, _b) = entry(1, false);
        queue.push(second, false);
        assert_eq!((queue.request_threads(2), queue.request_threads(2)), (1, 0));
        assert_eq!(queue.take(&LIMITS, Instant::now()).len(), 1);
        let (third, _c) = entry(1, false);
        queue.push(third, false);
        assert_eq!(queue.request_threads(2), 0, "both threads compute");
        queue.finish_batch();
        assert_eq!(queue.request_threads(2), 1);
    }

    #[test]
    fn small_requests_go_first_and_large_ones_have_their_turn() {
        let mut queue = Queue::default();
        let mut replies = Vec::new();
        for (rows, bulk, count) in [(8, true, 3), (3, false, 12)] {
            for _ in 0..count {
                let (entry, reply) = entry(rows, false);
                queue.push(entry, bulk);
                replies.push(reply);
            }
        }
        let mut batches = Vec::new();
        while queue.rows() > 0 {
            queue.request_threads(1);
            batches.push(sizes(&queue.take(&LIMITS, Instant::now())));
            queue.finish_batch();
        }
        let quick = || vec![3, 3];
        let expected = [quick(), quick(), quick(), quick(), vec![8], quick(), quick(), vec![8], vec![8]];
        assert_eq!(batches, expected);
        assert_eq!((queue.counted, queue.computing, queue.requested), (0, 0, 0));
    }

    #[test]
    fn entries_that_ask_for_the_same_go_together_past_those_that_do_not() {
        let mut queue = Queue::default();
        let mut replies = Vec::new();
        for (rows, spreads) in [(1, false), (2, true), (3, false), (1, true)] {
            let (entry, reply) = entry(rows, spreads);
            queue.push(entry, false);
            replies.push(reply);
        }
        queue.request_threads(1);
        assert_eq!(sizes(&queue.take(&LIMITS, Instant::now())), [1, 3]);
        queue.request_threads(2);
        assert_eq!(sizes(&queue.take(&LIMITS, Instant::now())), [2, 1]);
    }

    #[test]
    fn abandoned_entries_make_room_and_exempt_ones_take_none() {
        let mut queue = Queue::default();
        let now = Instant::now();
        let (gone, reply) = entry(16, false);
        queue.push(gone, true);
        assert_eq!(queue.admit(1, 16, now), Err(BatchError::Full { waiting: 16, limit: 16 }));
        drop(reply);
        assert_eq!(queue.admit(1, 16, now + PURGE_INTERVAL), Ok(()));
        assert_eq!((queue.rows(), queue.counted), (0, 0));
        let (table, _table) = entry(8, false);
        queue.push(QueuedRows { counted: false, ..table }, true);
        let (small, _small) = entry(16, false);
        assert_eq!(queue.admit(16, 16, now), Ok(()));
        queue.push(small, true);
        assert_eq!((queue.rows(), queue.counted), (24, 16));
        assert!(queue.admit(1, 16, now).is_err());
    }

    #[test]
    fn rows_wait_for_a_batch_only_while_one_can_form() {
        let mut queue = Queue::default();
        let now = Instant::now();
        assert_eq!(queue.batching_deadline(&LIMITS, now), None);
        let (mut small, _small) = entry(1, false);
        small.deadline = now + Duration::from_secs(5);
        queue.push(small, false);
        assert_eq!(
            queue.batching_deadline(&LIMITS, now),
            Some(now + Duration::from_secs(5)),
            "at most until its deadline"
        );
        let (next, _next) = entry(1, false);
        let until = next.since + LIMITS.queue_delay;
        queue.push(next, false);
        assert_eq!(queue.batching_deadline(&LIMITS, now + Duration::from_secs(6)), Some(until), "the first is gone");
        assert_eq!(queue.rows(), 1);
        assert_eq!(queue.batching_deadline(&LIMITS, until), None);
        let mut queue = Queue::default();
        let (large, _large) = entry(LIMITS.bypass_rows, false);
        queue.push(large, true);
        assert_eq!(queue.batching_deadline(&LIMITS, now), None);
    }
}
