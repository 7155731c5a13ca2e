//! The keys in force while a service runs: those of the file, read again when it changes.

use super::{Key, KeyFile, KeyFileError, KeyRing};
use crate::storage::watched_files::WatchedFiles;
use std::sync::{Arc, PoisonError, RwLock};

/// The keys in force. If the file becomes unreadable, those that were read last stay in force.
pub struct KeyWatch {
    file: KeyFile,
    ring: RwLock<KeyRing>,
}

impl KeyWatch {
    /// Reads the file, which must be valid, and from then on again whenever it changes.
    pub fn start(file: KeyFile) -> Result<Arc<Self>, KeyFileError> {
        let files = WatchedFiles::before_reading(vec![file.path().to_owned()]);
        let ring = file.read()?;
        if ring.is_empty() {
            tracing::warn!(file = %file.path().display(), "the key file has no keys: everything but health is refused");
        }
        let watch = Arc::new(Self { ring: RwLock::new(ring), file });
        files.reload_on_change("watch-keys", &watch, Self::reload)?;
        Ok(watch)
    }

    /// The key with this text, also if it has expired.
    pub fn find(&self, text: &str) -> Option<Arc<Key>> {
        self.ring.read().unwrap_or_else(PoisonError::into_inner).find(text).cloned()
    }

    fn reload(&self) {
        match self.file.read() {
            Ok(ring) => {
                tracing::info!(keys = ring.len(), "the key file has changed and was read again");
                *self.ring.write().unwrap_or_else(PoisonError::into_inner) = ring;
            }
            Err(error) => tracing::error!(%error, "the keys that were read before stay in force"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::{NewKey, Scope, Scopes};
    use std::time::{Duration, Instant};

    #[test]
    fn changes_are_in_force_within_seconds_and_a_broken_file_changes_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let file = KeyFile::at(&folder.path().join("keys.json"));
        let new = |name: &str| {
            let scopes = Scopes::of(&[Scope::Read]);
            file.add(vec![NewKey { name: name.into(), scopes, models: Vec::new(), expires_at: None }]).unwrap()[0]
                .1
                .clone()
        };
        assert!(KeyWatch::start(file.clone()).is_err(), "no file");
        let first = new("first");
        let watch = KeyWatch::start(file.clone()).unwrap();
        let wait_until = |what: &str, condition: &dyn Fn() -> bool| {
            let start = Instant::now();
            while !condition() {
                assert!(start.elapsed() < Duration::from_secs(20), "{what}");
                std::thread::sleep(Duration::from_millis(20));
            }
        };
        assert!(watch.find(&first).is_some());
        let second = new("second");
        wait_until("a new key", &|| watch.find(&second).is_some());
        let good = std::fs::read(file.path()).unwrap();
        std::fs::write(file.path(), "broken").unwrap();
        std::thread::sleep(Duration::from_millis(2500));
        assert!(watch.find(&first).is_some() && watch.find(&second).is_some(), "the last good keys");
        std::fs::write(file.path(), good).unwrap();
        file.revoke("first").unwrap();
        wait_until("a revocation", &|| watch.find(&first).is_none());
        assert!(watch.find(&second).is_some());
    }
}
