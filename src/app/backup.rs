//! A copy of a data directory while a service uses it, and a data directory made from such a copy.

use super::StartError;
use super::data_directory::known_files;
use super::doctor::{Examination, examine};
use crate::storage::database::{Database, OpenError};
use crate::storage::files::{DataDir, make_folder, sync_folder};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

/// What is deleted while it is copied makes the copy begin again, so often at most.
const MOST_ATTEMPTS: usize = 10;

/// Why there is no copy.
#[derive(Debug, thiserror::Error)]
pub enum CopyError {
    /// The target holds something.
    #[error("{0} is not empty; name a folder that is empty or does not exist yet")]
    NotEmpty(PathBuf),
    /// The source is no data directory.
    #[error("{0} holds no database of this program (bochner.sqlite)")]
    NoDatabase(PathBuf),
    /// What was copied changed all the time.
    #[error(
        "datasets or versions were deleted all the time while they were copied; try again when there is less to do"
    )]
    Restless,
    /// The database is not usable.
    #[error("the database cannot be used: {0}")]
    Database(#[from] OpenError),
    /// A file could not be read or written.
    #[error(transparent)]
    Storage(#[from] io::Error),
    /// The copy could not be examined.
    #[error(transparent)]
    Examine(#[from] StartError),
}

/// Copies what the database of `data_dir` refers to into `target`, at one moment, though a service goes on to use it.
/// Tables and artifacts never change once they are there, so hard links of them will do where both folders are on one
/// file system. The copy is then read and compared with its checksums; what is damaged or missing in `data_dir` is among
/// the problems.
pub fn backup(data_dir: &Path, target: &Path, progress: &dyn Fn(u64, u64)) -> Result<Examination, CopyError> {
    check_folders(data_dir, target)?;
    make_folder(target)?;
    let (source, copy) = (DataDir::at(data_dir), DataDir::open(target)?);
    let mut missing_before = Vec::new();
    for _ in 0..MOST_ATTEMPTS {
        Database::copy(&source.database(), &copy.database())?;
        let missing = copy_files(&source, &copy, link_or_copy, progress)?;
        // What is missing was deleted meanwhile, with its entry; or it was missing before.
        if missing.is_empty() || missing == missing_before {
            return Ok(examine(target, true, progress)?);
        }
        missing_before = missing;
    }
    Err(CopyError::Restless)
}

/// Makes the data directory `data_dir` from a copy, which stays as it is.
pub fn restore(copy: &Path, data_dir: &Path, progress: &dyn Fn(u64, u64)) -> Result<Examination, CopyError> {
    check_folders(copy, data_dir)?;
    make_folder(data_dir)?;
    let (source, target) = (DataDir::at(copy), DataDir::open(data_dir)?);
    Database::copy(&source.database(), &target.database())?;
    copy_files(&source, &target, copy_whole, progress)?;
    Ok(examine(data_dir, false, progress)?)
}

fn check_folders(source: &Path, target: &Path) -> Result<(), CopyError> {
    if !Database::is_there(&DataDir::at(source).database())? {
        return Err(CopyError::NoDatabase(source.to_owned()));
    }
    let is_empty = match fs::read_dir(target) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => true,
        entries => entries?.next().is_none(),
    };
    if is_empty { Ok(()) } else { Err(CopyError::NotEmpty(target.to_owned())) }
}

/// Copies the files that the database of the copy refers to; gives those that are missing. Cards are made again when a
/// service starts.
fn copy_files(
    source: &DataDir,
    copy: &DataDir,
    copy_file: impl Fn(&Path, &Path) -> io::Result<()>,
    progress: &dyn Fn(u64, u64),
) -> Result<Vec<PathBuf>, CopyError> {
    let database = Database::open(&copy.database())?;
    let mut missing = Vec::new();
    let files = known_files(source, copy, &database)?;
    let total = files.len() as u64;
    for (done, (from, to)) in files.into_iter().enumerate() {
        progress(done as u64, total);
        match if to.exists() { Ok(()) } else { copy_file(&from, &to) } {
            Err(error) if error.kind() == io::ErrorKind::NotFound => missing.push(from),
            outcome => outcome?,
        }
    }
    for folder in [copy.datasets(), copy.artifacts()] {
        sync_folder(&folder)?;
    }
    Ok(missing)
}

fn link_or_copy(from: &Path, to: &Path) -> io::Result<()> {
    match fs::hard_link(from, to) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Err(error),
        Err(_) => copy_whole(from, to), // another file system, or one without links
        Ok(()) => Ok(()),
    }
}

fn copy_whole(from: &Path, to: &Path) -> io::Result<()> {
    fs::copy(from, to)?;
    File::open(to)?.sync_all()
}
