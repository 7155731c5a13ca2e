//! Checks every file of a data directory against its entry and its checksum, and repairs what can be repaired.

use super::StartError;
use super::data_directory::{Cause, Mismatch, card_stamps, check_match, check_presence, known_ids, lock, or_damaged};
use crate::dataset::DatasetStore;
use crate::model::ModelRegistry;
use crate::storage::database::Database;
use crate::storage::files::DataDir;
use crate::storage::inventory::{FileKind, OwnFile, own_files};
use std::io;
use std::path::{Path, PathBuf};

/// What was found, and what was done about it.
#[derive(Debug, Default)]
pub struct Examination {
    /// Datasets whose tables were read.
    pub datasets: usize,
    /// Versions of models whose artifacts were read.
    pub versions: usize,
    /// What is wrong still.
    pub problems: Vec<String>,
    /// What was wrong before.
    pub repairs: Vec<String>,
}

/// Reads every table and artifact of a data directory that no service uses. With `repair`, makes lost entries again
/// from the files and moves files that nothing refers to, or that are damaged beyond use, to the quarantine; without,
/// changes nothing. `progress` is told how many files of how many are done.
pub fn examine(data_dir: &Path, repair: bool, progress: &dyn Fn(u64, u64)) -> Result<Examination, StartError> {
    let unusable = |cause| StartError::DataDir { path: data_dir.display().to_string(), cause };
    if !data_dir.is_dir() {
        return Err(unusable(io::Error::new(io::ErrorKind::NotFound, "there is no such directory")));
    }
    let _lock = lock(data_dir)?;
    let files = own_files(&DataDir::at(data_dir)).map_err(unusable)?;
    let mut examination = Examination::default();
    if files.is_empty() && !Database::is_there(&DataDir::at(data_dir).database()).unwrap_or(true) {
        return Ok(examination); // a directory that is still to be used
    }
    let database = match open_database(data_dir, &files) {
        Ok(database) => database,
        Err(StartError::Mismatch(mismatch)) if repair => rebuild(data_dir, &files, &mismatch, &mut examination)?,
        Err(StartError::Mismatch(mismatch)) => {
            examination.problems.push(mismatch.to_string());
            return Ok(examination);
        }
        Err(other) => return Err(other),
    };
    check_files(data_dir, database, repair, (&mut examination, progress))?;
    Ok(examination)
}

/// The database, if it belongs to the files and is sound.
fn open_database(data_dir: &Path, files: &[OwnFile]) -> Result<Database, StartError> {
    let opened = || -> Result<Database, StartError> {
        check_presence(data_dir, files)?;
        let database = Database::open(&DataDir::at(data_dir).database())?;
        if !database.is_sound() {
            return Err(Mismatch::new(data_dir, files, Cause::Damaged).into());
        }
        check_match(data_dir, files, &database)?;
        Ok(database)
    };
    opened().map_err(|error| or_damaged(data_dir, files, error))
}

/// Makes the entries again from tables, artifacts and cards. Jobs are not among them: they are lost with the database.
fn rebuild(
    data_dir: &Path,
    files: &[OwnFile],
    mismatch: &Mismatch,
    examination: &mut Examination,
) -> Result<Database, StartError> {
    let unusable = |cause| StartError::DataDir { path: data_dir.display().to_string(), cause };
    let directory = DataDir::open(data_dir).map_err(unusable)?;
    // The remains of an unusable database are kept, in quarantine: SQLite would delete the -wal of an empty one.
    if matches!(mismatch.cause, Cause::Damaged | Cause::NoDatabase) {
        for ending in ["", "-wal", "-shm"] {
            let mut file = directory.database().into_os_string();
            file.push(ending);
            let file = PathBuf::from(file);
            if file.exists() {
                directory.move_to_quarantine(&file, "not a usable database").map_err(unusable)?;
                examination.repairs.push(format!("{}: not usable; moved to quarantine", file.display()));
            }
        }
    }
    let database = Database::open(&directory.database())?;
    let datasets = DatasetStore::new(directory.clone(), database.clone()).restore(files)?;
    let versions = ModelRegistry::new(directory, database.clone())?.restore(files)?;
    for dataset in &datasets.entries {
        examination.repairs.push(format!("dataset '{}' ({}): entry restored", dataset.name, dataset.id));
    }
    for entry in &versions.entries {
        examination.repairs.push(format!("model '{}' version {}: entry restored", entry.name, entry.version));
    }
    for (path, reason) in datasets.unusable.iter().chain(&versions.unusable) {
        examination.problems.push(format!("{}: not restored: {reason}", path.display()));
    }
    // From now on this database is ahead of every card.
    let latest = card_stamps(files).iter().map(|stamp| stamp.count).max().unwrap_or(0);
    database.count_at_least(latest + 1).map_err(crate::storage::database::OpenError::from)?;
    Ok(database)
}

/// Verifies what the database knows and names what it does not know.
fn check_files(
    data_dir: &Path,
    database: Database,
    repair: bool,
    (examination, progress): (&mut Examination, &dyn Fn(u64, u64)),
) -> Result<(), StartError> {
    let unusable = |cause| StartError::DataDir { path: data_dir.display().to_string(), cause };
    let directory = DataDir::at(data_dir);
    let known = known_ids(data_dir, &database)?;
    let is_stray = |file: &&OwnFile| file.kind != FileKind::ModelCard && !known.contains(&file.id);
    for stray in own_files(&directory).map_err(unusable)?.iter().filter(is_stray) {
        let what = format!("{}: no entry of the database refers to it", stray.path.display());
        if repair {
            examination.repairs.push(format!("{what}; moved to quarantine"));
        } else {
            examination.problems.push(format!("{what}; the next start moves it to quarantine"));
        }
    }
    let (datasets, registry) = if repair {
        let directory = DataDir::open(data_dir).map_err(unusable)?;
        (DatasetStore::open(directory.clone(), database.clone())?, ModelRegistry::open(directory, database)?)
    } else {
        (DatasetStore::new(directory.clone(), database.clone()), ModelRegistry::new(directory, database)?)
    };
    let (tables, versions) = (datasets.list(None, usize::MAX)?, registry.list(None));
    let total = (tables.len() + versions.len()) as u64;
    for (done, dataset) in tables.iter().enumerate() {
        progress(done as u64, total);
        examination.problems.extend(datasets.verify(dataset).err().map(|error| error.to_string()));
    }
    examination.datasets = tables.len();
    examination.versions = versions.len();
    if repair {
        let damaged = registry.quarantine_damaged().into_iter();
        examination
            .problems
            .extend(damaged.map(|error| format!("{error}; its file is in quarantine, if it was there")));
    } else {
        for (done, entry) in versions.iter().enumerate() {
            progress((tables.len() + done) as u64, total);
            examination.problems.extend(registry.verify(entry).err().map(|error| error.to_string()));
        }
    }
    Ok(())
}
