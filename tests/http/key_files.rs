//! Key files for tests.

use axum::http::request::Builder;
use bochner::keys::{KeyFile, NewKey, Scope, Scopes};
use std::cell::Cell;
use std::time::{Duration, SystemTime};

/// A folder with a key file.
pub(crate) struct KeyFolder {
    folder: tempfile::TempDir,
    made: Cell<usize>,
}

impl KeyFolder {
    pub(crate) fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap(), made: Cell::new(0) }
    }

    /// Where the key file is.
    pub(crate) fn path(&self) -> String {
        self.folder.path().join("keys.json").to_str().unwrap().to_owned()
    }

    pub(crate) fn file(&self) -> KeyFile {
        KeyFile::at(self.path().as_ref())
    }

    /// A key for everything.
    pub(crate) fn admin(&self) -> String {
        self.make("admin", &[])
    }

    /// A key with scopes, separated by commas, and patterns of models.
    pub(crate) fn make(&self, scopes: &str, models: &[&str]) -> String {
        self.add(scopes, models, None)
    }

    /// A key whose time is over.
    pub(crate) fn make_expired(&self, scopes: &str) -> String {
        self.add(scopes, &[], Some(SystemTime::now() - Duration::from_secs(1)))
    }

    fn add(&self, scopes: &str, models: &[&str], expires_at: Option<SystemTime>) -> String {
        self.made.set(self.made.get() + 1);
        let scopes: Scopes = scopes.split(',').map(|scope| scope.parse::<Scope>().unwrap()).collect();
        let models = models.iter().map(|glob| glob.parse().unwrap()).collect();
        let name = format!("key {}", self.made.get());
        self.file().add(vec![NewKey { name, scopes, models, expires_at }]).unwrap()[0].1.clone()
    }
}

/// A request with a key.
pub(crate) fn keyed(request: Builder, key: Option<&str>) -> Builder {
    match key {
        Some(key) => request.header("authorization", format!("Bearer {key}")),
        None => request,
    }
}
