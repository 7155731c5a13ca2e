//! The prediction threads, separate from those that train and those that serve sockets.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;
use tokio::runtime::Handle;

type ThreadTask = Box<dyn FnOnce() + Send>;

/// A handle to the prediction threads, which end with the last handle. Tasks run in the order they are given; the queues
/// of the models limit how many there are.
#[derive(Clone)]
pub struct PredictionPool {
    tasks: Sender<ThreadTask>,
    runtime: Handle,
    threads: usize,
}

impl PredictionPool {
    /// Starts the threads; `runtime` keeps the time for [`run_at`](Self::run_at).
    pub fn start(threads: usize, runtime: Handle) -> std::io::Result<Self> {
        let (tasks, waiting) = channel();
        let waiting = Arc::new(Mutex::new(waiting));
        for number in 0..threads {
            let waiting = Arc::clone(&waiting);
            std::thread::Builder::new().name(format!("predict-{number}")).spawn(move || work(&waiting))?;
        }
        Ok(Self { tasks, runtime, threads })
    }

    /// Runs a short task at a time, to the millisecond, on a thread of the async runtime: one that predicts must not
    /// wait while other models have rows.
    pub(super) fn run_at(&self, time: Instant, task: impl FnOnce() + Send + 'static) {
        self.runtime.spawn(async move {
            tokio::time::sleep_until(time.into()).await;
            task();
        });
    }

    /// The number of prediction threads.
    pub fn threads(&self) -> usize {
        self.threads
    }

    /// Runs a task as soon as a thread is free.
    pub fn run(&self, task: impl FnOnce() + Send + 'static) {
        // The threads live as long as this handle, so that there always is a receiver.
        let _ = self.tasks.send(Box::new(task));
    }
}

fn work(waiting: &Mutex<Receiver<ThreadTask>>) {
    loop {
        let task = waiting.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(task) = task else { return };
        // The waiting request learns of the panic from its dropped reply; the thread goes on.
        if catch_unwind(AssertUnwindSafe(task)).is_err() {
            tracing::error!("a prediction task panicked");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;
    use tokio::sync::mpsc;

    #[tokio::test]
    async fn tasks_run_in_the_order_of_their_times_and_not_before() {
        let pool = PredictionPool::start(1, Handle::current()).unwrap();
        let (ran, mut order) = mpsc::unbounded_channel();
        let start = Instant::now();
        for milliseconds in [60, 20, 40] {
            let ran = ran.clone();
            let time = start + Duration::from_millis(milliseconds);
            pool.run_at(time, move || ran.send((milliseconds, Instant::now() >= time)).unwrap());
        }
        for milliseconds in [20, 40, 60] {
            assert_eq!(order.recv().await, Some((milliseconds, true)));
        }
    }
}
