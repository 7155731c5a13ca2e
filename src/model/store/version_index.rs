//! Which models there are, in memory: a prediction must not wait for the database to learn which version is meant.

use super::version::ModelReference;
use crate::model::{ModelVersion, RegistryError};
use rusqlite::{Connection, Row};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The models of a registry by name; the database is the truth, this is its mirror.
#[derive(Debug, Default)]
pub(crate) struct VersionIndex {
    models: BTreeMap<String, IndexEntry>,
}

/// One model.
#[derive(Debug, Default, Clone)]
pub(crate) struct IndexEntry {
    /// Newest first.
    versions: Vec<Arc<ModelVersion>>,
    aliases: BTreeMap<String, u32>,
}

impl IndexEntry {
    /// What the database holds of a model.
    pub(crate) fn read(connection: &Connection, name: &str) -> Result<Self, RegistryError> {
        let mut query = connection.prepare("SELECT * FROM models WHERE name = ?1 ORDER BY version DESC")?;
        let versions = query.query_map([name], |row| from_row(row).map(Arc::new))?.collect::<Result<_, _>>()?;
        let mut query = connection.prepare("SELECT alias, version FROM aliases WHERE name = ?1")?;
        let aliases = query.query_map([name], |row| Ok((row.get(0)?, row.get(1)?)))?.collect::<Result<_, _>>()?;
        Ok(Self { versions, aliases })
    }
}

impl VersionIndex {
    /// Everything that the database holds.
    pub(crate) fn read(connection: &Connection) -> Result<Self, RegistryError> {
        let mut catalogue = Self::default();
        let mut query = connection.prepare("SELECT DISTINCT name FROM models")?;
        let names: Vec<String> = query.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
        for name in names {
            let entry = IndexEntry::read(connection, &name)?;
            catalogue.put(&name, entry);
        }
        Ok(catalogue)
    }

    /// Puts what was read of a model in the place of what was known.
    pub(crate) fn put(&mut self, name: &str, entry: IndexEntry) {
        if entry.versions.is_empty() {
            self.models.remove(name);
        } else {
            self.models.insert(name.to_owned(), entry);
        }
    }

    /// One version: the one named, that of the alias, or the newest.
    pub(crate) fn find(
        &self,
        reference: ModelReference,
        version: Option<u32>,
    ) -> Result<&Arc<ModelVersion>, RegistryError> {
        let ModelReference { name, alias } = reference;
        let entry = self.models.get(name).ok_or_else(|| RegistryError::NotFound { name: name.to_owned() })?;
        let wanted = match alias {
            None => version,
            Some(alias) => {
                let no_alias = || RegistryError::NoAlias { name: name.to_owned(), alias: alias.to_owned() };
                let leads_to = *entry.aliases.get(alias).ok_or_else(no_alias)?;
                if let Some(version) = version.filter(|version| *version != leads_to) {
                    return Err(RegistryError::NoVersion { name: format!("{name}@{alias}"), version });
                }
                Some(leads_to)
            }
        };
        match wanted {
            None => entry.versions.first(),
            Some(version) => entry.versions.iter().find(|entry| entry.version == version),
        }
        .ok_or_else(|| RegistryError::NoVersion { name: name.to_owned(), version: wanted.unwrap_or_default() })
    }

    /// All versions, of one model or of all: by name, newest version first.
    pub(crate) fn list(&self, name: Option<&str>) -> Vec<Arc<ModelVersion>> {
        let entries = self.models.iter().filter(|(known, _)| name.is_none_or(|name| *known == name));
        entries.flat_map(|(_, entry)| entry.versions.iter().cloned()).collect()
    }

    /// The name of the only model, or how many there are.
    pub(crate) fn only_name(&self) -> Result<&str, usize> {
        let mut names = self.models.keys();
        names.next().filter(|_| names.next().is_none()).map(String::as_str).ok_or(self.models.len())
    }

    /// The aliases of a model with their versions.
    pub(crate) fn aliases(&self, name: &str) -> BTreeMap<String, u32> {
        self.models.get(name).map(|entry| entry.aliases.clone()).unwrap_or_default()
    }
}

pub(crate) fn from_row(row: &Row) -> rusqlite::Result<ModelVersion> {
    Ok(ModelVersion {
        name: row.get("name")?,
        version: row.get("version")?,
        artifact: row.get("artifact")?,
        dataset: row.get("dataset")?,
        bytes: row.get("bytes")?,
        sha256: row.get("sha256")?,
        created_at: row.get("created_at")?,
    })
}
