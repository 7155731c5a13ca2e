//! The table that a child process reads from a file.

use super::ColumnarFormat;
use crate::dataset::DatasetError;
use crate::dataset::formats::csv::{CsvOptions, CsvTable};
use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};

/// Longest error of a child that is shown.
const LONGEST_ERROR: u64 = 4096;

/// How the child writes tables.
const WRITTEN: CsvOptions = CsvOptions { delimiter: b',', header: Some(true) };

/// A running child and the rows it writes.
pub(crate) struct ColumnarTable {
    child: ReaderProcess,
    rows: CsvTable<ChildStdout>,
}

impl ColumnarTable {
    /// Starts `program`, which is this one, on a file.
    pub(crate) fn open(
        file: File,
        format: ColumnarFormat,
        program: Option<&Path>,
        column_limit: usize,
    ) -> Result<Self, DatasetError> {
        let Some(program) = program else {
            let detail = format!("a {} is read by the program bochner, not by its library alone", format.title());
            return Err(DatasetError::table(detail));
        };
        // The child gets none of the secrets that the environment may have.
        let kept = std::env::var_os("LD_LIBRARY_PATH").map(|path| ("LD_LIBRARY_PATH", path));
        let mut child = Command::new(program)
            .args(["read-columns", format.name()])
            .env_clear()
            .envs(kept)
            .envs([("OPENBLAS_NUM_THREADS", "1"), ("MIMALLOC_ARENA_RESERVE", "0")])
            .stdin(Stdio::from(file))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        let output = child.stdout.take();
        let mut child = ReaderProcess { child, format };
        let output = output.ok_or_else(|| DatasetError::Storage(std::io::ErrorKind::BrokenPipe.into()))?;
        match CsvTable::new(output, WRITTEN, column_limit) {
            Ok(rows) => Ok(Self { child, rows }),
            Err(error) => Err(child.fault(error)),
        }
    }

    pub(crate) fn names(&self) -> &[String] {
        &self.rows.names
    }

    pub(crate) fn advance(&mut self) -> Result<bool, DatasetError> {
        match self.rows.advance() {
            Ok(true) => Ok(true),
            Ok(false) => self.child.finish().map(|()| false),
            Err(error) => Err(self.child.fault(error)),
        }
    }

    pub(crate) fn cell(&self, column: usize) -> Result<&str, DatasetError> {
        self.rows.cell(column)
    }
}

/// A child that ends with its owner.
struct ReaderProcess {
    child: Child,
    format: ColumnarFormat,
}

impl ReaderProcess {
    /// Waits for the end, which must be a good one.
    fn finish(&mut self) -> Result<(), DatasetError> {
        let mut words = Vec::new();
        if let Some(stderr) = &mut self.child.stderr {
            stderr.take(LONGEST_ERROR).read_to_end(&mut words)?;
        }
        let status = self.child.wait()?;
        if status.success() {
            return Ok(());
        }
        let title = self.format.title();
        Err(DatasetError::table(match status.code() {
            Some(2) => String::from_utf8_lossy(&words).trim().to_owned(),
            Some(_) => format!("not a valid {title}: its parts do not fit together"),
            None => format!(
                "the {title} takes too much memory or time to read; write it with smaller row groups and pages, or check \
                 that it is not damaged"
            ),
        }))
    }

    /// The child's own error if it has one, else `error`.
    fn fault(&mut self, error: DatasetError) -> DatasetError {
        // A child that still writes is not at its end, and is not waited for.
        match self.child.try_wait() {
            Ok(None) if !matches!(error, DatasetError::Empty | DatasetError::At { .. }) => error,
            _ => self.finish_or_kill().err().unwrap_or(error),
        }
    }

    /// Gives a child that has closed its output a moment to end; one that writes on is ended.
    fn finish_or_kill(&mut self) -> Result<(), DatasetError> {
        for _ in 0..200 {
            if self.child.try_wait()?.is_some() {
                return self.finish();
            }
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        Ok(())
    }
}

impl Drop for ReaderProcess {
    fn drop(&mut self) {
        // It may have ended already; then there is nothing to kill.
        let ended = self.child.kill().and_then(|()| self.child.wait());
        if let Err(error) = ended {
            tracing::debug!(%error, "a reader of a table had ended already");
        }
    }
}
