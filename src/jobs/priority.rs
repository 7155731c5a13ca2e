//! The priority of worker threads.

/// Lowers the priority of this thread and of those it starts, so that predictions are not delayed by training when all
/// cores are busy. Only Linux has priorities per thread; elsewhere, or where it is refused, the priority stays as it is.
pub(super) fn lower_priority() {
    #[cfg(target_os = "linux")]
    {
        const NICENESS: i32 = 10; // about a tenth of a core beside a busy thread of usual priority
        let this_thread = Some(rustix::thread::gettid());
        if let Err(error) = rustix::process::setpriority_process(this_thread, NICENESS) {
            tracing::debug!(%error, "the priority of training threads could not be lowered");
        }
    }
}
