//! Threads that predict, apart from those that train and those that serve sockets.

use super::timer::Timer;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

type Task = Box<dyn FnOnce() + Send>;

/// A handle to the prediction threads, which end with the last handle. Tasks run in the order they come; what may
/// wait is limited where tasks are made.
#[derive(Clone)]
pub struct PredictionPool {
    tasks: Sender<Task>,
    timer: Timer,
    threads: usize,
}

impl PredictionPool {
    /// Starts the threads.
    pub fn start(threads: usize) -> std::io::Result<Self> {
        let (tasks, waiting) = channel();
        let waiting = Arc::new(Mutex::new(waiting));
        for number in 0..threads {
            let waiting = Arc::clone(&waiting);
            std::thread::Builder::new().name(format!("predict-{number}")).spawn(move || work(&waiting))?;
        }
        Ok(Self { tasks, timer: Timer::start()?, threads })
    }

    /// Runs a short task when the time has come, on none of the threads.
    pub(crate) fn run_at(&self, time: Instant, task: impl FnOnce() + Send + 'static) {
        self.timer.run_at(time, task);
    }

    /// How many threads there are.
    pub fn threads(&self) -> usize {
        self.threads
    }

    /// Runs a task as soon as a thread is free.
    pub fn run(&self, task: impl FnOnce() + Send + 'static) {
        // The threads live as long as this handle, so that there always is a receiver.
        let _ = self.tasks.send(Box::new(task));
    }
}

fn work(waiting: &Mutex<Receiver<Task>>) {
    loop {
        let task = waiting.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(task) = task else { return };
        // A task tells its own panics to whoever waits for it; the thread goes on.
        if catch_unwind(AssertUnwindSafe(task)).is_err() {
            tracing::error!("a prediction task panicked");
        }
    }
}
