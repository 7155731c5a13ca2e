//! Work on the pieces of a matrix in parallel.

use std::sync::{Mutex, PoisonError};

/// Runs `work` on every item, on up to `threads` threads. The items do not depend on the number of threads and do not
/// overlap, so neither do the bits of the result.
pub fn in_parallel<I: Send>(threads: usize, items: Vec<I>, work: impl Fn(I) + Sync) {
    let helpers = threads.min(items.len()).saturating_sub(1);
    let items = Mutex::new(items.into_iter());
    let run = || {
        while let Some(item) = next(&items) {
            work(item);
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..helpers {
            if std::thread::Builder::new().name("bochner-matrix".into()).spawn_scoped(scope, run).is_err() {
                break; // the system has no more threads: those that started do all the work
            }
        }
        run();
    });
}

fn next<I>(items: &Mutex<std::vec::IntoIter<I>>) -> Option<I> {
    items.lock().unwrap_or_else(PoisonError::into_inner).next()
}
