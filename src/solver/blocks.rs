//! Work on row blocks in parallel, committed in order.
//!
//! Floating-point sums depend on their order. Each worker produces whole blocks privately and adds
//! them to the shared result when their turn comes, so the result is the same bit for bit for any
//! number of threads, and only one accumulator is ever held.

use crate::linalg::{checkpoint, is_stop, signal, with_signal};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};

/// The work stopped before the last block.
#[derive(Debug)]
pub enum Interrupted<E> {
    /// A block failed.
    Failed(E),
    /// A worker panicked; its message went to the log.
    Panicked,
}

/// Runs `produce` on the blocks `0..block_count` on up to `threads` threads, each with its own
/// scratch, and `commit`s every produced block into `total` in increasing order. There is a checkpoint
/// before every block.
pub fn in_order<S, A, E>(
    threads: usize,
    block_count: usize,
    scratch: impl Fn() -> S + Sync,
    produce: impl Fn(usize, &mut S) -> Result<(), E> + Sync,
    total: A,
    commit: impl Fn(usize, &S, &mut A) -> Result<(), E> + Sync,
) -> Result<A, Interrupted<E>>
where
    A: Send,
    E: Send,
{
    let next_block = AtomicUsize::new(0);
    let turn = Mutex::new(Turn { block: 0, total, failure: None });
    let turned = Condvar::new();

    let work = || {
        let mut scratch = scratch();
        let on_panic = StopOnPanic { turn: &turn, turned: &turned };
        loop {
            let block = next_block.fetch_add(1, Ordering::Relaxed);
            if block >= block_count {
                break;
            }
            checkpoint();
            let produced = produce(block, &mut scratch);
            let mut state = turn.lock().unwrap_or_else(PoisonError::into_inner);
            while state.block != block && state.failure.is_none() {
                state = turned.wait(state).unwrap_or_else(PoisonError::into_inner);
            }
            if state.failure.is_some() {
                break;
            }
            let outcome = produced.and_then(|()| commit(block, &scratch, &mut state.total));
            if let Err(error) = outcome {
                state.failure = Some(Interrupted::Failed(error));
            }
            state.block += 1;
            drop(state);
            turned.notify_all();
        }
        std::mem::forget(on_panic);
    };

    let (signal, stopped) = (signal(), Mutex::new(None));
    let apart = || {
        if let Err(payload) = catch_unwind(AssertUnwindSafe(|| with_signal(signal.clone(), work)))
            && is_stop(payload.as_ref())
        {
            stopped.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(payload);
        }
    };
    std::thread::scope(|scope| {
        // The calling thread is one of the workers.
        for number in 1..threads.min(block_count) {
            let name = format!("bochner-block-{number}");
            if std::thread::Builder::new().name(name).spawn_scoped(scope, apart).is_err() {
                break; // no more threads to be had: fewer do the same work
            }
        }
        work();
    });
    if let Some(payload) = stopped.into_inner().unwrap_or_else(PoisonError::into_inner) {
        resume_unwind(payload);
    }

    let state = turn.into_inner().unwrap_or_else(PoisonError::into_inner);
    match state.failure {
        None => Ok(state.total),
        Some(failure) => Err(failure),
    }
}

struct Turn<A, E> {
    block: usize,
    total: A,
    failure: Option<Interrupted<E>>,
}

/// Wakes the other workers when one panics: its block would never get its turn.
struct StopOnPanic<'a, A, E> {
    turn: &'a Mutex<Turn<A, E>>,
    turned: &'a Condvar,
}

impl<A, E> Drop for StopOnPanic<'_, A, E> {
    fn drop(&mut self) {
        let mut state = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        state.failure.get_or_insert(Interrupted::Panicked);
        drop(state);
        self.turned.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order_of_commits(threads: usize, fail_at: usize) -> Result<Vec<usize>, Interrupted<usize>> {
        in_order(
            threads,
            50,
            || 0,
            |block, scratch: &mut usize| {
                *scratch = block * 2;
                if block == fail_at { Err(block) } else { Ok(()) }
            },
            Vec::new(),
            |block, scratch, commits| {
                assert_eq!(*scratch, block * 2);
                commits.push(block);
                Ok(())
            },
        )
    }

    #[test]
    fn blocks_are_committed_in_order_for_any_thread_count() {
        for threads in [1, 2, 7] {
            assert_eq!(order_of_commits(threads, usize::MAX).unwrap(), (0..50).collect::<Vec<_>>());
        }
    }

    #[test]
    fn the_first_failure_stops_the_work() {
        for threads in [1, 3] {
            assert!(matches!(order_of_commits(threads, 17), Err(Interrupted::Failed(17))));
        }
    }

    #[test]
    fn a_panic_reaches_the_caller_and_blocks_nobody() {
        let outcome = std::panic::catch_unwind(|| {
            in_order(
                3,
                20,
                || (),
                |block, ()| -> Result<(), ()> {
                    assert!(block != 5);
                    Ok(())
                },
                (),
                |_, (), ()| Ok(()),
            )
        });
        assert!(matches!(outcome, Err(_) | Ok(Err(Interrupted::Panicked))));
    }
}
