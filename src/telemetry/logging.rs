//! Log lines on standard error.

use super::traces::Traces;
use crate::config::{Config, LogFormat};
use std::io::IsTerminal;
use std::sync::Mutex;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::reload::{self, Handle};
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{EnvFilter, Layer, fmt, registry};

/// Changes which log lines are written.
pub(crate) struct LogControl {
    replace: Box<dyn Fn(EnvFilter) -> Result<(), String> + Send + Sync>,
    now: Mutex<String>,
}

impl LogControl {
    fn new<S: 'static>(handle: Handle<EnvFilter, S>, filter: &str) -> Self {
        let replace = move |filter| handle.reload(filter).map_err(|error| error.to_string());
        Self { replace: Box::new(replace), now: Mutex::new(filter.to_owned()) }
    }

    /// Uses another filter from now on; gives the one before.
    pub(crate) fn set(&self, filter: &str) -> Result<String, String> {
        (self.replace)(parse(filter)?)?;
        let mut now = self.now.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        Ok(std::mem::replace(&mut *now, filter.to_owned()))
    }

    /// The filter in use.
    pub(crate) fn filter(&self) -> String {
        self.now.lock().unwrap_or_else(std::sync::PoisonError::into_inner).clone()
    }
}

/// Starts logging to standard error, and sending spans if that is wanted. Fails if the filter does not parse or logging
/// has started before.
pub(crate) fn start_logging(config: &Config) -> Result<(LogControl, Traces), String> {
    let json = match config.log_format {
        LogFormat::Auto => !std::io::stderr().is_terminal(),
        LogFormat::Human => false,
        LogFormat::Json => true,
    };
    let (filter, handle) = reload::Layer::new(parse(&config.log)?);
    let lines = fmt::layer().with_writer(std::io::stderr);
    let lines = if json {
        lines.json().flatten_event(true).with_current_span(true).with_span_list(false).boxed()
    } else {
        lines.boxed()
    };
    let (traces, spans, no_traces) = match Traces::start() {
        Ok((traces, spans)) => (traces, spans, None),
        Err(reason) => (Traces::default(), None, Some(reason)),
    };
    let started = registry().with(spans).with(lines.with_filter(filter)).try_init();
    started.map_err(|error| error.to_string())?;
    if let Some(reason) = no_traces {
        tracing::warn!(reason, "a collector of traces is named, and none are sent");
    }
    Ok((LogControl::new(handle, &config.log), traces))
}

fn parse(filter: &str) -> Result<EnvFilter, String> {
    EnvFilter::try_new(filter).map_err(|error| format!("'{filter}' is not a log filter: {error}"))
}
