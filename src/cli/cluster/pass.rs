//! Run one pass: what an executor of Spark does next to its rows. The process ends with the one that started it.

use crate::cli::written;
use crate::cluster::{FileOfTable, add_file, add_stream, end_with_parent};
use crate::training::{PassKind, PassSums, PassTask};
use clap::Args;
use std::io::{BufReader, Write};
use std::path::{Path, PathBuf};

/// A task and its rows.
#[derive(Debug, Args)]
pub struct PassArguments {
    /// What the task is to find: profile, moments, gram or errors.
    #[arg(value_parser = parse_kind)]
    kind: PassKind,

    /// File of the task, as written by train.
    #[arg(long)]
    task: PathBuf,

    /// Folder of the files: their names within it decide the split of their rows.
    #[arg(long)]
    root: Option<PathBuf>,

    /// Threads. The statistics do not depend on it.
    #[arg(long, default_value_t = 1)]
    threads: usize,

    /// Parquet files to read. Without any, rows are read from standard input.
    files: Vec<PathBuf>,
}

/// Writes the statistics of the rows to standard output.
pub(in crate::cli) fn pass(arguments: &PassArguments) -> Result<(), String> {
    end_with_parent().map_err(|error| error.to_string())?;
    let bytes = std::fs::read(&arguments.task).map_err(|error| format!("{}: {error}", arguments.task.display()))?;
    let task = PassTask::read(&bytes).map_err(|error| error.to_string())?;
    if task.kind() != arguments.kind {
        return Err(format!("the task is a pass '{}', not '{}'", task.kind().name(), arguments.kind.name()));
    }
    if let Some(set) = task.instructions() {
        set.force().map_err(|error| error.to_string())?;
    }
    let mut sums = PassSums::new(&task, arguments.threads.max(1));
    let failed = |error: crate::training::TrainError| error.to_string();
    if arguments.files.is_empty() {
        add_stream(BufReader::new(std::io::stdin().lock()), &task, &mut sums).map_err(failed)?;
    }
    for path in &arguments.files {
        let name = name_in(path, arguments.root.as_deref())?;
        add_file(&FileOfTable { name, path: path.clone() }, &task, &mut sums, &|_| Ok(())).map_err(failed)?;
    }
    let partial = sums.finish().map_err(failed)?.encode();
    let mut target = std::io::stdout().lock();
    written("the statistics", target.write_all(&partial).and_then(|()| target.flush()))
}

/// The name of a file within the folder of its table; without one, its last part.
fn name_in(path: &Path, root: Option<&Path>) -> Result<String, String> {
    let within = match root {
        Some(root) => path.strip_prefix(root).ok(),
        None => path.file_name().map(Path::new),
    };
    let name = within.and_then(Path::to_str).filter(|name| !name.is_empty());
    name.map(str::to_owned).ok_or_else(|| format!("{} is not a file of the folder", path.display()))
}

fn parse_kind(text: &str) -> Result<PassKind, String> {
    let kind = PassKind::ALL.iter().find(|(name, _)| *name == text).map(|(_, kind)| *kind);
    kind.ok_or_else(|| "must be profile, moments, gram or errors".into())
}
