//! Names, versions and where their artifacts lie.

use super::{ArtifactError, FittedModel, decode, encode};
use crate::database::{Database, now};
use crate::files::{DataDir, hex, sweep};
use rusqlite::{Connection, OptionalExtension, Row, params};
use sha2::{Digest, Sha256};
use std::collections::HashSet;
use std::io::{ErrorKind, Write};
use std::path::PathBuf;

/// Why the registry refused.
#[derive(Debug, thiserror::Error)]
pub enum RegistryError {
    /// A name that could not be a file, a label or a path segment everywhere.
    #[error("'{name}' is not a model name: 1 to 64 of a-z A-Z 0-9 . _ - and the first a letter or digit")]
    Name {
        /// As given.
        name: String,
    },
    /// No such model.
    #[error("there is no model '{name}'")]
    NotFound {
        /// As asked for.
        name: String,
    },
    /// No such version.
    #[error("model '{name}' has no version {version}")]
    NoVersion {
        /// Of the model.
        name: String,
        /// As asked for.
        version: u32,
    },
    /// The artifact on disk is not usable.
    #[error("the artifact of model '{name}' version {version} cannot be used: {cause}")]
    Artifact {
        /// Of the model.
        name: String,
        /// Of the model.
        version: u32,
        /// Why.
        cause: ArtifactError,
    },
    /// Another version came first.
    #[error("model '{name}' has a newer version")]
    Superseded {
        /// Of the model.
        name: String,
    },
    /// A new artifact could not be made.
    #[error("the artifact could not be made: {0}")]
    Encode(#[from] ArtifactError),
    /// The disk refused.
    #[error("storage failed: {0}")]
    Storage(#[from] std::io::Error),
    /// The database refused.
    #[error("the database failed: {0}")]
    Database(#[from] rusqlite::Error),
}

/// One version of a model.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelVersion {
    /// Of the model.
    pub name: String,
    /// 1, 2, 3 …
    pub version: u32,
    /// Id of its artifact: the job that made it.
    pub artifact: String,
    /// Id of the data set it was trained on.
    pub dataset: String,
    /// Size of the artifact.
    pub bytes: u64,
    /// Of the artifact: the same data, spec and seed give the same.
    pub sha256: String,
    /// What is told about it, as JSON.
    pub description: String,
    /// RFC 3339.
    pub created_at: String,
}

/// A safe model name: `[a-zA-Z0-9][a-zA-Z0-9._-]{0,63}`.
pub fn check_model_name(name: &str) -> Result<(), RegistryError> {
    let mut characters = name.chars();
    let fits = characters.next().is_some_and(|first| first.is_ascii_alphanumeric())
        && characters.all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-'))
        && name.len() <= 64;
    if fits { Ok(()) } else { Err(RegistryError::Name { name: name.chars().take(80).collect() }) }
}

/// The models of a data directory; clones share it. Artifacts are named after the job that made
/// them, never after the model, so no user's text becomes a path.
#[derive(Clone)]
pub struct ModelRegistry {
    directory: DataDir,
    database: Database,
}

impl ModelRegistry {
    /// Opens the registry and removes artifacts that no version refers to.
    pub fn open(directory: DataDir, database: Database) -> Result<Self, RegistryError> {
        let registry = Self { directory, database };
        let known: HashSet<String> = registry.list(None)?.into_iter().map(|version| version.artifact).collect();
        sweep(&registry.directory.artifacts(), |stem| known.contains(stem))?;
        Ok(registry)
    }

    /// Stores a model as the next version of `name`: first the artifact, then its entry. Publishing
    /// the same artifact id again gives the version it already has. With `after`, only while that is
    /// still the newest version.
    pub fn publish(
        &self,
        name: &str,
        artifact: &str,
        model: &FittedModel,
        description: &str,
        after: Option<u32>,
    ) -> Result<ModelVersion, RegistryError> {
        check_model_name(name)?;
        let bytes = encode(model)?;
        let sha256 = hex(&Sha256::digest(&bytes));
        let mut file = self.directory.temporary_file()?;
        file.write_all(&bytes)?;
        file.publish(&self.path(artifact))?;
        self.database.transact(|transaction| {
            if let Some(known) = find_artifact(transaction, artifact)? {
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
                artifact: artifact.to_owned(),
                dataset: model.dataset.clone(),
                bytes: bytes.len() as u64,
                sha256: sha256.clone(),
                description: description.to_owned(),
                created_at: now(),
            };
            transaction.execute(
                "INSERT INTO models (name, version, artifact, dataset, bytes, sha256, description, created_at)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
                params![name, version, artifact, entry.dataset, entry.bytes, sha256, description, entry.created_at],
            )?;
            Ok(entry)
        })
    }

    /// Puts another artifact in the place of that of a version, which must still be there with the one `entry`
    /// names: first the new file, then the entry, then the old file goes.
    pub fn replace(
        &self,
        entry: &ModelVersion,
        artifact: &str,
        model: &FittedModel,
    ) -> Result<ModelVersion, RegistryError> {
        let bytes = encode(model)?;
        let sha256 = hex(&Sha256::digest(&bytes));
        let mut file = self.directory.temporary_file()?;
        file.write_all(&bytes)?;
        file.publish(&self.path(artifact))?;
        let replaced = self.database.transact(|transaction| {
            Ok::<_, RegistryError>(transaction.execute(
                "UPDATE models SET artifact = ?1, bytes = ?2, sha256 = ?3
                 WHERE name = ?4 AND version = ?5 AND artifact = ?6",
                params![artifact, bytes.len() as u64, sha256, entry.name, entry.version, entry.artifact],
            )?)
        })?;
        let (superfluous, outcome) = if replaced == 1 {
            let bytes = bytes.len() as u64;
            (
                entry.artifact.as_str(),
                Ok(ModelVersion { artifact: artifact.to_owned(), bytes, sha256, ..entry.clone() }),
            )
        } else {
            (artifact, Err(RegistryError::NoVersion { name: entry.name.clone(), version: entry.version }))
        };
        match std::fs::remove_file(self.path(superfluous)) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(error.into()),
            _ => outcome,
        }
    }

    /// The version an artifact was published as.
    pub fn find_artifact(&self, artifact: &str) -> Result<Option<ModelVersion>, RegistryError> {
        self.database.read(|connection| find_artifact(connection, artifact))
    }

    /// All versions, of one model or of all: by name, newest version first.
    pub fn list(&self, name: Option<&str>) -> Result<Vec<ModelVersion>, RegistryError> {
        self.database.read(|connection| {
            let mut query =
                connection.prepare("SELECT * FROM models WHERE ?1 IS NULL OR name = ?1 ORDER BY name, version DESC")?;
            let rows = query.query_map([name], from_row)?;
            Ok(rows.collect::<Result<_, _>>()?)
        })
    }

    /// One version, the newest if none is named.
    pub fn find(&self, name: &str, version: Option<u32>) -> Result<ModelVersion, RegistryError> {
        check_model_name(name)?;
        let versions = self.list(Some(name))?;
        let found = versions.iter().find(|entry| version.is_none_or(|version| entry.version == version));
        match (found, version) {
            (Some(entry), _) => Ok(entry.clone()),
            (None, Some(version)) if !versions.is_empty() => {
                Err(RegistryError::NoVersion { name: name.to_owned(), version })
            }
            (None, _) => Err(RegistryError::NotFound { name: name.to_owned() }),
        }
    }

    /// Reads the artifact of a version.
    pub fn load(&self, entry: &ModelVersion) -> Result<FittedModel, RegistryError> {
        let bytes = match std::fs::read(self.path(&entry.artifact)) {
            // Deleted since it was looked up.
            Err(error) if error.kind() == ErrorKind::NotFound => {
                return Err(RegistryError::NoVersion { name: entry.name.clone(), version: entry.version });
            }
            outcome => outcome?,
        };
        decode(&bytes).map_err(|cause| RegistryError::Artifact {
            name: entry.name.clone(),
            version: entry.version,
            cause,
        })
    }

    /// Removes one version, or all of a model, and tells which. Version numbers are never given out
    /// again.
    pub fn delete(&self, name: &str, version: Option<u32>) -> Result<Vec<ModelVersion>, RegistryError> {
        let newest = self.find(name, version)?;
        let doomed = if version.is_some() { vec![newest] } else { self.list(Some(name))? };
        self.database.transact(|transaction| {
            for entry in &doomed {
                transaction.execute(
                    "DELETE FROM models WHERE name = ?1 AND version = ?2",
                    params![entry.name, entry.version],
                )?;
            }
            Ok::<_, RegistryError>(())
        })?;
        for entry in &doomed {
            match std::fs::remove_file(self.path(&entry.artifact)) {
                Err(error) if error.kind() == ErrorKind::NotFound => {} // another delete was faster
                outcome => outcome?,
            }
        }
        Ok(doomed)
    }

    fn path(&self, artifact: &str) -> PathBuf {
        self.directory.artifacts().join(format!("{artifact}.bochner"))
    }
}

fn find_artifact(connection: &Connection, artifact: &str) -> Result<Option<ModelVersion>, RegistryError> {
    Ok(connection.query_row("SELECT * FROM models WHERE artifact = ?1", [artifact], from_row).optional()?)
}

fn from_row(row: &Row) -> rusqlite::Result<ModelVersion> {
    Ok(ModelVersion {
        name: row.get("name")?,
        version: row.get("version")?,
        artifact: row.get("artifact")?,
        dataset: row.get("dataset")?,
        bytes: row.get("bytes")?,
        sha256: row.get("sha256")?,
        description: row.get("description")?,
        created_at: row.get("created_at")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_could_be_paths_are_refused() {
        for name in ["a", "California-1.0_x", &"a".repeat(64)] {
            assert!(check_model_name(name).is_ok(), "{name}");
        }
        for name in ["", ".", "..", "a/b", "../a", "a b", "a%2Fb", "-a", "ä", "a\0", &"a".repeat(65)] {
            assert!(check_model_name(name).is_err(), "{name}");
        }
    }
}
