//! The command line: the same library, no second logic.

/// Run the service.
mod serve;

/// Ask a running service whether it is ready.
mod healthcheck;

/// A tour of the service.
mod demo;

/// Describe a model file.
mod inspect;

/// Predict the rows of a file.
mod predict;

/// Check a data directory.
mod doctor;

/// Compare samplings on a table.
mod compare;

/// Repeat the experiments of the papers.
mod reproduce;

/// Tables, specs and resources of commands that learn.
mod inputs;

/// The progress of a long command.
mod progress;

/// Copy a data directory, and make one from a copy.
mod backup;

/// Make, list and revoke keys.
mod keys;

/// Train a model on a table.
mod train;

/// What is proved of a model file.
mod guarantees;

/// Tables in files, and passes over them on a cluster.
mod cluster;

/// Read a Parquet or Arrow file in a process of its own.
mod read_columns;

use crate::config::{self, Config};
use clap::error::ErrorKind;
use clap::{ArgMatches, CommandFactory, FromArgMatches, Parser, Subcommand};
pub use cluster::{EngineArguments, MergeArguments, PassArguments, WorkerCli};
pub use compare::CompareArguments;
pub use demo::DemoArguments;
pub use inputs::{ResourceArguments, TableArguments};
pub use keys::KeysCommand;
pub use predict::PredictArguments;
pub use reproduce::ReproduceArguments;
use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::process::ExitCode;
pub use train::TrainArguments;

/// The exit code after Ctrl-C, as of a process that SIGINT ends.
const STOPPED: u8 = 130;

/// What the exit code of every command means.
const EXIT_CODES: &str = "\
Exit codes:
  0    done; of healthcheck: the service is ready; of doctor: nothing is wrong (any more)
  1    failed, with the reason on standard error: a file, a table, a spec or the service is at fault
  2    the arguments are wrong
  3    of doctor, backup and restore: something is wrong with the files
  130  of train and compare: stopped by Ctrl-C";

/// Kernel models with their proof attached.
#[derive(Debug, Parser)]
#[command(name = "bochner", version, about, after_help = EXIT_CODES)]
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
    /// A tour of the service: make a table, train on it, read the verdict, predict, with links to the console. Everything is in a
    /// temporary folder.
    Demo(DemoArguments),
    /// Exit with code 0 if a running service is ready, 1 if not. For container health checks.
    Healthcheck {
        /// Address that the service listens on.
        #[arg(long, env = "BOCHNER_LISTEN", default_value = "127.0.0.1:8080")]
        listen: std::net::SocketAddr,
        /// Certificate that the service shows, if it speaks TLS.
        #[arg(long, env = "BOCHNER_TLS_CERTIFICATE")]
        tls_certificate: Option<PathBuf>,
    },
    /// Make, list and revoke the keys of clients.
    #[command(subcommand)]
    Keys(KeysCommand),
    /// Predict the rows of a file with a model file, without a service.
    Predict(PredictArguments),
    /// Train a model on a table and write it to a file, without a service. Exits with 0 if there is a model, 1 if the table,
    /// the spec or the training is at fault, 2 if the arguments are, and 130 if it was stopped by Ctrl-C.
    Train(Box<TrainArguments>),
    /// List what is proved of a model file, best first: bounds, their probability and what they rest on.
    Guarantees {
        /// The model file, as written by train or exported by the service.
        file: PathBuf,
        /// Probability that a bound may fail, such as 0.01. The default is that of the training spec.
        #[arg(long)]
        delta: Option<f64>,
        /// List guarantees that do not apply too, with the reason.
        #[arg(long)]
        all: bool,
        /// Print everything as JSON.
        #[arg(long)]
        json: bool,
    },
    /// Print completions of this command line for a shell: bash, elvish, fish, powershell or zsh.
    Completions {
        /// The shell.
        shell: clap_complete::Shell,
    },
    /// Describe a model file: kernel, columns, report and warnings.
    Inspect {
        /// The model file, as exported by the service.
        file: PathBuf,
        /// Print everything as JSON.
        #[arg(long)]
        json: bool,
    },
    /// Compare ways to draw features on a table: test errors over random splits, with means and standard errors. Exits with
    /// 1 and a reason if the table or the request is not valid, and with 130 if it was stopped by Ctrl-C.
    Compare(Box<CompareArguments>),
    /// Repeat an experiment of one of the papers: every number as CSV, charts as SVG, and what was expected and found.
    /// Interrupted runs go on where they stopped.
    Reproduce(ReproduceArguments),
    /// Copy a data directory while the service goes on to use it: the database as it is at one moment, and the files that
    /// it refers to, as hard links where possible. Then check the copy, as doctor does.
    Backup {
        /// A folder that is empty or does not exist yet.
        target: PathBuf,
        /// The data directory of the service.
        #[arg(long, env = "BOCHNER_DATA_DIR", default_value = "./data")]
        data_dir: PathBuf,
    },
    /// Make a data directory from a copy made by backup, and check it, as doctor does. The copy stays as it is.
    Restore {
        /// The copy.
        copy: PathBuf,
        /// The data directory to make: a folder that is empty or does not exist yet.
        #[arg(long, env = "BOCHNER_DATA_DIR", default_value = "./data")]
        data_dir: PathBuf,
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
    /// Run one pass of a training over Parquet files, or over a stream of rows on standard input, and write its statistics to
    /// standard output. For executors of a cluster; ends with the process that started it.
    Pass(PassArguments),
    /// Merge the statistics of passes and write them to standard output. The order does not matter.
    Merge(MergeArguments),
    /// Read a table from standard input and write it as CSV, in a process with limits. For the service's own use.
    #[command(hide = true)]
    ReadColumns {
        /// parquet, arrow-file or arrow-stream.
        format: String,
    },
}

impl Cli {
    /// The command line of this process, with the settings of the configuration file that it names. Ends the process, as
    /// clap does, if either is wrong.
    pub fn read() -> Self {
        let arguments: Vec<OsString> = std::env::args_os().collect();
        let given = Self::command().get_matches_from(&arguments);
        let matches = match with_file(&arguments, &given) {
            Ok(None) => given,
            Ok(Some(arguments)) => Self::command().get_matches_from(arguments),
            Err(detail) => Self::command().error(ErrorKind::InvalidValue, detail).exit(),
        };
        Self::from_arg_matches(&matches).unwrap_or_else(|error| error.exit())
    }

    /// The environment variables that some flag reads.
    fn variables() -> Vec<String> {
        let command = Self::command();
        let flags = command.get_subcommands().flat_map(clap::Command::get_arguments);
        flags.filter_map(|flag| Some(flag.get_env()?.to_string_lossy().into_owned())).collect()
    }

    /// Runs the command. An error is printed to standard error and gives exit code 1.
    pub fn run(self) -> ExitCode {
        outcome(match self.command {
            Command::Serve(config) => serve::serve(*config).map(|()| ExitCode::SUCCESS),
            Command::Demo(arguments) => demo::demo(&arguments),
            Command::Healthcheck { listen, tls_certificate } => {
                healthcheck::healthcheck(listen, tls_certificate.as_deref()).map(|()| ExitCode::SUCCESS)
            }
            Command::Keys(command) => keys::run(command).map(|()| ExitCode::SUCCESS),
            Command::Predict(arguments) => predict::predict(&arguments).map(|()| ExitCode::SUCCESS),
            Command::Train(arguments) => train::run(&arguments),
            Command::Guarantees { file, delta, all, json } => {
                guarantees::show(&file, delta, all, json).map(|()| ExitCode::SUCCESS)
            }
            Command::Completions { shell } => {
                let mut script = Vec::new();
                clap_complete::generate(shell, &mut Self::command(), "bochner", &mut script);
                let printed = io::Write::write_all(&mut io::stdout(), &script);
                written("the completions", printed).map(|()| ExitCode::SUCCESS)
            }
            Command::Inspect { file, json } => inspect::inspect(&file, json).map(|()| ExitCode::SUCCESS),
            Command::Compare(arguments) => compare::compare_samplings(&arguments),
            Command::Reproduce(arguments) => reproduce::reproduce(&arguments).map(|()| ExitCode::SUCCESS),
            Command::Backup { target, data_dir } => backup::backup(&data_dir, &target),
            Command::Restore { copy, data_dir } => backup::restore(&copy, &data_dir),
            Command::Doctor { data_dir, repair } => doctor::doctor(&data_dir, repair),
            Command::Pass(arguments) => cluster::pass(&arguments).map(|()| ExitCode::SUCCESS),
            Command::Merge(arguments) => cluster::merge(&arguments).map(|()| ExitCode::SUCCESS),
            Command::ReadColumns { format } => return read_columns::read(&format),
        })
    }
}

/// The exit code of a command, whose error is printed to standard error.
fn outcome(done: Result<ExitCode, String>) -> ExitCode {
    done.unwrap_or_else(|message| {
        eprintln!("bochner: {message}");
        ExitCode::FAILURE
    })
}

/// The arguments with those of the configuration file, if one is named.
fn with_file(arguments: &[OsString], given: &ArgMatches) -> Result<Option<Vec<OsString>>, String> {
    let Some((name, flags)) = given.subcommand().filter(|(name, _)| *name == "serve") else { return Ok(None) };
    let Some(path) = flags.get_one::<PathBuf>("config") else { return Ok(None) };
    let command = Cli::command();
    let serve = command.find_subcommand(name).ok_or("there is no command 'serve'")?;
    let of_file = config::file::arguments(path, serve, flags)?;
    Ok(Some(arguments.iter().cloned().chain(of_file).collect()))
}

/// This very binary, even if a new one has taken its place on the disk meanwhile.
fn own_program() -> PathBuf {
    let running = PathBuf::from("/proc/self/exe");
    if running.exists() { running } else { std::env::current_exe().unwrap_or_else(|_| "bochner".into()) }
}

/// The outcome of writing to standard output. A closed pipe is no error: the reader has seen enough, as with `head`.
fn written(what: &str, outcome: io::Result<()>) -> Result<(), String> {
    match outcome {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(format!("cannot write {what}: {error}")),
        _ => Ok(()),
    }
}
