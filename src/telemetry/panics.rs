//! Panics that are expected, such as those of a decoder on hostile bytes: they are caught and kept out of the log.
//! All other panics are reported as usual.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Once;

thread_local! {
    /// Whether this thread runs work that may panic.
    static EXPECTED: Cell<bool> = const { Cell::new(false) };
}

/// The result of the work, or none if it panics.
pub(crate) fn expecting_panics<T>(work: impl FnOnce() -> T) -> Option<T> {
    static QUIET: Once = Once::new();
    QUIET.call_once(|| {
        let report = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            if EXPECTED.get() {
                tracing::debug!(%panic, "an expected panic was caught");
            } else {
                report(panic);
            }
        }));
    });
    let before = EXPECTED.replace(true);
    let outcome = catch_unwind(AssertUnwindSafe(work));
    EXPECTED.set(before);
    outcome.ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_ends_only_the_work() {
        assert_eq!(expecting_panics(|| 7), Some(7));
        assert_eq!(expecting_panics(|| -> i32 { panic!("not to be seen") }), None);
        assert!(!EXPECTED.get());
        let nested = expecting_panics(|| (expecting_panics(|| -> i32 { panic!("not to be seen") }), EXPECTED.get()));
        assert_eq!(nested, Some((None, true)));
    }
}
