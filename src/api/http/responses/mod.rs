//! What responses of any route can have in common: entity tags and compression.

/// Compressed responses.
pub(crate) mod compression;

/// Entity tags, and requests that know them already.
pub(crate) mod entity_tag;
