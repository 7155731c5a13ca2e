//! Models on disk: versions, aliases, artifacts.

/// A version of a model, and how models are named.
pub(crate) mod version;

/// Which models there are, in memory.
pub(crate) mod version_index;

/// Why the registry refused.
pub(crate) mod error;

/// Names, versions and where their artifacts lie.
pub(crate) mod registry;

/// The files of models kept in step with the database.
pub(crate) mod upkeep;
