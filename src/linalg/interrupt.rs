//! Stops a long computation from outside, wherever it is.
//!
//! The caller runs the computation in [`stoppable`]. Inner loops call [`checkpoint`] at least once a second;
//! once a stop is asked for, it unwinds to there. [`super::in_parallel`] and the row blocks of the solver hand the signal
//! to the threads they start. docs/decisions/stop-by-unwinding.md says why this is not a parameter and an error.

use ndarray::linalg::general_mat_mul;
use ndarray::{Array2, ArrayView2, Axis};
use std::any::Any;
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, SendError, channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// Says whether the computation should stop; asked on any thread.
pub type StopSignal = Arc<dyn Fn() -> bool + Send + Sync>;

/// What a computation that was stopped unwinds with.
struct Stopped;

/// How often a thread that waits for LAPACK looks up.
const WAIT: Duration = Duration::from_millis(50);

thread_local! {
    static SIGNAL: RefCell<Option<StopSignal>> = const { RefCell::new(None) };
}

/// Runs `work` until it ends or `should_stop` says yes at a checkpoint, which gives none. Panics pass through.
pub fn stoppable<T>(should_stop: StopSignal, work: impl FnOnce() -> T) -> Option<T> {
    match catch_unwind(AssertUnwindSafe(|| with_signal(Some(should_stop), work))) {
        Ok(done) => Some(done),
        Err(payload) if is_stop(payload.as_ref()) => None,
        Err(payload) => resume_unwind(payload),
    }
}

/// Ends the computation here if a stop was asked for. Does nothing outside of [`stoppable`].
pub fn checkpoint() {
    if signal().is_some_and(|should_stop| should_stop()) {
        resume_unwind(Box::new(Stopped)); // no panic, so that nothing is logged
    }
}

/// The signal of this thread, to be given to a thread that it starts.
pub fn signal() -> Option<StopSignal> {
    SIGNAL.with_borrow(Clone::clone)
}

/// Runs `work` with this signal.
pub fn with_signal<T>(signal: Option<StopSignal>, work: impl FnOnce() -> T) -> T {
    struct Restore(Option<StopSignal>);
    impl Drop for Restore {
        fn drop(&mut self) {
            SIGNAL.set(self.0.take());
        }
    }
    let _before = Restore(SIGNAL.replace(signal));
    work()
}

/// Whether a thread unwound because the computation was stopped.
pub fn is_stop(payload: &(dyn Any + Send)) -> bool {
    payload.is::<Stopped>()
}

/// Runs `work` that has no checkpoints, such as a call into LAPACK, on a thread of its own, so that a stop need not wait
/// for it. The thread then goes on until its work is done, and keeps a core and its memory until then.
pub fn apart<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    if signal().is_none() {
        return work();
    }
    let (hand_over, taken) = channel();
    let (give_back, done) = channel();
    let thread = std::thread::Builder::new().name("bochner-lapack".into()).spawn(move || {
        if let Ok(work) = taken.recv() {
            let work: Box<dyn FnOnce() -> T + Send> = work;
            let _ = give_back.send(work()); // fails only if nobody waits any more
        }
    });
    // Without a thread nobody takes the work, and it is done here.
    if let Err(SendError(work)) = hand_over.send(Box::new(work)) {
        return work();
    }
    loop {
        match done.recv_timeout(WAIT) {
            Ok(done) => return done,
            Err(RecvTimeoutError::Timeout) => checkpoint(),
            Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    match thread.map(JoinHandle::join) {
        Ok(Err(panic)) => resume_unwind(panic),
        Ok(Ok(())) | Err(_) => resume_unwind(Box::new("a thread ended without its result")),
    }
}

/// Multiplications of a product between two checkpoints: about a tenth of a second.
const PRODUCT_AT_ONCE: usize = 1 << 30;

/// AB, in strips of columns with a checkpoint before each where the whole takes long.
pub fn product_in_strips(a: ArrayView2<f64>, b: ArrayView2<f64>) -> Array2<f64> {
    let of_column = a.len().max(1);
    if of_column.saturating_mul(b.ncols()) <= PRODUCT_AT_ONCE {
        return a.dot(&b);
    }
    let width = (PRODUCT_AT_ONCE / of_column).max(1);
    let mut product = Array2::zeros((a.nrows(), b.ncols()));
    let strips = product.axis_chunks_iter_mut(Axis(1), width).zip(b.axis_chunks_iter(Axis(1), width));
    for (mut product, b) in strips {
        checkpoint();
        general_mat_mul(1.0, &a, &b, 0.0, &mut product);
    }
    product
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::in_parallel;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Instant;

    /// A signal that says stop after it was asked so many times.
    fn after(asked: usize) -> StopSignal {
        let count = AtomicUsize::new(0);
        Arc::new(move || count.fetch_add(1, Ordering::Relaxed) >= asked)
    }

    #[test]
    fn a_checkpoint_ends_the_work_once_a_stop_is_asked_for() {
        checkpoint(); // outside, nothing happens
        let mut rounds = 0;
        let stopped = stoppable(after(5), || {
            (0..100).for_each(|_| {
                checkpoint();
                rounds += 1;
            });
        });
        assert_eq!((stopped, rounds), (None, 5));
        assert_eq!(stoppable(Arc::new(|| false), || 7), Some(7));
        assert!(signal().is_none(), "the signal is gone with its work");
        let panic = catch_unwind(|| stoppable(Arc::new(|| false), || resume_unwind(Box::new("other"))));
        assert_eq!(panic.err().and_then(|payload| payload.downcast::<&str>().ok()), Some(Box::new("other")));
    }

    #[test]
    fn threads_have_the_signal_of_the_one_that_started_them() {
        for threads in [1, 3] {
            let done = AtomicUsize::new(0);
            let outcome = stoppable(after(20), || {
                in_parallel(threads, (0..1000).collect(), |_| {
                    done.fetch_add(1, Ordering::Relaxed);
                });
            });
            assert!(outcome.is_none() && done.load(Ordering::Relaxed) <= 20);
        }
    }

    #[test]
    fn a_long_product_asks_between_its_strips() {
        let a = Array2::from_shape_fn((1_100, 1_000), |(i, j)| ((i * 7 + j * 3) % 5) as f64);
        let b = Array2::from_shape_fn((1_000, 1_100), |(i, j)| ((i * 2 + j) % 7) as f64);
        let asked = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&asked);
        let signal: StopSignal = Arc::new(move || {
            count.fetch_add(1, Ordering::Relaxed);
            false
        });
        // Whole numbers, so that both are exact.
        assert_eq!(stoppable(signal, || product_in_strips(a.view(), b.view())), Some(a.dot(&b)));
        assert_eq!(asked.load(Ordering::Relaxed), 2);
        assert!(stoppable(after(1), || product_in_strips(a.view(), b.view())).is_none());
        let few = a.slice(ndarray::s![..3, ..]);
        assert_eq!(stoppable(after(0), || product_in_strips(few, b.view())), Some(few.dot(&b)));
    }

    #[test]
    fn a_stop_does_not_wait_for_work_without_checkpoints() {
        let nap = || std::thread::sleep(Duration::from_secs(5));
        let start = Instant::now();
        assert!(stoppable(after(2), || apart(nap)).is_none());
        assert!(start.elapsed() < Duration::from_secs(2));
        assert_eq!(stoppable(Arc::new(|| false), || apart(|| 7)), Some(7));
        assert_eq!(apart(|| 7), 7);
    }
}
