//! All data sets of a data directory.

use super::columns::{ColumnOptions, intents, make_schema, profile};
use super::formats::csv::CsvOptions;
use super::formats::records::{FileReading, Records};
use super::formats::upload_format::UploadFormat;
use super::stored::{StoredLocation, StoredSchema};
use super::upload::Received;
use super::{ContentEncoding, DatasetError, DecimalMark, Location, Schema, Table, Task, table};
use crate::storage::database::{Database, now, refused_by_trigger};
use crate::storage::files::{DataDir, hex};
use rusqlite::{OptionalExtension, Row, Transaction, params};
use serde_json::json;
use sha2::{Digest, Sha256};
use std::io::ErrorKind;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

/// What the sender says about a table.
#[derive(Debug, Clone)]
pub struct UploadOptions {
    /// A name to find it by.
    pub name: Option<String>,
    /// Name of the target column, or several with commas between; the last column if absent.
    pub target: Option<String>,
    /// What is to be predicted; derived from the kind of the target if absent.
    pub task: Option<Task>,
    /// Columns that must be numbers.
    pub numeric: Vec<String>,
    /// What else is said about columns and cells.
    pub columns: ColumnOptions,
    /// The format; recognised by the first bytes and the name of the file if absent.
    pub format: Option<UploadFormat>,
    /// The name of the file, if it has one.
    pub file_name: Option<String>,
    /// How to read delimited text.
    pub csv: CsvOptions,
    /// How the body is compressed.
    pub encoding: ContentEncoding,
}

/// A stored dataset.
#[derive(Debug, Clone)]
pub struct Dataset {
    /// Derived from the content and how it is read.
    pub id: String,
    /// Given, or the id.
    pub name: String,
    /// Columns, target and task.
    pub schema: Schema,
    /// Size of the upload after decompression.
    pub bytes: u64,
    /// Of those bytes.
    pub sha256: String,
    /// RFC 3339.
    pub created_at: String,
    /// Where its rows are, if they are not here.
    pub location: Option<Location>,
}

impl Dataset {
    /// Where a listing goes on after this one; sound even if it is deleted meanwhile.
    pub fn cursor(&self) -> String {
        format!("{}_{}", self.created_at, self.id)
    }
}

/// The outcome of an upload.
pub enum Ingested {
    /// A data set that was not there before.
    New(Dataset),
    /// The same bytes, read the same way, were there already.
    Known(Dataset),
}

/// The data sets of a data directory; clones share it.
#[derive(Clone)]
pub struct DatasetStore {
    pub(super) directory: DataDir,
    pub(super) database: Database,
    /// Held while a table file and its entry come or go together.
    pub(super) changing: Arc<Mutex<()>>,
    /// The program bochner, which reads Parquet and Arrow files in a child process.
    pub(super) program: Option<PathBuf>,
}

impl DatasetStore {
    /// The store as it is: nothing is changed.
    pub fn new(directory: DataDir, database: Database) -> Self {
        Self { directory, database, changing: Arc::default(), program: None }
    }

    /// Opens the store, brings its files up to date and moves files that no entry refers to aside.
    pub fn open(directory: DataDir, database: Database) -> Result<Self, DatasetError> {
        let store = Self::new(directory, database);
        store.keep_up()?;
        Ok(store)
    }

    /// Takes in the rows of an upload. A table that is there already is verified, and written again if it is damaged.
    pub(super) fn ingest_records(
        &self,
        received: &Received,
        reading: FileReading,
        options: &UploadOptions,
    ) -> Result<Ingested, DatasetError> {
        let limits = reading.limits;
        if options.columns.decimal == DecimalMark::Comma && !reading.format.is_delimited() {
            let title = reading.format.title();
            let detail =
                format!("numbers in {title} have a decimal point; write them so, or send the table as text/csv");
            return Err(DatasetError::Option { option: "decimal", detail });
        }
        let id = identity(&received.sha256, reading.format, reading.csv, options);
        let open = || Records::open(received.file.path(), reading);
        if let Some(dataset) = self.find_by_id(&id)? {
            self.repair(&dataset, open)?;
            let _changing = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
            // If it was deleted meanwhile, these bytes are a new dataset.
            if let Some(dataset) = self.find_by_id(&id)? {
                return Ok(Ingested::Known(self.rename(dataset, options.name.as_deref())?));
            }
        }

        let mut source = open()?;
        source.refuse_single_column(reading.csv.delimiter)?;
        let intents = intents(&source.names, options)?;
        let profiled = profile(&mut source, limits.levels, &options.columns.notation(), &intents)?;
        let row_count = profiled.row_count;
        let cells = row_count.saturating_mul(source.names.len() as u64);
        if cells > limits.cells as u64 {
            let (columns, limit) = (source.names.len(), limits.cells);
            let detail = format!(
                "{row_count} rows of {columns} columns are {cells} cells; the limit is {limit}; send fewer rows or columns"
            );
            return Err(DatasetError::Table { detail });
        }
        let schema = make_schema(&source.names, profiled, &intents, options)?;
        let dataset = Dataset {
            name: options.name.clone().unwrap_or_else(|| id.clone()),
            id,
            schema,
            bytes: received.bytes,
            sha256: received.sha256.clone(),
            created_at: now(),
            location: None,
        };
        let mut file = self.directory.temporary_file()?;
        table::write(&mut open()?, &dataset, &mut file)?;
        let _changing = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        self.database.expect_files()?;
        file.publish(&self.table_path(&dataset.id))?;
        if self.insert(&dataset, options.name.as_slice())? {
            self.write_card(&dataset.id);
            Ok(Ingested::New(dataset))
        } else {
            // Two uploads of the same bytes raced; they wrote the same file.
            self.find(&dataset.id).map(Ingested::Known)
        }
    }

    /// Up to `limit` data sets, newest first, after the one a `cursor` stands for.
    pub fn list(&self, cursor: Option<&str>, limit: usize) -> Result<Vec<Dataset>, DatasetError> {
        let (time, id) = match cursor.map(|cursor| cursor.split_once('_')) {
            None => (None, None),
            Some(Some((time, id))) => (Some(time), Some(id)),
            Some(None) => {
                let detail = "must be the next_cursor of an earlier page".to_owned();
                return Err(DatasetError::Option { option: "cursor", detail });
            }
        };
        self.database.read(|connection| {
            let mut query = connection.prepare(
                "SELECT * FROM datasets WHERE ?1 IS NULL OR (created_at, id) < (?1, ?2)
                 ORDER BY created_at DESC, id DESC LIMIT ?3",
            )?;
            let limit = i64::try_from(limit).unwrap_or(i64::MAX);
            let rows = query.query_map(params![time, id, limit], from_row)?;
            Ok(rows.collect::<Result<_, _>>()?)
        })
    }

    /// The data set with this id, or else the one this name was last given to.
    pub fn find(&self, id_or_name: &str) -> Result<Dataset, DatasetError> {
        let found = self.database.read(|connection| -> Result<_, DatasetError> {
            let mut query = connection.prepare(
                "SELECT * FROM datasets WHERE id = ?1 OR id = (SELECT dataset FROM dataset_names WHERE name = ?1)
                 ORDER BY id = ?1 DESC LIMIT 1",
            )?;
            Ok(query.query_row([id_or_name], from_row).optional()?)
        })?;
        found.ok_or_else(|| DatasetError::NotFound { id: id_or_name.to_owned() })
    }

    /// The rows of a data set, which must be here.
    pub fn open_table(&self, dataset: &Dataset) -> Result<Table, DatasetError> {
        dataset.check_stored()?;
        self.open_kept(dataset)
    }

    /// The rows of a data set that are here: all, or a few of those that stay where they are.
    pub fn open_kept(&self, dataset: &Dataset) -> Result<Table, DatasetError> {
        Table::open(&self.table_path(&dataset.id), dataset)
    }

    /// Removes a data set, named by id or name: first its entry, then its files.
    pub fn delete(&self, id_or_name: &str) -> Result<(), DatasetError> {
        let id = self.find(id_or_name)?.id;
        let _changing = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        let _room = self.database.lend_room();
        let removed = self.database.transact(|transaction| -> Result<_, DatasetError> {
            let removed = transaction.execute("DELETE FROM datasets WHERE id = ?1", [&id]);
            removed.map_err(|error| {
                if refused_by_trigger(&error) { DatasetError::InUse { id: id.clone() } } else { error.into() }
            })
        })?;
        if removed == 0 {
            return Err(DatasetError::NotFound { id });
        }
        for file in [self.table_path(&id), self.card_path(&id)] {
            match std::fs::remove_file(file) {
                Err(error) if error.kind() != ErrorKind::NotFound => return Err(error.into()),
                _ => {}
            }
        }
        Ok(())
    }

    /// Writes a table again from the bytes it was made of, if it is damaged or missing.
    fn repair(
        &self,
        dataset: &Dataset,
        source: impl Fn() -> Result<Records, DatasetError>,
    ) -> Result<(), DatasetError> {
        match self.verify(dataset) {
            Err(error @ DatasetError::Damaged { .. }) => {
                let mut file = self.directory.temporary_file()?;
                table::write(&mut source()?, dataset, &mut file)?;
                let _changing = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
                if self.find_by_id(&dataset.id)?.is_some() {
                    file.publish(&self.table_path(&dataset.id))?;
                    tracing::info!(%error, "repaired a dataset from a new upload of its bytes");
                }
                Ok(())
            }
            outcome => outcome,
        }
    }

    pub(super) fn find_by_id(&self, id: &str) -> Result<Option<Dataset>, DatasetError> {
        self.database.read(|connection| {
            Ok(connection.query_row("SELECT * FROM datasets WHERE id = ?1", [id], from_row).optional()?)
        })
    }

    /// Enters a dataset together with the names that lead to it, the latest last. Whether the entry is new.
    pub(super) fn insert(&self, dataset: &Dataset, names: &[String]) -> Result<bool, DatasetError> {
        let schema =
            serde_json::to_string(&StoredSchema::from(dataset.schema.clone())).map_err(std::io::Error::from)?;
        let location = dataset.location.clone().map(StoredLocation::from);
        let location = location.as_ref().map(serde_json::to_string).transpose().map_err(std::io::Error::from)?;
        self.database.transact(|transaction| {
            let inserted = transaction.execute(
                "INSERT INTO datasets (id, name, schema, bytes, sha256, created_at, location)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT (id) DO NOTHING",
                params![dataset.id, dataset.name, schema, dataset.bytes, dataset.sha256, dataset.created_at, location],
            )?;
            for name in names {
                lead(transaction, name, &dataset.id)?;
            }
            Ok(inserted == 1)
        })
    }

    /// Gives a data set a name; names it had before still lead to it.
    pub(super) fn rename(&self, mut dataset: Dataset, name: Option<&str>) -> Result<Dataset, DatasetError> {
        if let Some(name) = name {
            self.database.transact(|transaction| lead(transaction, name, &dataset.id))?;
            name.clone_into(&mut dataset.name);
        }
        self.write_card(&dataset.id);
        Ok(dataset)
    }
}

/// Makes a name lead to a dataset.
fn lead(transaction: &Transaction, name: &str, id: &str) -> Result<(), DatasetError> {
    transaction.execute("UPDATE datasets SET name = ?2 WHERE id = ?1", params![id, name])?;
    transaction.execute(
        "INSERT INTO dataset_names (name, dataset) VALUES (?1, ?2)
         ON CONFLICT (name) DO UPDATE SET dataset = excluded.dataset",
        params![name, id],
    )?;
    Ok(())
}

/// The same bytes, read the same way, are the same data set, whatever its name. Ids that exist come from this very text:
/// it must not change.
pub(super) fn identity(sha256: &str, format: UploadFormat, csv: CsvOptions, options: &UploadOptions) -> String {
    let CsvOptions { delimiter, header } = csv;
    let header = match header {
        None => "None",
        Some(true) => "Some(true)",
        Some(false) => "Some(false)",
    };
    let task = match options.task {
        None => "None",
        Some(Task::Regression) => "Some(Regression)",
        Some(Task::Classification) => "Some(Classification)",
    };
    let target = options.target.as_ref().map_or("None".to_owned(), |target| format!("Some({})", json!(target)));
    let numeric: Vec<String> = options.numeric.iter().map(|name| json!(name).to_string()).collect();
    let numeric = numeric.join(", ");
    let csv = format!("CsvOptions {{ delimiter: {delimiter}, header: {header} }}");
    let way = if format.is_delimited() { &csv } else { format.media_type() };
    let reading = format!("{sha256} {way} {target} {task} [{numeric}]{}", options.columns.identity());
    format!("ds-{}", &hex(&Sha256::digest(reading))[..20])
}

fn from_row(row: &Row) -> rusqlite::Result<Dataset> {
    let schema: String = row.get("schema")?;
    let location: Option<String> = row.get("location")?;
    let unreadable = |error: serde_json::Error| {
        rusqlite::Error::FromSqlConversionFailure(2, rusqlite::types::Type::Text, error.into())
    };
    let location =
        location.map(|text| serde_json::from_str::<StoredLocation>(&text)).transpose().map_err(unreadable)?;
    Ok(Dataset {
        id: row.get("id")?,
        name: row.get("name")?,
        schema: serde_json::from_str::<StoredSchema>(&schema).map_err(unreadable)?.into(),
        bytes: row.get("bytes")?,
        sha256: row.get("sha256")?,
        created_at: row.get("created_at")?,
        location: location.map(Into::into),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As given out by every release so far.
    #[test]
    fn ids_stay_the_same() {
        let mut options = UploadOptions {
            name: None,
            target: Some("y".into()),
            task: Some(Task::Regression),
            numeric: vec!["a".into(), "b".into()],
            columns: ColumnOptions::default(),
            format: Some(UploadFormat::Csv),
            file_name: None,
            csv: CsvOptions { delimiter: b',', header: Some(true) },
            encoding: ContentEncoding::Identity,
        };
        assert_eq!(identity("abc", UploadFormat::Csv, options.csv, &options), "ds-8d911319e77a39aacbab");
        options.csv = CsvOptions { delimiter: b';', header: None };
        (options.target, options.task, options.numeric) = (None, None, vec![]);
        assert_eq!(identity("abc", UploadFormat::Csv, options.csv, &options), "ds-5da46b4520d4624647bc");
    }
}
