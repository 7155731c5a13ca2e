//! Why a model could not be stored, found or changed.

use crate::model::ArtifactError;

/// Why a model could not be stored, found or changed.
#[derive(Debug, thiserror::Error)]
pub enum RegistryError {
    /// A text that cannot be a file name, a metric label and a path segment.
    #[error("'{name}' is not a model name: use 1 to 64 of a-z A-Z 0-9 . _ - and begin with a letter or digit")]
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
    /// A text that cannot be an alias.
    #[error(
        "'{alias}' is not an alias: use 1 to 64 of a-z A-Z 0-9 . _ - and begin with a letter or digit; a number is not an alias"
    )]
    Alias {
        /// As given.
        alias: String,
    },
    /// No such alias.
    #[error("model '{name}' has no alias '{alias}'")]
    NoAlias {
        /// Of the model.
        name: String,
        /// As asked for.
        alias: String,
    },
    /// Aliases point at what was to be deleted.
    #[error("model '{name}' version {version} has the alias '{alias}'; move or delete the alias first")]
    Aliased {
        /// Of the model.
        name: String,
        /// Of the model.
        version: u32,
        /// One that points there.
        alias: String,
    },
    /// The artifact on disk cannot be used.
    #[error("the artifact of model '{name}' version {version} cannot be used: {cause}")]
    Artifact {
        /// Of the model.
        name: String,
        /// Of the model.
        version: u32,
        /// Why.
        cause: ArtifactError,
    },
    /// Another version was published first.
    #[error("model '{name}' has a newer version")]
    Superseded {
        /// Of the model.
        name: String,
    },
    /// The artifact could not be encoded.
    #[error("the artifact could not be encoded: {0}")]
    Encode(#[from] ArtifactError),
    /// Reading or writing a file failed.
    #[error("storage failed: {0}")]
    Storage(#[from] std::io::Error),
    /// The database failed.
    #[error("the database failed: {0}")]
    Database(#[from] rusqlite::Error),
}

impl RegistryError {
    /// Whether it failed for lack of room on the disk.
    pub fn is_disk_full(&self) -> bool {
        match self {
            Self::Storage(error) => error.kind() == std::io::ErrorKind::StorageFull,
            Self::Database(error) => error.sqlite_error_code() == Some(rusqlite::ErrorCode::DiskFull),
            Self::Name { .. }
            | Self::NotFound { .. }
            | Self::NoVersion { .. }
            | Self::Alias { .. }
            | Self::NoAlias { .. }
            | Self::Aliased { .. }
            | Self::Artifact { .. }
            | Self::Superseded { .. }
            | Self::Encode(_) => false,
        }
    }
}
