//! Read a Parquet or Arrow file in a process of its own, so that a hostile file ends this process and no other.

use crate::dataset::{ColumnarFormat, ReadFailure, read_columns, restrict};
use std::fs::File;
use std::os::fd::AsFd;
use std::process::ExitCode;

/// Memory that the file may take.
const MEMORY: u64 = 512 << 20;

/// Processor time that the file may take, in seconds.
const SECONDS: u64 = 600;

/// Reads standard input and writes CSV. Exits with 2 if the file is at fault; standard error then says how.
pub(super) fn read(format: &str) -> ExitCode {
    std::panic::set_hook(Box::new(|_| {})); // the parent knows by the exit code
    let Some(format) = ColumnarFormat::named(format) else {
        eprintln!("unknown format");
        return ExitCode::FAILURE;
    };
    let opened = restrict(MEMORY, SECONDS).and_then(|()| std::io::stdin().as_fd().try_clone_to_owned());
    let file = match opened {
        Ok(descriptor) => File::from(descriptor),
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::FAILURE;
        }
    };
    match read_columns(format, file, std::io::stdout().lock()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(ReadFailure::Unread) => ExitCode::FAILURE,
        Err(ReadFailure::Refused(detail)) => {
            eprintln!("{}", detail.chars().take(1000).collect::<String>());
            ExitCode::from(2)
        }
    }
}
