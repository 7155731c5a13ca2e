//! The command line: the same library, no second logic.

/// Run the service.
mod serve;

/// Ask a running service whether it is ready.
mod healthcheck;

/// Describe a model file.
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
    /// The command to run.
    #[command(subcommand)]
    pub command: Command,
}

/// The commands of the binary.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run the HTTP service.
    Serve(Box<Config>),
    /// Exit with code 0 if a running service is ready, 1 if not. For container health checks.
    Healthcheck {
        /// Address that the service listens on.
        #[arg(long, env = "BOCHNER_LISTEN", default_value = "127.0.0.1:8080")]
        listen: std::net::SocketAddr,
    },
    /// Predict the rows of a file with a model file, without a service.
    Predict(PredictArguments),
    /// Describe a model file: kernel, columns, report and warnings.
    Inspect {
        /// The model file, as exported by the service.
        file: PathBuf,
        /// Print everything as JSON.
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
    /// Runs the command. An error is printed to standard error and gives exit code 1.
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

/// The outcome of writing to standard output. A closed pipe is no error: the reader has seen enough, as with `head`.
fn written(what: &str, outcome: io::Result<()>) -> Result<(), String> {
    match outcome {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(format!("cannot write {what}: {error}")),
        _ => Ok(()),
    }
}
