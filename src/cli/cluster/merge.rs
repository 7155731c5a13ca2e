//! Merge the statistics of passes.

use super::LARGEST_PARTIAL;
use crate::cli::written;
use crate::cluster::end_with_parent;
use crate::training::Partial;
use clap::Args;
use std::fs::File;
use std::io::{BufReader, Write};
use std::path::PathBuf;

/// Statistics of one task.
#[derive(Debug, Args)]
pub struct MergeArguments {
    /// Files of statistics, as pass writes them. Without any, files that follow each other are read from standard input.
    files: Vec<PathBuf>,
}

/// Writes the sum of all statistics to standard output. The order of the files does not matter.
pub(in crate::cli) fn merge(arguments: &MergeArguments) -> Result<(), String> {
    let mut total = None;
    if arguments.files.is_empty() {
        end_with_parent().map_err(|error| error.to_string())?;
        Partial::add_all(&mut total, BufReader::new(std::io::stdin().lock()), LARGEST_PARTIAL)
            .map_err(|error| format!("standard input: {error}"))?;
    }
    for path in &arguments.files {
        let at = |reason: &dyn std::fmt::Display| format!("{}: {reason}", path.display());
        let file = File::open(path).map_err(|error| at(&error))?;
        Partial::add_all(&mut total, BufReader::new(file), LARGEST_PARTIAL).map_err(|error| at(&error))?;
    }
    let total = total.ok_or("there are no statistics to merge")?;
    let mut target = std::io::stdout().lock();
    written("the statistics", target.write_all(&total.encode()).and_then(|()| target.flush()))
}
