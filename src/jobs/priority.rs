//! Who goes first on a full machine.

/// Gives this thread, and those it starts, a low priority: on a full machine a prediction of microseconds must
/// not wait for a training of minutes. Linux knows priorities of threads; elsewhere, or where it is refused, jobs run
/// as everything else does.
pub(super) fn step_back() {
    #[cfg(target_os = "linux")]
    {
        const NICENESS: i32 = 10; // a tenth of the time beside someone who wants all of it
        let this_thread = Some(rustix::thread::gettid());
        if let Err(error) = rustix::process::setpriority_process(this_thread, NICENESS) {
            tracing::debug!(%error, "jobs keep the usual priority");
        }
    }
}
