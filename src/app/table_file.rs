//! A table file read as the service reads an upload, without a service: in a temporary directory that goes with it.

use super::StartError;
use crate::dataset::{Dataset, DatasetStore, Ingested, Table, UploadLimits, UploadOptions};
use crate::linalg;
use crate::storage::database::Database;
use crate::storage::files::DataDir;
use std::io::Read;
use std::path::PathBuf;
use tempfile::TempDir;

/// What a command takes: it is the user's own file on the user's own machine.
const LIMITS: UploadLimits = UploadLimits { bytes: u64::MAX, columns: 1 << 16, cells: usize::MAX, levels: 1 << 16 };

/// A table with its schema.
pub struct TableFile {
    /// Columns, target and task.
    pub dataset: Dataset,
    /// The rows.
    pub table: Table,
    /// Removed with the table.
    _folder: TempDir,
}

impl TableFile {
    /// Reads a table. `program` is the binary itself, which reads Parquet and Arrow in a child process; other formats do
    /// without.
    pub fn read(body: impl Read, options: &UploadOptions, program: Option<PathBuf>) -> Result<Self, StartError> {
        linalg::use_one_blas_thread();
        let unusable = |cause| StartError::DataDir { path: std::env::temp_dir().display().to_string(), cause };
        let folder = tempfile::tempdir().map_err(unusable)?;
        let directory = DataDir::open(folder.path()).map_err(unusable)?;
        let database = Database::open(&directory.database())?;
        let store = DatasetStore::open(directory, database)?.with_program(program);
        let (Ingested::New(dataset) | Ingested::Known(dataset)) = store.ingest(body, options, LIMITS)?;
        let table = store.open_table(&dataset)?;
        Ok(Self { dataset, table, _folder: folder })
    }
}
