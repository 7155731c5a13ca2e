//! The processor time of work, on all threads of this process.

use std::time::Instant;

/// What the work gives, and its seconds; by the clock where the system does not tell processor times.
pub(crate) fn of<T>(work: impl FnOnce() -> T) -> (T, f64) {
    let (start, before) = (Instant::now(), used());
    let done = work();
    let seconds = before.zip(used()).map_or_else(|| start.elapsed().as_secs_f64(), |(before, after)| after - before);
    (done, seconds)
}

/// User and system seconds of this process since its start, in the hundredths of a second that Linux counts.
fn used() -> Option<f64> {
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    // The name of the process, in brackets, may have spaces; user and system time are the 12th and 13th field after it.
    let (_, fields) = stat.rsplit_once(") ")?;
    let mut fields = fields.split(' ').skip(11);
    let mut ticks = || fields.next()?.parse::<f64>().ok();
    Some((ticks()? + ticks()?) / 100.0)
}
