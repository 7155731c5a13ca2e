//! Work on the pieces of a matrix in parallel.

use super::{checkpoint, signal, with_signal};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Mutex, PoisonError};

/// Runs `work` on every item, on up to `threads` threads. The items do not depend on the number of threads and do not
/// overlap, so neither do the bits of the result. There is a checkpoint before every item; what one thread unwinds with
/// ends the work of all.
pub fn in_parallel<I: Send>(threads: usize, items: Vec<I>, work: impl Fn(I) + Sync) {
    let helpers = threads.min(items.len()).saturating_sub(1);
    let items = Mutex::new(Some(items.into_iter()));
    let unwound = Mutex::new(None);
    let run = || {
        let all_of_it = AssertUnwindSafe(|| {
            while let Some(item) = next(&items) {
                checkpoint();
                work(item);
            }
        });
        if let Err(payload) = catch_unwind(all_of_it) {
            *items.lock().unwrap_or_else(PoisonError::into_inner) = None;
            unwound.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(payload);
        }
    };
    let signal = signal();
    std::thread::scope(|scope| {
        for _ in 0..helpers {
            let run = || with_signal(signal.clone(), run);
            if std::thread::Builder::new().name("bochner-matrix".into()).spawn_scoped(scope, run).is_err() {
                break; // the system has no more threads: those that started do all the work
            }
        }
        run();
    });
    if let Some(payload) = unwound.into_inner().unwrap_or_else(PoisonError::into_inner) {
        resume_unwind(payload);
    }
}

fn next<I>(items: &Mutex<Option<std::vec::IntoIter<I>>>) -> Option<I> {
    items.lock().unwrap_or_else(PoisonError::into_inner).as_mut()?.next()
}
