//! Run the service until SIGTERM or SIGINT.

use crate::app::App;
use crate::config::Config;
use crate::telemetry::start_logging;
use std::net::SocketAddr;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};

/// Binds, serves, and drains on SIGTERM or SIGINT.
pub(super) fn serve(config: Config) -> Result<(), String> {
    start_logging(&config)?;
    keep_to_small_pages();
    let runtime = tokio::runtime::Runtime::new().map_err(|error| format!("no async runtime: {error}"))?;
    let outcome = runtime.block_on(run(config));
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

async fn run(config: Config) -> Result<(), String> {
    let listener = TcpListener::bind(config.listen)
        .await
        .map_err(|error| format!("cannot listen on {}: {error}", config.listen))?;
    let address = listener.local_addr().map_err(|error| error.to_string())?;
    let grace = Duration::from_secs(config.shutdown_grace_seconds);
    let welcome = config.welcome;
    let data_dir = config.data_dir.clone();
    let app = App::start(config).map_err(|error| error.to_string())?;

    tracing::info!(%address, data_dir = %data_dir.display(), version = env!("CARGO_PKG_VERSION"), "listening");
    if !address.ip().is_loopback() {
        tracing::warn!(
            "listening beyond loopback without authentication: anyone who reaches the port can do anything; put a proxy with authentication in front"
        );
    }
    if welcome {
        print_welcome(address);
    }

    let (stop, mut stopped) = tokio::sync::watch::channel(false);
    let until = async move { drop(stopped.wait_for(|stopped| *stopped).await) };
    let server = tokio::spawn(app.serve(listener, until));

    wait_for_signal().await?;
    tracing::info!(grace_seconds = grace.as_secs(), "stopping: no new connections; running jobs go back to the queue");
    app.stop_being_ready();
    let _ = stop.send(true);
    let jobs = app.jobs.clone();
    let drained = tokio::task::spawn_blocking(move || jobs.drain(grace));
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

async fn wait_for_signal() -> Result<(), String> {
    let mut terminate = signal(SignalKind::terminate()).map_err(|error| error.to_string())?;
    let mut interrupt = signal(SignalKind::interrupt()).map_err(|error| error.to_string())?;
    tokio::select! {
        _ = terminate.recv() => Ok(()),
        _ = interrupt.recv() => Ok(()),
    }
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
