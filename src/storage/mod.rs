//! The data directory: the database, files that are whole or absent, cards beside them, a disk reserve.

/// The embedded database.
pub mod database;

/// Files that are either whole or absent.
pub mod files;

/// What the database says of one thing, kept in a file.
pub mod card;

/// Which files of a data directory are ours.
pub mod inventory;

/// Room to clear a full disk.
pub mod reserve;
