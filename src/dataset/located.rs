//! Datasets whose rows stay in files elsewhere. Of these, the schema and a few rows are kept here.

use super::{Dataset, DatasetError, DatasetStore, Ingested, Schema, table};
use crate::storage::database::now;
use crate::storage::files::hex;
use serde_json::json;
use sha2::{Digest, Sha256};
use std::sync::PoisonError;

/// Where the rows of a dataset are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Location {
    /// `file:/…`, the path with all links resolved.
    pub uri: String,
    /// The id of the files when the dataset was registered: of names, sizes and row counts.
    pub files: String,
    /// Columns of the files that are left out.
    pub ignored: Vec<String>,
    /// Rows of a sample that are kept here, to be shown.
    pub kept_rows: u64,
}

/// A table that was measured where it is.
#[derive(Debug, Clone)]
pub struct Located {
    /// Where.
    pub location: Location,
    /// A name to find it by.
    pub name: Option<String>,
    /// Of all rows.
    pub schema: Schema,
    /// Of all files.
    pub bytes: u64,
    /// Of the names, sizes and row counts of the files.
    pub sha256: String,
}

impl Located {
    /// The same files at the same place, read the same way, are the same dataset.
    fn identity(&self) -> String {
        let columns: Vec<&str> = self.schema.columns.iter().map(|column| column.name.as_str()).collect();
        let text = json!(["location", self.location.uri, self.sha256, columns, self.schema.targets]).to_string();
        format!("ds-{}", &hex(&Sha256::digest(text))[..20])
    }
}

impl Dataset {
    /// Rows of its table file: a few of those that stay where they are.
    pub(super) fn kept_rows(&self) -> u64 {
        self.location.as_ref().map_or(self.schema.row_count, |location| location.kept_rows)
    }

    /// Refuses a dataset whose rows are not here.
    pub fn check_stored(&self) -> Result<(), DatasetError> {
        match &self.location {
            None => Ok(()),
            Some(location) => Err(DatasetError::Located { id: self.id.clone(), uri: location.uri.clone() }),
        }
    }
}

impl DatasetStore {
    /// Takes in a table that stays where it is, with the cells of the rows that are kept.
    pub fn register(&self, located: Located, cells: &[f64]) -> Result<Ingested, DatasetError> {
        let id = located.identity();
        let Located { location, name, schema, bytes, sha256 } = located;
        let named = name.clone();
        let dataset = Dataset {
            name: name.unwrap_or_else(|| id.clone()),
            id,
            schema,
            bytes,
            sha256,
            created_at: now(),
            location: Some(location),
        };
        let mut file = self.directory.temporary_file()?;
        table::write_cells(&dataset, cells, &mut file)?;
        let _changing = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = self.find_by_id(&dataset.id)? {
            return Ok(Ingested::Known(self.rename(known, named.as_deref())?));
        }
        self.database.expect_files()?;
        file.publish(&self.table_path(&dataset.id))?;
        self.insert(&dataset, named.as_slice())?;
        self.write_card(&dataset.id);
        Ok(Ingested::New(dataset))
    }
}
