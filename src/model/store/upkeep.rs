//! The files of models kept in step with the database: cards, artifacts without an entry, damaged ones.

use super::version_index::from_row;
use crate::model::{
    ArtifactError, Imported, ModelRegistry, ModelVersion, RegistryError, check_alias, check_model_name, decode,
};
use crate::storage::card::Card;
use crate::storage::database::{Stamp, now};
use crate::storage::files::hex;
use crate::storage::inventory::{FileKind, OwnFile, Restored, quarantine_strays};
use rusqlite::{Connection, Transaction, params};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, HashSet};
use std::io::Read;
use std::path::PathBuf;

/// The model that artifacts become versions of when nothing tells whose they are.
const RECOVERED: &str = "recovered";

/// What the database says of a model; artifacts do not tell it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct ModelCard {
    name: String,
    /// Numbers up to this were given out and are never given again.
    last_version: u32,
    versions: Vec<CardVersion>,
    aliases: BTreeMap<String, u32>,
}

/// A version as a card has it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct CardVersion {
    version: u32,
    artifact: String,
    created_at: String,
    #[serde(default)]
    imported: Option<Imported>,
}

impl ModelCard {
    fn read(connection: &Connection, name: &str) -> Result<Option<Self>, RegistryError> {
        let mut query = connection.prepare("SELECT last_version FROM model_names WHERE name = ?1")?;
        let Some(last_version) = query.query_map([name], |row| row.get(0))?.next().transpose()? else {
            return Ok(None);
        };
        let mut query = connection.prepare("SELECT * FROM models WHERE name = ?1 ORDER BY version")?;
        let version = |entry: ModelVersion| CardVersion {
            version: entry.version,
            artifact: entry.artifact,
            created_at: entry.created_at,
            imported: entry.imported,
        };
        let versions = query.query_map([name], |row| from_row(row).map(version))?.collect::<Result<_, _>>()?;
        let mut query = connection.prepare("SELECT alias, version FROM aliases WHERE name = ?1")?;
        let aliases = query.query_map([name], |row| Ok((row.get(0)?, row.get(1)?)))?.collect::<Result<_, _>>()?;
        Ok(Some(Self { name: name.to_owned(), last_version, versions, aliases }))
    }
}

impl ModelRegistry {
    /// Brings cards up to date and moves artifacts that no version refers to aside.
    pub(super) fn keep_up(&self) -> Result<(), RegistryError> {
        self.database.read(|connection| {
            let mut query = connection.prepare("SELECT name FROM model_names")?;
            let names: Vec<String> = query.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
            names.iter().try_for_each(|name| self.write_card(connection, name))
        })?;
        let known: HashSet<String> = self.list(None).iter().map(|version| version.artifact.clone()).collect();
        quarantine_strays(&self.directory, FileKind::Artifact, |file| known.contains(&file.id))?;
        Ok(())
    }

    /// Writes down what the database now says of a model.
    pub(super) fn write_card(&self, connection: &Connection, name: &str) -> Result<(), RegistryError> {
        if let Some(content) = ModelCard::read(connection, name)? {
            let card = Card { stamp: Stamp::read(connection)?, content };
            card.write_or_warn(&self.directory, &self.card_path(name));
        }
        Ok(())
    }

    /// Reads the whole artifact of a version and compares it with its entry.
    pub fn verify(&self, entry: &ModelVersion) -> Result<(), RegistryError> {
        let mut file = self.artifact(entry)?;
        let (mut hash, mut chunk) = (Sha256::new(), vec![0; 1 << 16]);
        loop {
            match file.read(&mut chunk)? {
                0 => break,
                count => hash.update(&chunk[..count]),
            }
        }
        if hex(&hash.finalize()) == entry.sha256 {
            return Ok(());
        }
        let (name, version) = (entry.name.clone(), entry.version);
        Err(RegistryError::Artifact { name, version, cause: ArtifactError::Checksum })
    }

    /// Verifies every artifact and moves damaged ones to the quarantine; all others serve on. Gives what is wrong.
    pub fn quarantine_damaged(&self) -> Vec<RegistryError> {
        let mut found = Vec::new();
        for entry in self.list(None) {
            match self.verify(&entry) {
                Ok(()) | Err(RegistryError::NoVersion { .. }) => {}
                Err(error) => {
                    tracing::error!(%error, model = entry.name, version = entry.version, "a version cannot be used");
                    if self.path(&entry.artifact).exists()
                        && matches!(error, RegistryError::Artifact { .. })
                        && let Err(error) = self.directory.move_to_quarantine(&self.path(&entry.artifact), "damaged")
                    {
                        tracing::error!(%error, "a damaged artifact could not be moved to the quarantine");
                    }
                    found.push(error);
                }
            }
        }
        found
    }

    /// Makes the entries of models again from cards that are ahead of the database, and from artifacts that no card
    /// names, which become versions of the model `recovered`.
    pub fn restore(&self, files: &[OwnFile]) -> Result<Restored<ModelVersion>, RegistryError> {
        let (mut restored, mut unusable) = (Vec::new(), Vec::new());
        let stamp = self.database.read(Stamp::read)?;
        let mut claimed: HashSet<String> = self.list(None).iter().map(|entry| entry.artifact.clone()).collect();
        for file in files.iter().filter(|file| file.kind == FileKind::ModelCard) {
            let card: Card<ModelCard> = match Card::read(&file.path) {
                Ok(card) => card,
                Err(error) => {
                    unusable.push((file.path.clone(), error.to_string()));
                    continue;
                }
            };
            claimed.extend(card.content.versions.iter().map(|version| version.artifact.clone()));
            if card.stamp.database == stamp.database && card.stamp.count <= stamp.count {
                continue;
            }
            let versions = self.whole_versions(&card.content, files);
            unusable.extend(versions.unusable);
            let versions = versions.entries;
            self.database.transact(|transaction| replace_entries(transaction, &card.content, &versions))?;
            restored.extend(versions.into_iter().map(|(entry, _)| entry));
        }
        let unclaimed = files.iter().filter(|file| file.kind == FileKind::Artifact && !claimed.contains(&file.id));
        for file in unclaimed {
            let (entry, description) = match self.whole_version(RECOVERED, 0, &file.id, &now()) {
                Ok(version) => version,
                Err(error) => {
                    unusable.push((file.path.clone(), error.to_string()));
                    continue;
                }
            };
            restored.push(self.database.transact(|transaction| recover(transaction, entry, &description))?);
        }
        Ok(Restored { entries: restored, unusable })
    }

    /// The versions of a card whose artifacts are among the files and whole, with their descriptions; and the others.
    fn whole_versions(&self, card: &ModelCard, files: &[OwnFile]) -> Restored<(ModelVersion, String)> {
        let mut versions = Restored { entries: Vec::new(), unusable: Vec::new() };
        for CardVersion { version, artifact, created_at, imported } in &card.versions {
            let Some(file) = files.iter().find(|file| file.kind == FileKind::Artifact && file.id == *artifact) else {
                let reason = format!("the artifact of model '{}' version {version} is missing", card.name);
                versions.unusable.push((self.path(artifact), reason));
                continue;
            };
            match self.whole_version(&card.name, *version, artifact, created_at) {
                Ok((entry, description)) => {
                    versions.entries.push((ModelVersion { imported: imported.clone(), ..entry }, description));
                }
                Err(error) => versions.unusable.push((file.path.clone(), error.to_string())),
            }
        }
        versions
    }

    fn whole_version(
        &self,
        name: &str,
        version: u32,
        artifact: &str,
        created_at: &str,
    ) -> Result<(ModelVersion, String), RegistryError> {
        check_model_name(name)?;
        let bytes = std::fs::read(self.path(artifact))?;
        let unusable = |cause| RegistryError::Artifact { name: name.to_owned(), version, cause };
        let model = decode(&bytes).map_err(unusable)?;
        let entry = ModelVersion {
            name: name.to_owned(),
            version,
            artifact: artifact.to_owned(),
            dataset: model.dataset.clone(),
            bytes: bytes.len() as u64,
            sha256: hex(&Sha256::digest(&bytes)),
            created_at: created_at.to_owned(),
            imported: None,
        };
        Ok((entry, model.describe().to_string()))
    }

    /// Named by a hash, so that no user's text becomes a path.
    fn card_path(&self, name: &str) -> PathBuf {
        let hash = hex(&Sha256::digest(name));
        self.directory.cards().join(format!("model-{}.card", &hash[..20]))
    }
}

/// Puts what a card says of a model in the place of what the database says.
fn replace_entries(
    transaction: &Transaction,
    card: &ModelCard,
    versions: &[(ModelVersion, String)],
) -> Result<(), RegistryError> {
    check_model_name(&card.name)?;
    transaction.execute("DELETE FROM aliases WHERE name = ?1", [&card.name])?;
    transaction.execute("DELETE FROM models WHERE name = ?1", [&card.name])?;
    transaction.execute(
        "INSERT INTO model_names (name, last_version) VALUES (?1, ?2)
         ON CONFLICT (name) DO UPDATE SET last_version = max(last_version, excluded.last_version)",
        params![card.name, card.last_version],
    )?;
    for (entry, description) in versions {
        insert(transaction, entry, description)?;
    }
    for (alias, version) in &card.aliases {
        if check_alias(alias).is_ok() && versions.iter().any(|(entry, _)| entry.version == *version) {
            transaction.execute(
                "INSERT INTO aliases (name, alias, version) VALUES (?1, ?2, ?3)",
                params![card.name, alias, version],
            )?;
        }
    }
    Ok(())
}

/// Makes an artifact the next version of the model that nothing is known about.
fn recover(transaction: &Transaction, entry: ModelVersion, description: &str) -> Result<ModelVersion, RegistryError> {
    let version = transaction.query_row(
        "INSERT INTO model_names (name, last_version) VALUES (?1, 1)
         ON CONFLICT (name) DO UPDATE SET last_version = last_version + 1 RETURNING last_version",
        [&entry.name],
        |row| row.get(0),
    )?;
    let entry = ModelVersion { version, ..entry };
    insert(transaction, &entry, description)?;
    Ok(entry)
}

/// Makes the entry of a version.
pub(super) fn insert(transaction: &Transaction, entry: &ModelVersion, description: &str) -> Result<(), RegistryError> {
    let ModelVersion { name, version, artifact, dataset, bytes, sha256, created_at, imported } = entry;
    let imported = imported.as_ref().map(serde_json::to_string).transpose().map_err(std::io::Error::from)?;
    transaction.execute(
        "INSERT INTO models (name, version, artifact, dataset, bytes, sha256, description, created_at, imported)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
        params![name, version, artifact, dataset, bytes, sha256, description, created_at, imported],
    )?;
    Ok(())
}
