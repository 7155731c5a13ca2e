//! The lock of a data directory, and whether its database belongs to its files.

use super::StartError;
use crate::dataset::DatasetStore;
use crate::model::ModelRegistry;
use crate::storage::card::Card;
use crate::storage::database::{Database, Stamp};
use crate::storage::files::{DataDir, open_private};
use crate::storage::inventory::{FileKind, OwnFile};
use serde_json::Value;
use std::collections::HashSet;
use std::fmt;
use std::fs::File;
use std::path::{Path, PathBuf};

/// Why a database cannot be that of the files beside it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cause {
    /// There is none, or one without any table.
    NoDatabase,
    /// It never recorded a file.
    Unused,
    /// A card was written later, or by another database.
    Behind,
    /// It has entries, and no file of any of them is there.
    KnowsNone,
    /// SQLite cannot read it.
    Damaged,
}

/// A data directory whose database does not belong to its files.
#[derive(Debug, thiserror::Error)]
pub struct Mismatch {
    path: PathBuf,
    tables: usize,
    artifacts: usize,
    pub(super) cause: Cause,
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, tables, artifacts, cause } = self;
        let path = path.display();
        let cause = match cause {
            Cause::NoDatabase => "bochner.sqlite is missing or empty",
            Cause::Unused => "bochner.sqlite has never recorded any file",
            Cause::Behind => "bochner.sqlite is older than these files or belongs to others; its -wal may be missing",
            Cause::KnowsNone => "bochner.sqlite knows none of these files, and the files it knows are missing",
            Cause::Damaged => "bochner.sqlite is damaged",
        };
        write!(
            f,
            "the data directory {path} holds {tables} tables and {artifacts} model artifacts, and {cause}. Nothing was \
             changed. Put the right database back (bochner.sqlite together with its bochner.sqlite-wal), or make its \
             entries again from the files: bochner doctor --repair --data-dir {path}"
        )
    }
}

impl Mismatch {
    pub(super) fn new(path: &Path, files: &[OwnFile], cause: Cause) -> Self {
        let count = |kind| files.iter().filter(|file| file.kind == kind).count();
        let (tables, artifacts) = (count(FileKind::Table), count(FileKind::Artifact));
        Self { path: path.to_owned(), tables, artifacts, cause }
    }
}

/// Locks a data directory for this process, until the file is dropped.
pub(super) fn lock(data_dir: &Path) -> Result<File, StartError> {
    let path = || data_dir.display().to_string();
    let unusable = |cause| StartError::DataDir { path: path(), cause };
    let lock = open_private(&data_dir.join("bochner.lock")).map_err(unusable)?;
    lock.try_lock().map_err(|_| StartError::InUse(path()))?;
    Ok(lock)
}

/// The refusal of a database that SQLite cannot read; any other error as it is.
pub(super) fn or_damaged(data_dir: &Path, files: &[OwnFile], error: StartError) -> StartError {
    match error {
        StartError::Database(error) if error.is_damage() => Mismatch::new(data_dir, files, Cause::Damaged).into(),
        other => other,
    }
}

/// Refuses a data directory with files of ours and no database; to be asked before one is made.
pub(super) fn check_presence(data_dir: &Path, files: &[OwnFile]) -> Result<(), StartError> {
    if !files.is_empty() && !Database::is_there(&DataDir::at(data_dir).database())? {
        return Err(Mismatch::new(data_dir, files, Cause::NoDatabase).into());
    }
    Ok(())
}

/// Refuses a database that cannot have left the files as they are.
pub(super) fn check_match(data_dir: &Path, files: &[OwnFile], database: &Database) -> Result<(), StartError> {
    let stamp = database.read(Stamp::read).map_err(crate::storage::database::OpenError::from)?;
    let cards = card_stamps(files);
    let cause = if cards.iter().any(|card| card.database != stamp.database || card.count > stamp.count) {
        Cause::Behind
    } else if stamp.count == 0 && !files.is_empty() {
        Cause::Unused
    } else if knows_none(data_dir, files, database)? {
        Cause::KnowsNone
    } else {
        return Ok(());
    };
    Err(Mismatch::new(data_dir, files, cause).into())
}

/// What the cards say of the database that they were written by. A damaged card says nothing.
pub(super) fn card_stamps(files: &[OwnFile]) -> Vec<Stamp> {
    let cards = files.iter().filter(|file| matches!(file.kind, FileKind::DatasetCard | FileKind::ModelCard));
    cards.filter_map(|file| Card::<Value>::read(&file.path).ok()).map(|card| card.stamp).collect()
}

/// The ids of datasets and artifacts that the database has entries of.
pub(super) fn known_ids(data_dir: &Path, database: &Database) -> Result<HashSet<String>, StartError> {
    let directory = DataDir::at(data_dir);
    let datasets = DatasetStore::new(directory.clone(), database.clone()).list(None, usize::MAX)?;
    let versions = ModelRegistry::new(directory, database.clone())?.list(None);
    let artifacts = versions.iter().map(|version| version.artifact.clone());
    Ok(datasets.into_iter().map(|dataset| dataset.id).chain(artifacts).collect())
}

/// The tables and artifacts that a database refers to, as they are in one directory and as they would be in another.
pub(super) fn known_files(
    source: &DataDir,
    copy: &DataDir,
    database: &Database,
) -> Result<Vec<(PathBuf, PathBuf)>, StartError> {
    let datasets = DatasetStore::new(copy.clone(), database.clone()).list(None, usize::MAX)?;
    let versions = ModelRegistry::new(copy.clone(), database.clone())?.list(None);
    let tables = datasets.into_iter().map(|dataset| (FileKind::Table, dataset.id));
    let artifacts = versions.iter().map(|version| (FileKind::Artifact, version.artifact.clone()));
    let paths = |(kind, id): (FileKind, String)| (kind.path(source, &id), kind.path(copy, &id));
    Ok(tables.chain(artifacts).map(paths).collect())
}

fn knows_none(data_dir: &Path, files: &[OwnFile], database: &Database) -> Result<bool, StartError> {
    let known = known_ids(data_dir, database)?;
    let mut content = files.iter().filter(|file| matches!(file.kind, FileKind::Table | FileKind::Artifact)).peekable();
    Ok(!known.is_empty() && content.peek().is_some() && !content.any(|file| known.contains(&file.id)))
}
