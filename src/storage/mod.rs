//! The data directory: the database, files that are whole or absent, cards beside them, a disk reserve.

/// The embedded database.
pub mod database;

/// Files that are either whole or absent.
pub mod files;

/// How much of the disk may be taken.
pub mod disk;

/// What the database says of one thing, kept in a file.
pub mod card;

/// Which files of a data directory are ours.
pub mod inventory;

/// Room to clear a full disk.
pub mod reserve;

/// Files that are read again when they change.
pub mod watched_files;
