//! Tasks for later, on a thread of their own: one that predicts must not wait while others have rows.

use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Instant;

type Task = Box<dyn FnOnce() + Send>;

/// A handle to the thread, which ends with the last handle and the last task.
#[derive(Clone)]
pub(crate) struct Timer(Sender<(Instant, Task)>);

impl Timer {
    /// Starts the thread.
    pub(crate) fn start() -> std::io::Result<Self> {
        let (tasks, coming) = channel();
        std::thread::Builder::new().name("predict-timer".into()).spawn(move || wait(&coming))?;
        Ok(Self(tasks))
    }

    /// Runs a short task when the time has come.
    pub(crate) fn run_at(&self, time: Instant, task: impl FnOnce() + Send + 'static) {
        let _ = self.0.send((time, Box::new(task))); // the thread lives as long as this handle
    }
}

fn wait(coming: &Receiver<(Instant, Task)>) {
    let mut due: BTreeMap<(Instant, u64), Task> = BTreeMap::new();
    let mut number = 0; // tells tasks of the same instant apart
    loop {
        let next = match due.first_entry() {
            None => coming.recv().map_err(|_| RecvTimeoutError::Disconnected),
            Some(first) => {
                let patience = first.key().0.saturating_duration_since(Instant::now());
                if patience.is_zero() {
                    first.remove()();
                    continue;
                }
                coming.recv_timeout(patience)
            }
        };
        match next {
            Ok((time, task)) => {
                number += 1;
                due.insert((time, number), task);
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn tasks_run_in_the_order_of_their_times_and_not_before() {
        let timer = Timer::start().unwrap();
        let (ran, order) = channel();
        let start = Instant::now();
        for milliseconds in [60, 20, 40, 20] {
            let ran = ran.clone();
            timer.run_at(start + Duration::from_millis(milliseconds), move || {
                ran.send((milliseconds, start.elapsed())).unwrap();
            });
        }
        let order: Vec<(u64, Duration)> = order.iter().take(4).collect();
        assert_eq!(order.iter().map(|(milliseconds, _)| *milliseconds).collect::<Vec<_>>(), [20, 20, 40, 60]);
        assert!(order.iter().all(|(milliseconds, after)| *after >= Duration::from_millis(*milliseconds)));
    }
}
