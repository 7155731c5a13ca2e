//! The index of models in memory, so that a prediction finds its version without the database.

use super::version::ModelReference;
use crate::model::{ModelVersion, RegistryError};
use rusqlite::{Connection, Row};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The models of a registry by name: a copy of what the database holds.
#[derive(Debug, Default)]
pub(crate) struct VersionIndex {
    models: BTreeMap<String, IndexedModel>,
}

/// The versions and aliases of one model.
#[derive(Debug, Default, Clone)]
pub(crate) struct IndexedModel {
    /// Newest first.
    versions: Vec<Arc<ModelVersion>>,
    aliases: BTreeMap<String, u32>,
}

impl IndexedModel {
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
        let mut index = Self::default();
        let mut query = connection.prepare("SELECT DISTINCT name FROM models")?;
        let names: Vec<String> = query.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
        for name in names {
            let model = IndexedModel::read(connection, &name)?;
            index.put(&name, model);
        }
        Ok(index)
    }

    /// Replaces what the index holds of a model; one without versions is removed.
    pub(crate) fn put(&mut self, name: &str, model: IndexedModel) {
        if model.versions.is_empty() {
            self.models.remove(name);
        } else {
            self.models.insert(name.to_owned(), model);
        }
    }

    /// One version: the one named, that of the alias, or the newest.
    pub(crate) fn find(
        &self,
        reference: ModelReference,
        version: Option<u32>,
    ) -> Result<&Arc<ModelVersion>, RegistryError> {
        let ModelReference { name, alias } = reference;
        let model = self.models.get(name).ok_or_else(|| RegistryError::NotFound { name: name.to_owned() })?;
        let wanted = match alias {
            None => version,
            Some(alias) => {
                let no_alias = || RegistryError::NoAlias { name: name.to_owned(), alias: alias.to_owned() };
                let aliased = *model.aliases.get(alias).ok_or_else(no_alias)?;
                if let Some(version) = version.filter(|version| *version != aliased) {
                    return Err(RegistryError::NoVersion { name: format!("{name}@{alias}"), version });
                }
                Some(aliased)
            }
        };
        match wanted {
            None => model.versions.first(),
            Some(version) => model.versions.iter().find(|entry| entry.version == version),
        }
        .ok_or_else(|| RegistryError::NoVersion { name: name.to_owned(), version: wanted.unwrap_or_default() })
    }

    /// All versions, of one model or of all: by name, newest version first.
    pub(crate) fn list(&self, name: Option<&str>) -> Vec<Arc<ModelVersion>> {
        let models = self.models.iter().filter(|(known, _)| name.is_none_or(|name| *known == name));
        models.flat_map(|(_, model)| model.versions.iter().cloned()).collect()
    }

    /// The name of the only model, or how many there are.
    pub(crate) fn only_name(&self) -> Result<&str, usize> {
        let mut names = self.models.keys();
        names.next().filter(|_| names.next().is_none()).map(String::as_str).ok_or(self.models.len())
    }

    /// The aliases of a model with their versions.
    pub(crate) fn aliases(&self, name: &str) -> BTreeMap<String, u32> {
        self.models.get(name).map(|model| model.aliases.clone()).unwrap_or_default()
    }
}

pub(crate) fn from_row(row: &Row) -> rusqlite::Result<ModelVersion> {
    let damaged = |_| rusqlite::Error::InvalidColumnType(0, "imported".to_owned(), rusqlite::types::Type::Text);
    let imported: Option<String> = row.get("imported")?;
    Ok(ModelVersion {
        name: row.get("name")?,
        version: row.get("version")?,
        artifact: row.get("artifact")?,
        dataset: row.get("dataset")?,
        bytes: row.get("bytes")?,
        sha256: row.get("sha256")?,
        created_at: row.get("created_at")?,
        imported: imported.map(|text| serde_json::from_str(&text)).transpose().map_err(damaged)?,
    })
}
