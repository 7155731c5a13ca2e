//! Keys: who may do what. A key is 256 random bits that are shown once; a file keeps their SHA-256, what the key is
//! for, and until when. The command line writes the file and the service reads it, again whenever it changes.

/// What a key lets its holder do.
mod scope;

/// Which models a key is for.
mod glob;

/// One key: what the file says of it, and the text that its holder has.
mod key;

/// All keys of a file.
mod key_ring;

/// The file.
mod key_file;

/// The keys in force while a service runs.
mod key_watch;

/// Random bytes that live as long as a process.
mod secret;

pub use glob::ModelGlob;
pub use key::{Key, KeyId, NewKey};
pub use key_file::{FirstKeys, KeyFile, KeyFileError};
pub use key_ring::KeyRing;
pub use key_watch::KeyWatch;
pub use scope::{Scope, Scopes};
pub use secret::random_secret;
