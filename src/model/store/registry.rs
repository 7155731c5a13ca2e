//! Models by name and version, with their artifacts.

use super::scores::KnownScores;
use super::upkeep::insert;
use super::version::ModelReference;
use super::version_index::{IndexedModel, VersionIndex, from_row};
use crate::model::{
    ArtifactError, FittedModel, Imported, ModelVersion, RegistryError, check_alias, check_model_name, decode, encode,
};
use crate::storage::database::{Database, now};
use crate::storage::disk::Disk;
use crate::storage::files::{DataDir, at_path, hex};
use rusqlite::{Connection, OptionalExtension, params};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{ErrorKind, Read, Write};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard};

/// An artifact on disk that no version has yet. Should none ever have it, the next start moves it to
/// the quarantine.
pub struct StoredArtifact {
    id: String,
    dataset: String,
    bytes: u64,
    sha256: String,
    imported: Option<Imported>,
}

impl StoredArtifact {
    /// The artifact of a model that was not made here, or made from one that was not.
    #[must_use]
    pub fn marked_as(self, imported: Option<Imported>) -> Self {
        Self { imported, ..self }
    }

    /// Of a dataset that is known by another id here than in the file.
    #[must_use]
    pub fn of_dataset(self, dataset: &str) -> Self {
        Self { dataset: dataset.to_owned(), ..self }
    }
}

/// The models of a data directory; clones share it. Artifacts are named after the job that made
/// them, never after the model, so no text of a user becomes a path.
#[derive(Clone)]
pub struct ModelRegistry {
    pub(super) directory: DataDir,
    pub(super) database: Database,
    index: Arc<RwLock<VersionIndex>>,
    pub(super) known_scores: Arc<Mutex<KnownScores>>,
}

impl ModelRegistry {
    /// The registry as it is: nothing is changed.
    pub fn new(directory: DataDir, database: Database) -> Result<Self, RegistryError> {
        let index = Arc::new(RwLock::new(database.read(VersionIndex::read)?));
        Ok(Self { directory, database, index, known_scores: Arc::default() })
    }

    /// Opens the registry, brings its cards up to date and moves artifacts that no version refers to aside.
    pub fn open(directory: DataDir, database: Database) -> Result<Self, RegistryError> {
        let registry = Self::new(directory, database)?;
        registry.keep_up()?;
        Ok(registry)
    }

    /// The disk that artifacts are written to.
    pub fn disk(&self) -> &Disk {
        self.directory.disk()
    }

    /// Writes the artifact of a model under an id. It belongs to no version yet.
    pub fn store(&self, id: &str, model: &FittedModel) -> Result<StoredArtifact, RegistryError> {
        let bytes = encode(model)?;
        self.write(id, &bytes)?;
        Ok(StoredArtifact {
            id: id.to_owned(),
            dataset: model.dataset.clone(),
            bytes: bytes.len() as u64,
            sha256: hex(&Sha256::digest(&bytes)),
            imported: None,
        })
    }

    /// Makes a stored artifact the next version of `name`. Publishing the same artifact id again gives the version it
    /// already has. With `after`, only while that is still the newest version. `make_ready` is called when the
    /// version is certain and not yet visible.
    pub fn publish(
        &self,
        name: &str,
        stored: &StoredArtifact,
        description: &str,
        after: Option<u32>,
        make_ready: impl FnOnce(&Arc<ModelVersion>),
    ) -> Result<Arc<ModelVersion>, RegistryError> {
        check_model_name(name)?;
        let published = self.database.transact(|transaction| {
            if let Some(known) = find_artifact(transaction, &stored.id)? {
                return Ok(known);
            }
            let newest: Option<u32> =
                transaction.query_row("SELECT MAX(version) FROM models WHERE name = ?1", [name], |row| row.get(0))?;
            if after.is_some() && after != newest {
                return Err(RegistryError::Superseded { name: name.to_owned() });
            }
            let version = transaction.query_row(
                "INSERT INTO model_names (name, last_version) VALUES (?1, 1)
                 ON CONFLICT (name) DO UPDATE SET last_version = last_version + 1 RETURNING last_version",
                [name],
                |row| row.get(0),
            )?;
            let entry = ModelVersion {
                name: name.to_owned(),
                version,
                artifact: stored.id.clone(),
                dataset: stored.dataset.clone(),
                bytes: stored.bytes,
                sha256: stored.sha256.clone(),
                created_at: now(),
                imported: stored.imported.clone(),
            };
            insert(transaction, &entry, description)?;
            Ok(entry)
        });
        let published = published.map(Arc::new).inspect(make_ready);
        self.refresh(name)?;
        published
    }

    /// Replaces the artifact and the description of a version that still has the artifact `entry` names. The entry changes after the new file is
    /// stored, and the old file is removed last. `make_ready` is called as by [`Self::publish`].
    pub fn replace(
        &self,
        entry: &ModelVersion,
        stored: StoredArtifact,
        description: &str,
        make_ready: impl FnOnce(&Arc<ModelVersion>),
    ) -> Result<Arc<ModelVersion>, RegistryError> {
        let replaced = self.database.transact(|transaction| {
            Ok::<_, RegistryError>(transaction.execute(
                "UPDATE models SET artifact = ?1, bytes = ?2, sha256 = ?3, description = ?4
                 WHERE name = ?5 AND version = ?6 AND artifact = ?7",
                params![stored.id, stored.bytes, stored.sha256, description, entry.name, entry.version, entry.artifact],
            )?)
        })?;
        let (superfluous, outcome) = if replaced == 1 {
            let StoredArtifact { id, bytes, sha256, .. } = stored;
            let entry_now = Arc::new(ModelVersion { artifact: id, bytes, sha256, ..entry.clone() });
            make_ready(&entry_now);
            (entry.artifact.clone(), Ok(entry_now))
        } else {
            (stored.id, Err(RegistryError::NoVersion { name: entry.name.clone(), version: entry.version }))
        };
        self.refresh(&entry.name)?;
        match std::fs::remove_file(self.path(&superfluous)) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(error.into()),
            _ => outcome,
        }
    }

    /// The version an artifact was published as.
    pub fn find_artifact(&self, artifact: &str) -> Result<Option<ModelVersion>, RegistryError> {
        self.database.read(|connection| find_artifact(connection, artifact))
    }

    /// All versions, of one model or of all: by name, newest version first.
    pub fn list(&self, name: Option<&str>) -> Vec<Arc<ModelVersion>> {
        self.index().list(name)
    }

    /// The name of the only model, or how many there are. From memory.
    pub fn only_name(&self) -> Result<String, usize> {
        self.index().only_name().map(str::to_owned)
    }

    /// One version of `name` or `name@alias`; the newest if neither alias nor version is named. From memory.
    pub fn find(&self, name: &str, version: Option<u32>) -> Result<Arc<ModelVersion>, RegistryError> {
        let reference = ModelReference::parse(name)?;
        self.index().find(reference, version).map(Arc::clone)
    }

    /// The description of a version, as JSON.
    pub fn description(&self, entry: &ModelVersion) -> Result<String, RegistryError> {
        let query = "SELECT description FROM models WHERE name = ?1 AND version = ?2";
        let found = self.database.read(|connection| {
            connection.query_row(query, params![entry.name, entry.version], |row| row.get(0)).optional()
        })?;
        found.ok_or_else(|| RegistryError::NoVersion { name: entry.name.clone(), version: entry.version })
    }

    /// The aliases of a model with their versions.
    pub fn aliases(&self, name: &str) -> BTreeMap<String, u32> {
        self.index().aliases(name)
    }

    /// Points an alias at a version, in one step; returns whether the alias is new.
    pub fn point(&self, name: &str, alias: &str, version: u32) -> Result<bool, RegistryError> {
        check_model_name(name)?;
        check_alias(alias)?;
        let is_new = self.database.transact(|transaction| {
            let exists = "SELECT EXISTS (SELECT 1 FROM models WHERE name = ?1 AND version = ?2)";
            if !transaction.query_row(exists, params![name, version], |row| row.get(0))? {
                return Err(RegistryError::NoVersion { name: name.to_owned(), version });
            }
            let is_known = "SELECT EXISTS (SELECT 1 FROM aliases WHERE name = ?1 AND alias = ?2)";
            let is_known: bool = transaction.query_row(is_known, params![name, alias], |row| row.get(0))?;
            transaction.execute(
                "INSERT INTO aliases (name, alias, version) VALUES (?1, ?2, ?3)
                 ON CONFLICT (name, alias) DO UPDATE SET version = excluded.version",
                params![name, alias, version],
            )?;
            Ok(!is_known)
        })?;
        self.refresh(name)?;
        Ok(is_new)
    }

    /// Removes an alias and keeps its version.
    pub fn remove_alias(&self, name: &str, alias: &str) -> Result<(), RegistryError> {
        self.find(&format!("{name}@{alias}"), None)?;
        let _room = self.database.lend_room();
        self.database.transact(|transaction| {
            transaction.execute("DELETE FROM aliases WHERE name = ?1 AND alias = ?2", params![name, alias])
        })?;
        self.refresh(name)
    }

    /// Reads the artifact of a version.
    pub fn load(&self, entry: &ModelVersion) -> Result<FittedModel, RegistryError> {
        let mut bytes = Vec::new();
        self.artifact(entry)?.read_to_end(&mut bytes)?;
        decode(&bytes).map_err(|cause| RegistryError::Artifact {
            name: entry.name.clone(),
            version: entry.version,
            cause,
        })
    }

    /// The artifact of a version, opened. A version that was deleted or replaced since it was looked up is not found.
    pub fn artifact(&self, entry: &ModelVersion) -> Result<File, RegistryError> {
        let path = self.path(&entry.artifact);
        File::open(&path).map_err(|error| {
            let known = self.find(&entry.name, Some(entry.version));
            let is_there = known.is_ok_and(|known| known.artifact == entry.artifact);
            let (name, version) = (entry.name.clone(), entry.version);
            match error.kind() {
                ErrorKind::NotFound if is_there => {
                    RegistryError::Artifact { name, version, cause: ArtifactError::Missing }
                }
                ErrorKind::NotFound => RegistryError::NoVersion { name, version },
                _ => at_path(&path, &error).into(),
            }
        })
    }

    /// Removes one version, or all of a model, and returns those removed; refused while an alias points at one. Version
    /// numbers are never used again.
    pub fn delete(&self, name: &str, version: Option<u32>) -> Result<Vec<Arc<ModelVersion>>, RegistryError> {
        check_model_name(name)?;
        let newest = self.find(name, version)?;
        let removed = if version.is_some() { vec![newest] } else { self.list(Some(name)) };
        let _room = self.database.lend_room();
        self.database.transact(|transaction| {
            for entry in &removed {
                let alias = "SELECT alias FROM aliases WHERE name = ?1 AND version = ?2";
                let alias = transaction.query_row(alias, params![name, entry.version], |row| row.get(0)).optional()?;
                if let Some(alias) = alias {
                    return Err(RegistryError::Aliased { name: name.to_owned(), version: entry.version, alias });
                }
                transaction
                    .execute("DELETE FROM models WHERE name = ?1 AND version = ?2", params![name, entry.version])?;
            }
            Ok::<_, RegistryError>(())
        })?;
        self.refresh(name)?;
        for entry in &removed {
            match std::fs::remove_file(self.path(&entry.artifact)) {
                Err(error) if error.kind() == ErrorKind::NotFound => {} // another request deleted it first
                outcome => outcome?,
            }
        }
        Ok(removed)
    }

    fn write(&self, artifact: &str, bytes: &[u8]) -> Result<(), RegistryError> {
        self.database.expect_files()?;
        let mut file = self.directory.temporary_file()?;
        file.write_all(bytes)?;
        Ok(file.publish(&self.path(artifact))?)
    }

    /// Brings the index up to date with the database. Predictions wait for the swap only, never for the database; the
    /// swap happens while the connection is held, so concurrent calls cannot leave an older state behind.
    fn refresh(&self, name: &str) -> Result<(), RegistryError> {
        self.database.read(|connection| {
            let model = IndexedModel::read(connection, name)?;
            self.index.write().unwrap_or_else(PoisonError::into_inner).put(name, model);
            self.write_card(connection, name)
        })
    }

    fn index(&self) -> RwLockReadGuard<'_, VersionIndex> {
        self.index.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn path(&self, artifact: &str) -> PathBuf {
        self.directory.artifacts().join(format!("{artifact}.bochner"))
    }
}

fn find_artifact(connection: &Connection, artifact: &str) -> Result<Option<ModelVersion>, RegistryError> {
    Ok(connection.query_row("SELECT * FROM models WHERE artifact = ?1", [artifact], from_row).optional()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn registry_and_model() -> (tempfile::TempDir, ModelRegistry, FittedModel) {
        let folder = tempfile::tempdir().unwrap();
        let directory = DataDir::open(folder.path()).unwrap();
        let database = Database::open(&directory.database()).unwrap();
        let registry = ModelRegistry::open(directory, database).unwrap();
        let model = decode(include_bytes!("../../../tests/fixtures/artifacts/ridge.bochner")).unwrap();
        (folder, registry, model)
    }

    #[test]
    fn a_version_is_visible_only_when_it_is_ready() {
        let (_folder, registry, model) = registry_and_model();
        let newest = || registry.find("m", None).map(|entry| entry.version).ok();
        for (id, before, now) in [("a", None, Some(1)), ("b", Some(1), Some(2)), ("b", Some(2), Some(2))] {
            let stored = registry.store(id, &model).unwrap();
            let mut seen = None;
            registry.publish("m", &stored, "{}", None, |entry| seen = Some((newest(), entry.version))).unwrap();
            assert_eq!((seen, newest()), (now.map(|now| (before, now)), now));
        }
        let second = registry.find("m", None).unwrap();
        let stored = registry.store("c", &model).unwrap();
        let artifact = || registry.find("m", None).unwrap().artifact.clone();
        let mut seen = None;
        registry.replace(&second, stored, "{}", |entry| seen = Some((artifact(), entry.artifact.clone()))).unwrap();
        assert_eq!((seen, artifact()), (Some(("b".into(), "c".into())), "c".into()));
        assert!(!registry.path("b").exists() && registry.path("c").exists());
    }

    #[test]
    fn a_missing_artifact_is_said_of_its_version_until_that_is_deleted() {
        let (_folder, registry, model) = registry_and_model();
        let stored = registry.store("a", &model).unwrap();
        let entry = registry.publish("m", &stored, "{}", None, |_| {}).unwrap();
        let path = registry.path("a");
        std::fs::remove_file(&path).unwrap();
        let refusal = registry.artifact(&entry).unwrap_err();
        assert_eq!(refusal.to_string(), "the artifact of model 'm' version 1 cannot be used: its file is missing");
        registry.delete("m", None).unwrap();
        assert!(matches!(registry.artifact(&entry), Err(RegistryError::NoVersion { .. })));
    }
}
