//! How far a long command is: a bar on a terminal, plain lines elsewhere. Ctrl-C asks the command to stop.

use crate::training::{Observer, Stage};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Plain lines are printed at every tenth.
const TENTHS: usize = 10;

/// The progress of one command on standard error.
pub(super) struct ProgressLine {
    /// Only on a terminal.
    bar: Option<ProgressBar>,
    /// What is counted.
    unit: &'static str,
    total: usize,
    /// Tenths that were printed.
    printed: AtomicUsize,
    started: Instant,
    stop: Arc<AtomicBool>,
}

impl ProgressLine {
    /// Starts at 0 of `total`.
    pub(super) fn start(unit: &'static str, total: usize) -> Self {
        let bar = std::io::stderr().is_terminal().then(|| {
            let bar = ProgressBar::with_draw_target(Some(total as u64), ProgressDrawTarget::stderr());
            let template = format!("{{bar:25}} {{percent:>3}}%  {{pos}} of {{len}} {unit}, about {{eta}} left");
            bar.with_style(ProgressStyle::with_template(&template).unwrap_or_else(|_| ProgressStyle::default_bar()))
        });
        if let Some(bar) = &bar {
            bar.enable_steady_tick(Duration::from_millis(500));
        }
        let stop = Arc::new(AtomicBool::new(false));
        stop_on_interrupt(stop.clone());
        Self { bar, unit, total, printed: AtomicUsize::new(0), started: Instant::now(), stop }
    }

    /// Takes the bar away.
    pub(super) fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }

    /// How far a job of a service is, by its own account: its part, what it is at, and the seconds that are left.
    pub(super) fn show(&self, fraction: f64, stage: &str, left: Option<f64>) {
        let left = left.filter(|left| *left >= 1.0).map(|left| format!(", about {left:.0} s left")).unwrap_or_default();
        if let Some(bar) = &self.bar {
            if let Ok(style) = ProgressStyle::with_template("{bar:20} {percent:>3}%  {msg}") {
                bar.set_style(style);
            }
            bar.set_message(format!("{stage}{left}"));
            return bar.set_position((fraction * self.total as f64) as u64);
        }
        let tenth = (fraction * TENTHS as f64) as usize;
        if tenth > self.printed.fetch_max(tenth, Ordering::Relaxed) {
            eprintln!("{:.0}%, {stage}{left}", 100.0 * fraction);
        }
    }
}

/// A stage of a job as people say it.
pub(super) fn stage_in_words(stage: &str) -> &str {
    match stage {
        "scale" => "scaling the columns",
        "search" => "searching kernel and λ",
        "choose" => "choosing features",
        "accumulate" => "reading rows",
        "solve" => "solving",
        "evaluate" => "measuring errors",
        "certify" => "comparing with the exact method",
        "publish" => "writing the model",
        other => other,
    }
}

impl Observer for ProgressLine {
    fn progress(&self, _: Stage, fraction: f64) {
        let done = (fraction * self.total as f64).round() as usize;
        if let Some(bar) = &self.bar {
            return bar.set_position(done as u64);
        }
        let tenth = (fraction * TENTHS as f64) as usize;
        if tenth > self.printed.fetch_max(tenth, Ordering::Relaxed) {
            let elapsed = self.started.elapsed().as_secs_f64();
            let left = elapsed * (1.0 - fraction) / fraction;
            eprintln!("{done} of {} {}, {elapsed:.0} s so far, about {left:.0} s left", self.total, self.unit);
        }
    }

    fn should_stop(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

/// How many files or bytes are done, on standard error: a bar on a terminal, and lines elsewhere once it takes long.
pub(super) struct CountLine {
    bar: Option<ProgressBar>,
    /// What is counted.
    unit: &'static str,
    /// Tenths that were printed.
    printed: AtomicUsize,
    started: Instant,
}

impl CountLine {
    /// Lines are printed after this time; what is quick needs none.
    const LONG: Duration = Duration::from_secs(5);

    /// A bar would come between lines of results on the same terminal, so that `with_bar` says whether there may be one.
    pub(super) fn start(unit: &'static str, with_bar: bool) -> Self {
        let bar = (with_bar && std::io::stderr().is_terminal()).then(|| {
            let bar = ProgressBar::with_draw_target(Some(0), ProgressDrawTarget::stderr());
            let template = format!("{{bar:25}} {{percent:>3}}%  {{pos}} of {{len}} {unit}, about {{eta}} left");
            bar.with_style(ProgressStyle::with_template(&template).unwrap_or_else(|_| ProgressStyle::default_bar()))
        });
        Self { bar, unit, printed: AtomicUsize::new(0), started: Instant::now() }
    }

    pub(super) fn show(&self, done: u64, total: u64) {
        if let Some(bar) = &self.bar {
            bar.set_length(total);
            return bar.set_position(done);
        }
        let tenth = (done * TENTHS as u64).checked_div(total).unwrap_or(0) as usize;
        let elapsed = self.started.elapsed();
        if elapsed >= Self::LONG && tenth > self.printed.fetch_max(tenth, Ordering::Relaxed) {
            let seconds = elapsed.as_secs_f64();
            let left = seconds * total.saturating_sub(done) as f64 / done.max(1) as f64;
            eprintln!("{done} of {total} {}, {seconds:.0} s so far, about {left:.0} s left", self.unit);
        }
    }
}

impl Drop for CountLine {
    /// Takes the bar away.
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

/// A file that is read while its progress is shown.
pub(super) struct CountedFile {
    file: std::fs::File,
    read: u64,
    length: u64,
    line: CountLine,
}

impl CountedFile {
    /// Results that go to the terminal show themselves how far it is.
    pub(super) fn new(file: std::fs::File) -> Self {
        let length = file.metadata().map_or(0, |metadata| metadata.len());
        let line = CountLine::start("bytes", !std::io::stdout().is_terminal());
        Self { file, read: 0, length, line }
    }
}

impl std::io::Read for CountedFile {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let count = self.file.read(buffer)?;
        self.read += count as u64;
        self.line.show(self.read, self.length.max(self.read));
        Ok(count)
    }
}

/// The stages of one training on standard error.
pub(super) struct StageLine {
    /// Only on a terminal.
    bar: Option<ProgressBar>,
    /// The stage that was last shown.
    stage: Mutex<Option<Stage>>,
    stop: Arc<AtomicBool>,
}

impl StageLine {
    /// Parts of a stage that the bar shows.
    const PARTS: f64 = 1000.0;

    pub(super) fn start() -> Self {
        let bar = std::io::stderr().is_terminal().then(|| {
            let bar = ProgressBar::with_draw_target(Some(Self::PARTS as u64), ProgressDrawTarget::stderr());
            let template = "{msg:10} {bar:20} {percent:>3}%, about {eta} left in this stage, {elapsed} in all";
            bar.with_style(ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar()))
        });
        let stop = Arc::new(AtomicBool::new(false));
        stop_on_interrupt(stop.clone());
        Self { bar, stage: Mutex::new(None), stop }
    }

    /// Takes the bar away.
    pub(super) fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

impl Observer for StageLine {
    fn progress(&self, stage: Stage, fraction: f64) {
        let before = self.stage.lock().unwrap_or_else(PoisonError::into_inner).replace(stage);
        match &self.bar {
            Some(bar) => {
                if before != Some(stage) {
                    bar.reset_eta();
                    bar.set_message(stage.name());
                }
                bar.set_position((fraction * Self::PARTS) as u64);
            }
            None if before != Some(stage) => eprintln!("{}", stage.name()),
            None => {}
        }
    }

    fn should_stop(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

/// Without a runtime for signals, Ctrl-C ends the process at once, as it does by default.
fn stop_on_interrupt(stop: Arc<AtomicBool>) {
    let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_io().build() else { return };
    let wait = move || {
        if runtime.block_on(tokio::signal::ctrl_c()).is_ok() {
            stop.store(true, Ordering::Relaxed);
        }
    };
    if let Err(error) = std::thread::Builder::new().name("bochner-interrupt".into()).spawn(wait) {
        tracing::debug!(%error, "no thread waits for Ctrl-C");
    }
}
