//! The file that keeps the keys. It is replaced as a whole, so that a reader sees all of one version.

use super::key::check_name;
use super::{Key, KeyRing, NewKey, Scope, Scopes};
use crate::storage::files::{at_path, make_folder, open_private};
use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

/// Most bytes of a key file; thousands of keys take less.
const MOST_BYTES: u64 = 16 << 20;

/// The names of the keys that a service makes for itself, and of the files beside the key file that hold their texts.
const FIRST: [(&str, &[Scope]); 2] = [("admin", &[Scope::Admin]), ("read", &[Scope::Read])];

/// Why the keys cannot be read or changed.
#[derive(Debug, thiserror::Error)]
pub enum KeyFileError {
    /// There is no such file.
    #[error("there is no key file {path}; make one with: bochner keys new --file {path} --scopes admin")]
    Missing {
        /// Which file.
        path: String,
    },
    /// Its content is not that of a key file.
    #[error("the key file {path} is not valid: {detail}")]
    Invalid {
        /// Which file.
        path: String,
        /// What is wrong.
        detail: String,
    },
    /// The request for a new key is not valid.
    #[error("{0}")]
    Refused(String),
    /// No key has this id or name.
    #[error("no key has the id or the name '{0}'; bochner keys list shows all")]
    NoKey(String),
    /// The system refused.
    #[error(transparent)]
    Storage(#[from] io::Error),
    /// The system gives no random numbers.
    #[error("no random numbers: {0}")]
    Random(#[from] getrandom::Error),
}

/// A key file by its path.
#[derive(Debug, Clone)]
pub struct KeyFile {
    path: PathBuf,
}

/// The keys that were made for a service that had none.
#[derive(Debug)]
pub struct FirstKeys {
    /// The files with their texts.
    pub files: Vec<PathBuf>,
}

impl KeyFile {
    /// The file at a path, which need not be there.
    pub fn at(path: &Path) -> Self {
        Self { path: path.to_owned() }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Reads all keys.
    pub fn read(&self) -> Result<KeyRing, KeyFileError> {
        let path = || self.path.display().to_string();
        let refusal = |error: io::Error| match error.kind() {
            ErrorKind::NotFound => KeyFileError::Missing { path: path() },
            _ => KeyFileError::Storage(at_path(&self.path, &error)),
        };
        let length = fs::metadata(&self.path).map_err(refusal)?.len();
        if length > MOST_BYTES {
            return Err(KeyFileError::Invalid { path: path(), detail: format!("it has {length} bytes") });
        }
        let text = fs::read(&self.path).map_err(refusal)?;
        KeyRing::parse(&text).map_err(|detail| KeyFileError::Invalid { path: path(), detail })
    }

    /// Makes keys and adds them, all or none; gives the text of each. The file is made if it is not there.
    pub fn add(&self, wanted: Vec<NewKey>) -> Result<Vec<(Arc<Key>, String)>, KeyFileError> {
        for new in &wanted {
            check_name(&new.name).map_err(KeyFileError::Refused)?;
            if new.scopes.is_empty() {
                return Err(KeyFileError::Refused("a key needs at least one scope".into()));
            }
        }
        self.change(|ring| {
            let mut made = Vec::new();
            for new in wanted {
                if ring.iter().any(|key| key.name == new.name) {
                    let detail = format!("there is a key '{}' already; revoke it first, or use another name", new.name);
                    return Err(KeyFileError::Refused(detail));
                }
                // An id of 32 bits may be taken; the next one hardly is.
                loop {
                    let (key, text) = new.clone().make(SystemTime::now())?;
                    if ring.add(key.clone()) {
                        made.push((Arc::new(key), text));
                        break;
                    }
                }
            }
            Ok(made)
        })
    }

    /// Removes the keys with this id or name, and gives them.
    pub fn revoke(&self, id_or_name: &str) -> Result<Vec<Arc<Key>>, KeyFileError> {
        self.read()?; // a file that is not there is not made
        self.change(|ring| {
            let removed = ring.remove(id_or_name);
            if removed.is_empty() { Err(KeyFileError::NoKey(id_or_name.to_owned())) } else { Ok(removed) }
        })
    }

    /// For a service that has no key file yet: makes one with an admin key and a read-only key, and writes their texts
    /// into files beside it that only their owner may read. None if there is a key file.
    pub fn make_first_keys(&self) -> Result<Option<FirstKeys>, KeyFileError> {
        match self.read() {
            Ok(_) => return Ok(None),
            Err(KeyFileError::Missing { .. }) => {}
            Err(error) => return Err(error),
        }
        let new = |(name, scopes): (&str, &[Scope])| NewKey {
            name: name.to_owned(),
            scopes: Scopes::of(scopes),
            models: Vec::new(),
            expires_at: None,
        };
        let mut files = Vec::new();
        for (key, text) in self.add(FIRST.map(new).into())? {
            let path = self.secret_file(&key.name);
            self.replace(&path, &format!("{text}\n"))?;
            files.push(path);
        }
        Ok(Some(FirstKeys { files }))
    }

    /// The text of a key that `make_first_keys` made.
    pub fn first_key(&self, name: &str) -> Result<String, KeyFileError> {
        let path = self.secret_file(name);
        fs::read_to_string(&path).map(|text| text.trim_end().to_owned()).map_err(|error| at_path(&path, &error).into())
    }

    fn secret_file(&self, name: &str) -> PathBuf {
        self.folder().join(format!("{name}.key"))
    }

    fn folder(&self) -> &Path {
        match self.path.parent() {
            Some(folder) if folder != Path::new("") => folder,
            _ => Path::new("."),
        }
    }

    /// Changes the keys while no other process does.
    fn change<T>(&self, work: impl FnOnce(&mut KeyRing) -> Result<T, KeyFileError>) -> Result<T, KeyFileError> {
        make_folder(self.folder())?;
        let mut lock_path = self.path.clone().into_os_string();
        lock_path.push(".lock");
        let lock_path = PathBuf::from(lock_path);
        let lock = open_private(&lock_path).map_err(|error| at_path(&lock_path, &error))?;
        lock.lock()?; // until it is dropped
        let mut ring = match self.read() {
            Err(KeyFileError::Missing { .. }) => KeyRing::default(),
            other => other?,
        };
        let outcome = work(&mut ring)?;
        self.replace(&self.path, &ring.to_text())?;
        Ok(outcome)
    }

    /// Writes a file whole, readable by its owner alone.
    fn replace(&self, path: &Path, text: &str) -> Result<(), KeyFileError> {
        let named = |error: io::Error| at_path(path, &error);
        let mut file = tempfile::NamedTempFile::new_in(self.folder()).map_err(named)?;
        file.write_all(text.as_bytes())?;
        file.as_file().sync_all()?;
        file.persist(path).map_err(|error| named(error.error))?;
        Ok(File::open(self.folder())?.sync_all()?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn new(name: &str) -> NewKey {
        NewKey { name: name.to_owned(), scopes: Scopes::of(&[Scope::Read]), models: Vec::new(), expires_at: None }
    }

    #[test]
    fn keys_are_made_found_and_revoked() {
        let folder = tempfile::tempdir().unwrap();
        let file = KeyFile::at(&folder.path().join("new/keys.json"));
        assert!(matches!(file.read(), Err(KeyFileError::Missing { .. })));
        assert!(matches!(file.revoke("one"), Err(KeyFileError::Missing { .. })));
        let made = file.add(vec![new("one"), new("two")]).unwrap();
        let mode = fs::metadata(file.path()).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        for (key, text) in &made {
            assert_eq!(file.read().unwrap().find(text).unwrap().id, key.id);
        }
        assert!(matches!(file.add(vec![new("three"), new("one")]), Err(KeyFileError::Refused(_))));
        assert_eq!(file.read().unwrap().len(), 2, "all or none");
        file.revoke("one").unwrap();
        assert!(file.read().unwrap().find(&made[0].1).is_none());
        assert!(matches!(file.revoke("one"), Err(KeyFileError::NoKey(_))));
        assert!(matches!(
            file.add(vec![NewKey { scopes: Scopes::default(), ..new("x") }]),
            Err(KeyFileError::Refused(_))
        ));
    }

    #[test]
    fn keys_made_at_the_same_time_are_all_kept() {
        let folder = tempfile::tempdir().unwrap();
        let file = KeyFile::at(&folder.path().join("keys.json"));
        std::thread::scope(|scope| {
            for number in 0..8 {
                let file = &file;
                scope.spawn(move || file.add(vec![new(&format!("key {number}"))]).unwrap());
            }
        });
        assert_eq!(file.read().unwrap().len(), 8);
    }

    #[test]
    fn a_broken_file_is_neither_read_nor_overwritten() {
        let folder = tempfile::tempdir().unwrap();
        let file = KeyFile::at(&folder.path().join("keys.json"));
        fs::write(file.path(), "{\"format\": 1, \"keys\"").unwrap();
        assert!(file.read().unwrap_err().to_string().contains("keys.json is not valid"));
        assert!(file.add(vec![new("one")]).is_err() && file.make_first_keys().is_err());
        assert_eq!(fs::read_to_string(file.path()).unwrap(), "{\"format\": 1, \"keys\"");
    }

    #[test]
    fn the_first_keys_are_made_once() {
        let folder = tempfile::tempdir().unwrap();
        let file = KeyFile::at(&folder.path().join("keys.json"));
        let first = file.make_first_keys().unwrap().unwrap();
        assert_eq!(first.files.len(), 2);
        for path in &first.files {
            assert_eq!(fs::metadata(path).unwrap().permissions().mode() & 0o777, 0o600);
        }
        let ring = file.read().unwrap();
        let scopes = |name: &str| ring.find(&file.first_key(name).unwrap()).unwrap().scopes.to_string();
        assert_eq!((scopes("admin"), scopes("read")), ("admin".to_owned(), "read".to_owned()));
        assert!(file.make_first_keys().unwrap().is_none());
        assert!(file.first_key("nobody").is_err());
    }
}
