//! The `bochner` binary.

use clap::Parser;

fn main() -> std::process::ExitCode {
    bochner::cli::Cli::parse().run()
}
