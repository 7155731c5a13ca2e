//! The command line of the program that executors run: passes and merges, nothing else. What it does not name is not linked, so
//! that it needs neither BLAS nor the libraries of the service.

use super::{MergeArguments, PassArguments, merge, pass};
use crate::cli::outcome;
use clap::{Parser, Subcommand};
use std::process::ExitCode;

/// Passes over rows of a cluster, and their merges: what `bochner train --engine spark` runs on executors.
#[derive(Debug, Parser)]
#[command(name = "bochner-worker", version, about)]
pub struct WorkerCli {
    /// The command to run.
    #[command(subcommand)]
    command: WorkerCommand,
}

#[derive(Debug, Subcommand)]
enum WorkerCommand {
    /// Run one pass of a training over Parquet files, or over a stream of rows on standard input, and write its statistics to
    /// standard output. Ends with the process that started it.
    Pass(PassArguments),
    /// Merge the statistics of passes and write them to standard output. The order does not matter.
    Merge(MergeArguments),
}

impl WorkerCli {
    /// The command line of this process; ends the process, as clap does, if it is wrong.
    pub fn read() -> Self {
        Self::parse()
    }

    /// Runs the command. An error is printed to standard error and gives exit code 1.
    pub fn run(self) -> ExitCode {
        outcome(match self.command {
            WorkerCommand::Pass(arguments) => pass(&arguments).map(|()| ExitCode::SUCCESS),
            WorkerCommand::Merge(arguments) => merge(&arguments).map(|()| ExitCode::SUCCESS),
        })
    }
}
