//! Panics that are expected: those of a decoder fed with hostile bytes. They are caught, and must not fill the log; all
//! others are told as ever.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Once;

thread_local! {
    /// Whether this thread is at work of which a panic is expected.
    static EXPECTED: Cell<bool> = const { Cell::new(false) };
}

/// What the work gives; none where it panics.
pub(crate) fn expecting_panics<T>(work: impl FnOnce() -> T) -> Option<T> {
    static QUIET: Once = Once::new();
    QUIET.call_once(|| {
        let tell = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            if EXPECTED.get() {
                tracing::debug!(%panic, "hostile bytes made a decoder panic");
            } else {
                tell(panic);
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
    fn a_panic_ends_the_work_alone() {
        assert_eq!(expecting_panics(|| 7), Some(7));
        assert_eq!(expecting_panics(|| -> i32 { panic!("not to be seen") }), None);
        assert!(!EXPECTED.get());
        let nested = expecting_panics(|| (expecting_panics(|| -> i32 { panic!("not to be seen") }), EXPECTED.get()));
        assert_eq!(nested, Some((None, true)));
    }
}
