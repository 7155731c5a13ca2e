//! Models on disk: versions, aliases, artifacts.

/// A version of a model, and how models are named.
pub(crate) mod version;

/// The index of models in memory.
pub(crate) mod version_index;

/// Why a model could not be stored, found or changed.
pub(crate) mod error;

/// Models by name and version, with their artifacts.
pub(crate) mod registry;

/// The files of models kept in step with the database.
pub(crate) mod upkeep;

/// What was measured of every version.
pub(crate) mod scores;
