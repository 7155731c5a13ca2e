//! Check a data directory, and repair it.

use super::progress::CountLine;
use super::written;
use crate::app::doctor::{Examination, examine};
use std::fmt::Write as _;
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

/// The exit code when something is wrong still. 1 says that nothing could be checked, 2 that the arguments are wrong.
const PROBLEMS: u8 = 3;

/// Prints what is wrong and what was repaired; exits with 0 if nothing is wrong (any more).
pub(super) fn doctor(data_dir: &Path, repair: bool) -> Result<ExitCode, String> {
    let line = CountLine::start("files", true);
    let found = examine(data_dir, repair, &|done, total| line.show(done, total));
    drop(line);
    report(&found.map_err(|error| error.to_string())?)
}

/// Prints what was found in a data directory.
pub(super) fn report(found: &Examination) -> Result<ExitCode, String> {
    let mut text = String::new();
    let lines = found.repairs.iter().map(|repair| ("repaired", repair));
    for (word, line) in lines.chain(found.problems.iter().map(|problem| ("problem", problem))) {
        let _ = writeln!(text, "{word}: {}", line.replace(char::is_control, "\u{fffd}"));
    }
    let (datasets, versions, problems) = (found.datasets, found.versions, found.problems.len());
    let _ = writeln!(text, "{datasets} datasets and {versions} model versions verified, {problems} problems");
    let mut target = std::io::stdout();
    written("the findings", target.write_all(text.as_bytes()).and_then(|()| target.flush()))?;
    Ok(if problems == 0 { ExitCode::SUCCESS } else { ExitCode::from(PROBLEMS) })
}
