//! The files of datasets kept in step with the database: cards, tables of older formats, files without an entry.

use super::{Dataset, DatasetError, DatasetStore, Table, table};
use crate::storage::card::Card;
use crate::storage::database::Stamp;
use crate::storage::inventory::{FileKind, OwnFile, Restored, quarantine_strays};
use serde::{Deserialize, Serialize};
use std::collections::HashSet;
use std::path::PathBuf;

/// What the database says of a dataset and its table does not: tables are written once, names come later.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct DatasetCard {
    id: String,
    /// The latest.
    name: String,
    /// All names that lead to it.
    names: Vec<String>,
}

impl DatasetStore {
    /// Brings cards and tables up to date and moves files without an entry to the quarantine. Damaged tables are named
    /// in the log; their datasets stay.
    pub(super) fn keep_up(&self) -> Result<(), DatasetError> {
        let known = self.list(None, usize::MAX)?;
        for dataset in &known {
            self.write_card(&dataset.id);
            if let Err(error) = self.migrate(dataset) {
                tracing::warn!(dataset = dataset.id, %error, "a table cannot be used, or not be migrated");
            }
        }
        let known: HashSet<&str> = known.iter().map(|dataset| dataset.id.as_str()).collect();
        for kind in [FileKind::Table, FileKind::DatasetCard] {
            quarantine_strays(&self.directory, kind, |file| known.contains(file.id.as_str()))?;
        }
        Ok(())
    }

    /// Writes the table of an older format again with checksums. Whole or not at all.
    fn migrate(&self, dataset: &Dataset) -> Result<(), DatasetError> {
        let old = self.open_kept(dataset)?;
        if !old.has_checksums() {
            let mut file = self.directory.temporary_file()?;
            table::rewrite(&old, dataset, &mut file)?;
            file.publish(&self.table_path(&dataset.id))?;
            tracing::info!(dataset = dataset.id, "migrated a table to the format with checksums");
        }
        Ok(())
    }

    /// Reads a whole table, which verifies it.
    pub fn verify(&self, dataset: &Dataset) -> Result<(), DatasetError> {
        self.open_kept(dataset)?.verify()
    }

    /// Makes entries for tables that have none, from what the tables and cards say.
    pub fn restore(&self, files: &[OwnFile]) -> Result<Restored<Dataset>, DatasetError> {
        let (mut found, mut unusable) = (Vec::new(), Vec::new());
        for file in files.iter().filter(|file| file.kind == FileKind::Table) {
            if self.find_by_id(&file.id)?.is_some() {
                continue;
            }
            match whole_table(file) {
                Ok(dataset) => {
                    let card: Option<Card<DatasetCard>> = Card::read(&self.card_path(&dataset.id)).ok();
                    found.push((card.as_ref().map_or(0, |card| card.stamp.count), dataset, card));
                }
                Err(error) => unusable.push((file.path.clone(), error.to_string())),
            }
        }
        // A name leads to the dataset it was last given to.
        found.sort_by(|one, other| (one.0, &one.1.created_at).cmp(&(other.0, &other.1.created_at)));
        let mut restored = Vec::new();
        for (_, mut dataset, card) in found {
            let mut names = vec![dataset.name.clone()];
            if let Some(card) = card {
                (dataset.name, names) = (card.content.name, card.content.names);
            }
            names.retain(|name| *name != dataset.id);
            names.sort_by_key(|name| *name == dataset.name); // the latest is given last
            self.insert(&dataset, &names)?;
            restored.push(dataset);
        }
        Ok(Restored { entries: restored, unusable })
    }

    /// Writes down what the database now says of a dataset, while the connection is held: the last to write has read the
    /// last state.
    pub(super) fn write_card(&self, id: &str) {
        let written = self.database.read(|connection| -> Result<_, rusqlite::Error> {
            let name = connection.query_row("SELECT name FROM datasets WHERE id = ?1", [id], |row| row.get(0))?;
            let mut query = connection.prepare("SELECT name FROM dataset_names WHERE dataset = ?1 ORDER BY name")?;
            let names = query.query_map([id], |row| row.get(0))?.collect::<Result<_, _>>()?;
            let content = DatasetCard { id: id.to_owned(), name, names };
            let card = Card { stamp: Stamp::read(connection)?, content };
            card.write_or_warn(&self.directory, &self.card_path(id));
            Ok(())
        });
        if let Err(error) = written {
            tracing::warn!(id, %error, "what the card of a dataset should say could not be read");
        }
    }

    pub(super) fn table_path(&self, id: &str) -> PathBuf {
        self.directory.datasets().join(format!("{id}.table"))
    }

    pub(super) fn card_path(&self, id: &str) -> PathBuf {
        self.directory.cards().join(format!("{id}.card"))
    }
}

/// The dataset of a table file of which every block is right.
fn whole_table(file: &OwnFile) -> Result<Dataset, DatasetError> {
    let refused = |detail: &str| DatasetError::Damaged { dataset: format!("'{}'", file.id), detail: detail.to_owned() };
    let dataset = Table::describe(&file.path)?;
    let dataset = dataset.ok_or_else(|| refused("its format is too old: it does not name its columns"))?;
    if dataset.id != file.id {
        return Err(refused("its file belongs to another dataset"));
    }
    Table::open(&file.path, &dataset)?.verify()?;
    Ok(dataset)
}
