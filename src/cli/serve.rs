//! Run the service until SIGTERM or SIGINT.

use crate::app::App;
use crate::config::{self, Config};
use crate::request::suggest;
use crate::telemetry::{LogControl, start_logging};
use std::net::SocketAddr;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// Binds, serves, and drains on SIGTERM or SIGINT.
pub(super) fn serve(mut config: Config) -> Result<(), String> {
    config.program = Some(super::own_program());
    let (log, _traces) = start_logging(&config)?; // sends the last spans when it is dropped
    warn_of_unknown_variables();
    keep_to_small_pages();
    let runtime = tokio::runtime::Runtime::new().map_err(|error| format!("no async runtime: {error}"))?;
    let outcome = runtime.block_on(run(config, log));
    runtime.shutdown_background(); // the grace period is over: do not wait for anything else
    outcome
}

/// Asks the kernel not to back memory by huge pages. It does so depending on what is free at the moment, which made a
/// service of 36 MiB take 47 to 59; nothing here was faster with huge pages.
fn keep_to_small_pages() {
    #[cfg(target_os = "linux")]
    if let Err(error) = rustix::thread::disable_transparent_huge_pages(true) {
        tracing::debug!(%error, "cannot disable huge pages: the process may use more memory");
    }
}

/// A misspelt variable would change nothing, and nobody would know.
fn warn_of_unknown_variables() {
    let known = super::Cli::variables();
    let names = std::env::vars_os().map(|(name, _)| name.to_string_lossy().into_owned());
    for name in names.filter(|name| name.starts_with("BOCHNER_") && !known.contains(name)) {
        let nearest = suggest::nearest(&name, known.iter().map(String::as_str));
        tracing::warn!("no setting has the environment variable {name}{nearest}; it changes nothing");
    }
}

/// On SIGHUP, reads the log filter of the configuration file again; without one, switches between --log and debug.
async fn follow_hangups(mut hangups: Signal, config: Config, log: LogControl) {
    while hangups.recv().await.is_some() {
        let wanted = match &config.config {
            Some(path) => config::file::log_filter(path).map(|filter| filter.unwrap_or_else(|| config.log.clone())),
            None if log.filter() == config.log => Ok("debug".to_owned()),
            None => Ok(config.log.clone()),
        };
        match wanted.and_then(|wanted| Ok((log.set(&wanted)?, wanted))) {
            Ok((before, now)) => tracing::info!(before, now, "the log filter was changed by SIGHUP"),
            Err(error) => tracing::error!(error, "the log filter stays as it is"),
        }
    }
}

async fn run(config: Config, log: LogControl) -> Result<(), String> {
    let listener = TcpListener::bind(config.listen)
        .await
        .map_err(|error| format!("cannot listen on {}: {error}", config.listen))?;
    let address = listener.local_addr().map_err(|error| error.to_string())?;
    let delay = Duration::from_secs(config.drain_delay);
    let grace = Duration::from_secs(config.shutdown_grace_seconds);
    let welcome = config.welcome;
    let insecure = config.access.api_keys_file.is_none();
    let data_dir = config.data_dir.clone();
    let hangups = signal(SignalKind::hangup()).map_err(|error| error.to_string())?; // from now on it ends nothing
    tokio::spawn(follow_hangups(hangups, config.clone(), log));
    let stop_signal = stop_signal()?;
    let app = App::start(config).map_err(|error| error.to_string())?;

    tracing::info!(%address, data_dir = %data_dir.display(), version = env!("CARGO_PKG_VERSION"), "listening");
    if insecure && !address.ip().is_loopback() {
        tracing::warn!("listening beyond loopback without keys: anyone who reaches the port can do anything");
    }
    if welcome {
        print_welcome(address);
    }

    let (stop, mut stopped) = tokio::sync::watch::channel(false);
    let until = async move { drop(stopped.wait_for(|stopped| *stopped).await) };
    let server = tokio::spawn(app.serve(listener, until));

    stop_signal.await;
    tracing::info!(
        delay_seconds = delay.as_secs(),
        grace_seconds = grace.as_secs(),
        "stopping: /readyz answers 503 from now on and running jobs go back to the queue; after the delay, no new connections"
    );
    app.stop_being_ready();
    let jobs = app.jobs.clone();
    let drained = tokio::task::spawn_blocking(move || jobs.drain(delay + grace));
    wait_or_signal(delay).await?;
    app.stop_waiting();
    let _ = stop.send(true);
    let served = tokio::time::timeout(grace, server).await;
    let drained = drained.await.unwrap_or(false);
    match (served, drained) {
        (Ok(_), true) => tracing::info!("stopped"),
        (served, drained) => {
            tracing::warn!(
                connections_left = served.is_err(),
                jobs_left = !drained,
                "the grace period is over; what is left was cut off"
            );
        }
    }
    Ok(())
}

/// Waits that long; a second signal is a wish to go on at once.
async fn wait_or_signal(delay: Duration) -> Result<(), String> {
    let stop_signal = stop_signal()?;
    tokio::select! {
        () = tokio::time::sleep(delay) => Ok(()),
        () = stop_signal => Ok(()),
    }
}

/// The first SIGTERM or SIGINT from now on; one that comes while the service starts is not lost.
fn stop_signal() -> Result<impl Future<Output = ()>, String> {
    let mut terminate = signal(SignalKind::terminate()).map_err(|error| error.to_string())?;
    let mut interrupt = signal(SignalKind::interrupt()).map_err(|error| error.to_string())?;
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    })
}

fn print_welcome(address: SocketAddr) {
    println!(
        r#"
Bochner listens on http://{address}. In another terminal, from this folder:

curl -sS -H 'content-type: text/csv' --data-binary @examples/houses.csv 'http://{address}/api/v1/datasets?name=houses&target=price'
curl -sS -H 'content-type: application/json' -H 'prefer: wait=60' -d '{{"model":"houses","dataset":"houses"}}' http://{address}/api/v1/jobs
curl -sS http://{address}/api/v1/models/houses/guarantees
"#
    );
}
