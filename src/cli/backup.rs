//! Copy a data directory, and make one from a copy.

use super::doctor::report;
use super::progress::CountLine;
use crate::app::backup::{self, CopyError};
use crate::app::doctor::Examination;
use std::path::Path;
use std::process::ExitCode;

/// Copies a data directory, which a service may be using. Exits as `doctor` does, with what it finds wrong in the copy.
pub(super) fn backup(data_dir: &Path, target: &Path) -> Result<ExitCode, String> {
    counted(|progress| backup::backup(data_dir, target, progress))
}

/// Makes a data directory from a copy.
pub(super) fn restore(copy: &Path, data_dir: &Path) -> Result<ExitCode, String> {
    counted(|progress| backup::restore(copy, data_dir, progress))
}

/// Reports on a copy that shows its progress.
fn counted(copy: impl FnOnce(&dyn Fn(u64, u64)) -> Result<Examination, CopyError>) -> Result<ExitCode, String> {
    let line = CountLine::start("files", true);
    let found = copy(&|done, total| line.show(done, total));
    drop(line);
    report(&found.map_err(|error| error.to_string())?)
}
