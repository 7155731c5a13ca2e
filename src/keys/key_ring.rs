//! All keys of a file.

use super::key::{check_name, id_in};
use super::{Key, KeyId, ModelGlob, Scope};
use crate::storage::files::hex;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::SystemTime;

/// The format that this build reads and writes.
const FORMAT: u32 = 1;

/// Keys by their ids.
#[derive(Debug, Clone, Default)]
pub struct KeyRing(BTreeMap<KeyId, Arc<Key>>);

/// A key file as JSON.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredRing {
    format: u32,
    keys: Vec<StoredKey>,
}

/// One key of it. Times are RFC 3339; no pattern means all models.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredKey {
    id: String,
    name: String,
    sha256: String,
    scopes: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    models: Option<Vec<String>>,
    created_at: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    expires_at: Option<String>,
}

impl KeyRing {
    /// Reads the text of a key file. The error says what is wrong with it, and with which key.
    pub fn parse(text: &[u8]) -> Result<Self, String> {
        let stored: StoredRing = serde_json::from_slice(text).map_err(|error| error.to_string())?;
        if stored.format != FORMAT {
            return Err(format!("its format is {} and this build reads {FORMAT}", stored.format));
        }
        let mut ring = Self::default();
        for (index, stored) in stored.keys.into_iter().enumerate() {
            let key = stored.read().map_err(|detail| format!("/keys/{index}: {detail}"))?;
            let id = key.id;
            if !ring.add(key) {
                return Err(format!("/keys/{index}: the id {id} is there twice"));
            }
        }
        Ok(ring)
    }

    /// The text of a key file.
    pub fn to_text(&self) -> String {
        let ring = StoredRing { format: FORMAT, keys: self.iter().map(StoredKey::write).collect() };
        let mut text = serde_json::to_string_pretty(&ring).unwrap_or_default(); // texts and numbers are always JSON
        text.push('\n');
        text
    }

    /// The key with this text, also if it has expired.
    pub fn find(&self, text: &str) -> Option<&Arc<Key>> {
        self.0.get(&id_in(text)?).filter(|key| key.is(text))
    }

    /// All keys, by their ids.
    pub fn iter(&self) -> impl Iterator<Item = &Key> {
        self.0.values().map(AsRef::as_ref)
    }

    /// Whether there is no key.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How many keys there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Adds a key; false if there is one of its id.
    pub(super) fn add(&mut self, key: Key) -> bool {
        let is_new = !self.0.contains_key(&key.id);
        if is_new {
            self.0.insert(key.id, Arc::new(key));
        }
        is_new
    }

    /// Removes the keys with this id or name, and gives them.
    pub(super) fn remove(&mut self, id_or_name: &str) -> Vec<Arc<Key>> {
        let is_meant = |key: &Key| key.name == id_or_name || key.id.to_string() == id_or_name;
        let meant: Vec<Arc<Key>> = self.0.values().filter(|key| is_meant(key)).cloned().collect();
        self.0.retain(|_, key| !is_meant(key));
        meant
    }
}

impl StoredKey {
    fn read(self) -> Result<Key, String> {
        let scopes: Vec<Scope> = self.scopes.iter().map(|scope| scope.parse()).collect::<Result<_, String>>()?;
        if scopes.is_empty() {
            return Err("scopes: must name at least one".into());
        }
        let models = match self.models {
            Some(models) if models.is_empty() => {
                return Err("models: is empty; leave it out for a key of all models".into());
            }
            models => models.unwrap_or_default(),
        };
        let models = models.iter().map(|glob| glob.parse()).collect::<Result<Vec<ModelGlob>, String>>()?;
        check_name(&self.name)?;
        let sha256 = read_hash(&self.sha256).ok_or("sha256: must be 64 hexadecimal digits")?;
        Ok(Key {
            id: self.id.parse()?,
            name: self.name,
            sha256,
            scopes: scopes.into_iter().collect(),
            models,
            created_at: time("created_at", &self.created_at)?,
            expires_at: self.expires_at.map(|text| time("expires_at", &text)).transpose()?,
        })
    }

    fn write(key: &Key) -> Self {
        let text = |time: SystemTime| humantime::format_rfc3339(time).to_string(); // with fractions, where there are
        let models: Vec<String> = key.models.iter().map(ToString::to_string).collect();
        Self {
            id: key.id.to_string(),
            name: key.name.clone(),
            sha256: hex(&key.sha256),
            scopes: key.scopes.iter().map(|scope| scope.name().to_owned()).collect(),
            models: Some(models).filter(|models| !models.is_empty()),
            created_at: text(key.created_at),
            expires_at: key.expires_at.map(text),
        }
    }
}

fn time(field: &str, text: &str) -> Result<SystemTime, String> {
    humantime::parse_rfc3339(text).map_err(|_| format!("{field}: must be a time such as 2030-01-31T00:00:00Z"))
}

fn read_hash(text: &str) -> Option<[u8; 32]> {
    let mut hash = [0; 32];
    if text.len() != 2 * hash.len() || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    for (byte, at) in hash.iter_mut().zip((0..).step_by(2)) {
        *byte = u8::from_str_radix(text.get(at..at + 2)?, 16).ok()?;
    }
    Some(hash)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::{NewKey, Scopes};
    use std::time::Duration;

    fn ring() -> (KeyRing, Vec<String>) {
        let mut ring = KeyRing::default();
        let mut texts = Vec::new();
        for (name, models, expires_at) in
            [("one", vec![], None), ("two", vec!["a*"], Some(SystemTime::UNIX_EPOCH + Duration::from_secs(9)))]
        {
            let models = models.into_iter().map(|glob| glob.parse().unwrap()).collect();
            let scopes = Scopes::of(&[Scope::Read, Scope::Predict]);
            let new = NewKey { name: name.to_owned(), scopes, models, expires_at };
            let (key, text) = new.make(SystemTime::UNIX_EPOCH).unwrap();
            assert!(ring.add(key));
            texts.push(text);
        }
        (ring, texts)
    }

    #[test]
    fn a_file_is_read_as_it_was_written_and_holds_no_key() {
        let (ring, texts) = ring();
        let file = ring.to_text();
        let again = KeyRing::parse(file.as_bytes()).unwrap();
        assert_eq!(again.iter().collect::<Vec<_>>(), ring.iter().collect::<Vec<_>>());
        for text in &texts {
            assert!(again.find(text).is_some());
            assert!(!file.contains(&text[17..]), "the secret is in the file");
        }
        assert!(again.find(&format!("{}!", &texts[0][..59])).is_none());
        let other_secret = format!("{}{}", &texts[0][..17], &texts[1][17..]);
        assert!(again.find(&other_secret).is_none(), "an id with the secret of another key");
    }

    /// Else a key would expire earlier, by up to a second, whenever another one is made.
    #[test]
    fn fractions_of_seconds_survive_when_a_file_is_written_again() {
        let (ring, _) = ring();
        let file = ring.to_text().replace("1970-01-01T00:00:09Z", "2030-01-31T00:00:00.0002Z");
        let read = KeyRing::parse(file.as_bytes()).unwrap();
        let again = KeyRing::parse(read.to_text().as_bytes()).unwrap();
        assert_eq!(again.iter().collect::<Vec<_>>(), read.iter().collect::<Vec<_>>());
        assert!(again.to_text().contains("00.0002"), "{}", again.to_text());
    }

    #[test]
    fn keys_are_removed_by_id_or_name() {
        let (mut ring, texts) = ring();
        let id = ring.find(&texts[0]).unwrap().id.to_string();
        assert_eq!(ring.remove(&id).len(), 1);
        assert_eq!(ring.remove("two").len(), 1);
        assert!(ring.remove("two").is_empty() && ring.is_empty());
    }

    #[test]
    fn a_broken_file_is_refused_with_its_place() {
        let (ring, _) = ring();
        let file = ring.to_text();
        let first = ring.iter().next().unwrap();
        for (from, to, expected) in [
            ("\"format\": 1", "\"format\": 2".to_owned(), "format"),
            ("\"read\"", "\"write\"".to_owned(), "/keys/0: 'write' is not a scope"),
            ("\"name\": \"", "\"name\": \"\\u0007".to_owned(), "/keys/0: the name"),
            ("\"sha256\": \"", "\"sha256\": \"0".to_owned(), "/keys/0: sha256"),
            ("\"a*\"", "\"a b\"".to_owned(), "not a pattern"),
            ("1970-01-01T00:00:09Z", "soon".to_owned(), "expires_at"),
            ("\"name\":", "\"nmae\":".to_owned(), "nmae"),
            (&ring.iter().nth(1).unwrap().id.to_string(), first.id.to_string(), "there twice"),
            ("}", String::new(), "line"),
        ] {
            let refusal = KeyRing::parse(file.replacen(from, &to, 1).as_bytes()).unwrap_err();
            assert!(refusal.contains(expected), "{from} -> {to}: {refusal}");
        }
        for text in ["", "[]", "null", "{}", "{\"format\":1}", "\u{feff}{}"] {
            assert!(KeyRing::parse(text.as_bytes()).is_err(), "{text}");
        }
        assert!(KeyRing::parse(b"{\"format\":1,\"keys\":[]}").unwrap().is_empty());
    }
}
