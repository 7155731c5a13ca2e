//! Who goes first on a full machine.

/// Gives this thread, and those it starts, the lowest priority: on a full machine a prediction of microseconds must
/// not wait for a training of minutes. Linux knows priorities of threads; elsewhere, or where it is refused, jobs run
/// as everything else does.
pub(super) fn step_back() {
    #[cfg(target_os = "linux")]
    {
        const LOWEST: i32 = 19;
        let this_thread = Some(rustix::thread::gettid());
        if let Err(error) = rustix::process::setpriority_process(this_thread, LOWEST) {
            tracing::debug!(%error, "jobs keep the usual priority");
        }
    }
}
