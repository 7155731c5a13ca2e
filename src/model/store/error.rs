//! Why the registry of models refused.

use crate::model::ArtifactError;

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
    /// A text that cannot be an alias.
    #[error("'{alias}' is not an alias: 1 to 64 of a-z A-Z 0-9 . _ - , the first a letter or digit, and not a number")]
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
