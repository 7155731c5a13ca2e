//! Copy a data directory, and make one from a copy.

use super::doctor::report;
use crate::app::backup::{self, CopyError};
use std::path::Path;
use std::process::ExitCode;

/// Copies a data directory, which a service may be using. Exits as `doctor` does, with what it finds wrong in the copy.
pub(super) fn backup(data_dir: &Path, target: &Path) -> Result<ExitCode, String> {
    report(&backup::backup(data_dir, target).map_err(|error: CopyError| error.to_string())?)
}

/// Makes a data directory from a copy.
pub(super) fn restore(copy: &Path, data_dir: &Path) -> Result<ExitCode, String> {
    report(&backup::restore(copy, data_dir).map_err(|error: CopyError| error.to_string())?)
}
