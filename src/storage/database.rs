//! The embedded database: one SQLite file for data sets, jobs and models.

use super::files::open_private;
use super::reserve::{Lent, Reserve};
use rusqlite::backup::Backup;
use rusqlite::{Connection, OpenFlags, Transaction};
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

/// Applied in order; entry i brings the schema from version i to i + 1. Entries are never edited.
const MIGRATIONS: [&str; 7] = [
    "
    CREATE TABLE datasets (
        id          TEXT PRIMARY KEY,
        name        TEXT NOT NULL,
        schema      TEXT NOT NULL,
        bytes       INTEGER NOT NULL,
        sha256      TEXT NOT NULL,
        created_at  TEXT NOT NULL
    ) STRICT;
    -- A name leads to the data set it was last given to.
    CREATE TABLE dataset_names (
        name    TEXT PRIMARY KEY,
        dataset TEXT NOT NULL REFERENCES datasets (id) ON DELETE CASCADE
    ) STRICT;

    CREATE TABLE jobs (
        id              TEXT PRIMARY KEY,
        kind            TEXT NOT NULL,
        model           TEXT NOT NULL,
        dataset         TEXT NOT NULL,
        payload         TEXT NOT NULL,
        status          TEXT NOT NULL,
        attempt         INTEGER NOT NULL,
        created_at      TEXT NOT NULL,
        started_at      TEXT,
        finished_at     TEXT,
        result          TEXT,
        error           TEXT,
        idempotency_key TEXT UNIQUE,
        fingerprint     TEXT NOT NULL
    ) STRICT;
    CREATE INDEX jobs_by_status ON jobs (status, id);

    -- No data set goes while a job that has not ended reads it, and no job comes without one.
    CREATE TRIGGER dataset_in_use BEFORE DELETE ON datasets
    WHEN EXISTS (SELECT 1 FROM jobs WHERE dataset = OLD.id AND status IN ('queued', 'running', 'canceling'))
    BEGIN SELECT RAISE(ABORT, 'dataset in use'); END;
    CREATE TRIGGER dataset_there BEFORE INSERT ON jobs
    WHEN NOT EXISTS (SELECT 1 FROM datasets WHERE id = NEW.dataset)
    BEGIN SELECT RAISE(ABORT, 'dataset not there'); END;

    CREATE TABLE model_names (
        name         TEXT PRIMARY KEY,
        last_version INTEGER NOT NULL
    ) STRICT;
    CREATE TABLE models (
        name        TEXT NOT NULL REFERENCES model_names (name),
        version     INTEGER NOT NULL,
        artifact    TEXT NOT NULL UNIQUE,
        dataset     TEXT NOT NULL,
        bytes       INTEGER NOT NULL,
        sha256      TEXT NOT NULL,
        description TEXT NOT NULL,
        created_at  TEXT NOT NULL,
        PRIMARY KEY (name, version)
    ) STRICT;
",
    "
    CREATE TABLE aliases (
        name    TEXT NOT NULL,
        alias   TEXT NOT NULL,
        version INTEGER NOT NULL,
        PRIMARY KEY (name, alias),
        FOREIGN KEY (name, version) REFERENCES models (name, version)
    ) STRICT;
",
    "
    -- The identity of this database, and how often its entries changed. Cards repeat both, so that a
    -- database that is older than the files, or not theirs, is noticed.
    CREATE TABLE changes (
        database TEXT NOT NULL,
        count    INTEGER NOT NULL
    ) STRICT;
    INSERT INTO changes SELECT lower(hex(randomblob(16))),
        (SELECT count(*) FROM datasets) + (SELECT count(*) FROM model_names);
    CREATE TRIGGER count_datasets_insert AFTER INSERT ON datasets BEGIN UPDATE changes SET count = count + 1; END;
    CREATE TRIGGER count_datasets_update AFTER UPDATE ON datasets BEGIN UPDATE changes SET count = count + 1; END;
    CREATE TRIGGER count_datasets_delete AFTER DELETE ON datasets BEGIN UPDATE changes SET count = count + 1; END;
    CREATE TRIGGER count_dataset_names_insert AFTER INSERT ON dataset_names BEGIN UPDATE changes SET count = count + 1; END;
    CREATE TRIGGER count_dataset_names_update AFTER UPDATE ON dataset_names BEGIN UPDATE changes SET count = count + 1; END;
    CREATE TRIGGER count_models_insert AFTER INSERT ON models BEGIN UPDATE changes SET count = count + 1; END;
    CREATE TRIGGER count_models_update AFTER UPDATE ON models BEGIN UPDATE changes SET count = count + 1; END;
    CREATE TRIGGER count_models_delete AFTER DELETE ON models BEGIN UPDATE changes SET count = count + 1; END;
    CREATE TRIGGER count_aliases_insert AFTER INSERT ON aliases BEGIN UPDATE changes SET count = count + 1; END;
    CREATE TRIGGER count_aliases_update AFTER UPDATE ON aliases BEGIN UPDATE changes SET count = count + 1; END;
    CREATE TRIGGER count_aliases_delete AFTER DELETE ON aliases BEGIN UPDATE changes SET count = count + 1; END;
",
    "
    -- Where a version came from that was not made here, as JSON.
    ALTER TABLE models ADD COLUMN imported TEXT;
",
    "
    -- Who submitted a job: a key or an address; nobody knows of those that were there before.
    ALTER TABLE jobs ADD COLUMN client TEXT NOT NULL DEFAULT '';
",
    "
    -- The trace of the request that submitted a job, as the header `traceparent`.
    ALTER TABLE jobs ADD COLUMN trace_parent TEXT;
",
    "
    -- Where the rows of a dataset are that stay where they are, as JSON, and where passes over them run.
    ALTER TABLE datasets ADD COLUMN location TEXT;
    ALTER TABLE jobs ADD COLUMN engine TEXT NOT NULL DEFAULT 'local';
",
];

/// Opens a file that is there; none is made.
const IN_PLACE: OpenFlags = OpenFlags::SQLITE_OPEN_READ_WRITE.union(OpenFlags::SQLITE_OPEN_NO_MUTEX);

/// For another process to finish what it writes.
const LONGEST_WAIT: Duration = Duration::from_secs(10);

/// Why the database cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// A newer version of us wrote it.
    #[error("its schema has version {found} and the newest known here is {known}; start the release that wrote it")]
    Newer {
        /// In the file.
        found: usize,
        /// By this binary.
        known: usize,
    },
    /// It is not readable or not writable.
    #[error(transparent)]
    Refused(#[from] rusqlite::Error),
    /// The file cannot be made.
    #[error(transparent)]
    Storage(#[from] std::io::Error),
}

impl OpenError {
    /// Whether the file is no database or a damaged one, as opposed to one that cannot be read just now.
    pub fn is_damage(&self) -> bool {
        matches!(self, Self::Refused(error) if matches!(
            error.sqlite_error_code(),
            Some(rusqlite::ErrorCode::NotADatabase | rusqlite::ErrorCode::DatabaseCorrupt)
        ))
    }
}

/// A handle to the database; clones share one connection.
#[derive(Clone)]
pub struct Database {
    connection: Arc<Mutex<Connection>>,
    reserve: Reserve,
}

impl Database {
    /// Opens or makes the file and brings its schema up to date.
    pub fn open(path: &Path) -> Result<Self, OpenError> {
        open_private(path)?; // the files that SQLite makes beside it are as private
        let mut connection = Connection::open(path)?;
        refuse_newer(&connection)?; // before anything is written
        connection.pragma_update(None, "journal_mode", "WAL")?;
        connection.pragma_update(None, "synchronous", "FULL")?; // answered means on disk
        connection.pragma_update(None, "foreign_keys", true)?;
        migrate(&mut connection)?;
        Ok(Self { connection: Arc::new(Mutex::new(connection)), reserve: Reserve::beside(path) })
    }

    /// Copies a database that others may be using to `target`, in place of what is there: as it was at one moment, with
    /// the jobs that were running back in the queue.
    pub fn copy(source: &Path, target: &Path) -> Result<(), OpenError> {
        let source = Connection::open_with_flags(source, IN_PLACE)?;
        source.busy_timeout(LONGEST_WAIT)?;
        refuse_newer(&source)?;
        for ending in ["", "-wal", "-shm"] {
            let mut file = target.as_os_str().to_owned();
            file.push(ending);
            match std::fs::remove_file(file) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error.into()),
                _ => {}
            }
        }
        open_private(target)?;
        let mut target = Connection::open(target)?;
        target.pragma_update(None, "synchronous", "FULL")?;
        Backup::new(&source, &mut target)?.run_to_completion(i32::MAX, Duration::ZERO, None)?; // all pages in one step
        target.execute("UPDATE jobs SET status = 'canceled', finished_at = ?1 WHERE status = 'canceling'", [now()])?;
        target.execute_batch(
            "UPDATE jobs SET status = 'queued', attempt = max(attempt - 1, 0) WHERE status = 'running'",
        )?;
        Ok(())
    }

    /// Runs `work` in one transaction: all of it or nothing, durable when this returns. Blocks for
    /// as long as a disk write takes, so async code calls it from a blocking thread.
    pub fn transact<T, E: From<rusqlite::Error>>(
        &self,
        work: impl FnOnce(&Transaction) -> Result<T, E>,
    ) -> Result<T, E> {
        let mut connection = self.connection.lock().unwrap_or_else(PoisonError::into_inner);
        let transaction = connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
        let outcome = work(&transaction)?;
        transaction.commit()?;
        Ok(outcome)
    }

    /// Room for a transaction that removes something, even on a full disk; to be held until its files are gone too.
    pub fn lend_room(&self) -> Lent<'_> {
        self.reserve.lend()
    }

    /// Whether the file is there and holds a schema of ours; nothing is made or changed.
    pub fn is_there(path: &Path) -> Result<bool, OpenError> {
        // SQLite would delete the -wal of an empty file, and with it perhaps all there is.
        if !path.metadata().is_ok_and(|file| file.len() > 0) {
            return Ok(false);
        }
        Ok(schema_version(&Connection::open_with_flags(path, IN_PLACE)?)? > 0)
    }

    /// Whether SQLite finds all of its own pages and indices in order.
    pub fn is_sound(&self) -> bool {
        let check = |connection: &Connection| connection.query_row("PRAGMA integrity_check", [], |row| row.get(0));
        self.read(check).is_ok_and(|answer: String| answer == "ok")
    }

    /// To be called before a file is published: a database whose count is still 0 cannot have left any.
    pub fn expect_files(&self) -> rusqlite::Result<()> {
        if self.read(Stamp::read)?.count == 0 {
            self.count_at_least(1)?;
        }
        Ok(())
    }

    /// Raises the count of changes, for a database that is made anew from files with later cards.
    pub fn count_at_least(&self, count: u64) -> rusqlite::Result<()> {
        self.transact(|transaction| transaction.execute("UPDATE changes SET count = max(count, ?1)", [count]).map(drop))
    }

    /// Runs read-only `work`.
    pub fn read<T, E: From<rusqlite::Error>>(&self, work: impl FnOnce(&Connection) -> Result<T, E>) -> Result<T, E> {
        work(&self.connection.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Which database it is, and how often its entries have changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stamp {
    /// Random, made with the database.
    pub database: String,
    /// Of the entries of datasets, models and aliases.
    pub count: u64,
}

impl Stamp {
    /// At this moment.
    pub fn read(connection: &Connection) -> rusqlite::Result<Self> {
        connection.query_row("SELECT database, count FROM changes", [], |row| {
            Ok(Self { database: row.get(0)?, count: row.get(1)? })
        })
    }
}

/// What a newer schema means cannot be known here, so its data is left alone.
fn refuse_newer(connection: &Connection) -> Result<(), OpenError> {
    let found = schema_version(connection)?;
    let known = MIGRATIONS.len();
    if found > known { Err(OpenError::Newer { found, known }) } else { Ok(()) }
}

fn migrate(connection: &mut Connection) -> rusqlite::Result<()> {
    let transaction = connection.transaction()?;
    let version = schema_version(&transaction)?;
    for migration in MIGRATIONS.iter().skip(version) {
        transaction.execute_batch(migration)?;
    }
    transaction.pragma_update(None, "user_version", MIGRATIONS.len())?;
    transaction.commit()
}

fn schema_version(connection: &Connection) -> rusqlite::Result<usize> {
    connection.pragma_query_value(None, "user_version", |row| row.get(0))
}

/// Whether a trigger of the schema refused.
pub fn refused_by_trigger(error: &rusqlite::Error) -> bool {
    matches!(error, rusqlite::Error::SqliteFailure(cause, _) if cause.extended_code == rusqlite::ffi::SQLITE_CONSTRAINT_TRIGGER)
}

/// The present moment as RFC 3339, in UTC, to the millisecond.
pub fn now() -> String {
    time_before(Duration::ZERO)
}

/// So long before the present moment, as RFC 3339. Texts of this form sort by time.
pub fn time_before(age: Duration) -> String {
    let time = SystemTime::now().checked_sub(age).unwrap_or(SystemTime::UNIX_EPOCH);
    humantime::format_rfc3339_millis(time.max(SystemTime::UNIX_EPOCH)).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_database_of_a_newer_release_is_refused_and_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("bochner.sqlite");
        let version = |database: &Database| database.read(schema_version).unwrap();
        assert_eq!(version(&Database::open(&path).unwrap()), MIGRATIONS.len());
        assert_eq!(version(&Database::open(&path).unwrap()), MIGRATIONS.len());
        let newer = Connection::open(&path).unwrap();
        newer.pragma_update(None, "user_version", 9).unwrap();
        let refusal = Database::open(&path).err().unwrap().to_string();
        assert!(
            refusal.contains("version 9") && refusal.contains(&format!("known here is {}", MIGRATIONS.len())),
            "{refusal}"
        );
        assert_eq!(schema_version(&newer).unwrap(), 9);
    }
}
