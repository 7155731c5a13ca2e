//! The data directory: the database, files that are whole or absent, a disk reserve.

/// The embedded database.
pub mod database;

/// Files that are either whole or absent.
pub mod files;

/// Room to clear a full disk.
pub mod reserve;
