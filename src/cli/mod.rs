//! The command line: the same library, no second logic.

/// Run the service.
mod serve;

/// Ask a running service whether it is ready.
mod healthcheck;

/// Tell what an artifact holds.
mod inspect;

/// Predict the rows of a file.
mod predict;

/// Check a data directory.
mod doctor;

use crate::config::Config;
use clap::{Parser, Subcommand};
pub use predict::PredictArguments;
use std::io;
use std::path::PathBuf;
use std::process::ExitCode;

/// Kernel models with their proof attached.
#[derive(Debug, Parser)]
#[command(name = "bochner", version, about)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run the HTTP service.
    Serve(Box<Config>),
    /// Exit 0 if a service is ready, 1 if not; for container health checks.
    Healthcheck {
        /// Where the service listens.
        #[arg(long, env = "BOCHNER_LISTEN", default_value = "127.0.0.1:8080")]
        listen: std::net::SocketAddr,
    },
    /// Predict the rows of a file by an artifact, without a service.
    Predict(PredictArguments),
    /// Tell what an artifact holds.
    Inspect {
        /// The artifact, as the service keeps it.
        file: PathBuf,
        /// Everything, as JSON.
        #[arg(long)]
        json: bool,
    },
    /// Check every file of a data directory against its entry and its checksum. Exits with 0 if nothing is wrong (any
    /// more), 3 if something is, 1 if nothing could be checked. Stop the service first.
    Doctor {
        /// The data directory of the service.
        #[arg(long, env = "BOCHNER_DATA_DIR", default_value = "./data")]
        data_dir: PathBuf,
        /// Make lost entries again from the files, and move damaged files and files that nothing refers to aside.
        #[arg(long)]
        repair: bool,
    },
}

impl Cli {
    /// Does it.
    pub fn run(self) -> ExitCode {
        let outcome = match self.command {
            Command::Serve(config) => serve::serve(*config).map(|()| ExitCode::SUCCESS),
            Command::Healthcheck { listen } => healthcheck::healthcheck(listen).map(|()| ExitCode::SUCCESS),
            Command::Predict(arguments) => predict::predict(&arguments).map(|()| ExitCode::SUCCESS),
            Command::Inspect { file, json } => inspect::inspect(&file, json).map(|()| ExitCode::SUCCESS),
            Command::Doctor { data_dir, repair } => doctor::doctor(&data_dir, repair),
        };
        match outcome {
            Ok(code) => code,
            Err(message) => {
                eprintln!("bochner: {message}");
                ExitCode::FAILURE
            }
        }
    }
}

/// What came of writing to standard output. Whoever reads may have seen enough: a closed pipe is no error.
fn written(what: &str, outcome: io::Result<()>) -> Result<(), String> {
    match outcome {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(format!("{what} cannot be written: {error}")),
        _ => Ok(()),
    }
}
