//! One key: what the file says of it, and the text that its holder has.

use super::{ModelGlob, Scopes};
use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};
use std::fmt;
use std::str::FromStr;
use std::time::SystemTime;
use subtle::ConstantTimeEq;

/// How the text of every key begins, so that people and scanners of leaked secrets recognise it.
const PREFIX: &str = "bochner_";

/// Hexadecimal digits of an id.
const ID_DIGITS: usize = 8;

/// Bytes of a secret, and characters of its text in base64url.
const SECRET_BYTES: usize = 32;
const SECRET_LENGTH: usize = 43;

/// Longest name, in characters.
const LONGEST_NAME: usize = 100;

/// Which key it is. Part of the key's text and no secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct KeyId(u32);

impl FromStr for KeyId {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        let digits = Some(text).filter(|text| text.len() == ID_DIGITS && text.bytes().all(is_digit));
        let number = digits.and_then(|digits| u32::from_str_radix(digits, 16).ok());
        number.map(Self).ok_or_else(|| format!("'{text}' is not the id of a key: {ID_DIGITS} hexadecimal digits"))
    }
}

impl fmt::Display for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:0ID_DIGITS$x}", self.0)
    }
}

/// A key as the file has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Key {
    /// Which key.
    pub id: KeyId,
    /// Given when it was made.
    pub name: String,
    /// Of the secret, the last part of the text that its holder has.
    pub sha256: [u8; 32],
    /// What it allows.
    pub scopes: Scopes,
    /// The models it is for; all if there is no pattern.
    pub models: Vec<ModelGlob>,
    /// When it was made.
    pub created_at: SystemTime,
    /// From when on it is refused.
    pub expires_at: Option<SystemTime>,
}

impl Key {
    /// Whether it is for all models.
    pub fn covers_all_models(&self) -> bool {
        self.models.is_empty()
    }

    /// Whether it is for a model, named without an alias.
    pub fn covers(&self, model: &str) -> bool {
        self.models.is_empty() || self.models.iter().any(|glob| glob.matches(model))
    }

    /// Whether it is refused at a time.
    pub fn has_expired(&self, now: SystemTime) -> bool {
        self.expires_at.is_some_and(|end| end <= now)
    }

    /// Whether this is the key with that text. Takes the same time wherever they differ.
    pub(super) fn is(&self, text: &str) -> bool {
        parts(text).is_some_and(|(_, secret)| bool::from(self.sha256.ct_eq(&hash(secret))))
    }
}

/// The id in the text of a key, if the text has the form of one.
pub(super) fn id_in(text: &str) -> Option<KeyId> {
    parts(text)?.0.parse().ok()
}

/// The id and the secret in a text that has the form of a key.
fn parts(text: &str) -> Option<(&str, &str)> {
    let parts = text.strip_prefix(PREFIX)?.split_once('_')?;
    (parts.1.len() == SECRET_LENGTH).then_some(parts)
}

/// One block of SHA-256, since this is done for every request.
fn hash(secret: &str) -> [u8; 32] {
    Sha256::digest(secret.as_bytes()).into()
}

/// What is wanted of a new key.
#[derive(Debug, Clone)]
pub struct NewKey {
    /// A name to know it by.
    pub name: String,
    /// What it allows.
    pub scopes: Scopes,
    /// The models it is for; all if there is no pattern.
    pub models: Vec<ModelGlob>,
    /// From when on it is refused.
    pub expires_at: Option<SystemTime>,
}

impl NewKey {
    /// Makes the key from random numbers of the system: what is kept of it, and its text, which is kept nowhere.
    pub(super) fn make(self, now: SystemTime) -> Result<(Key, String), getrandom::Error> {
        let mut random = [0; ID_DIGITS / 2 + SECRET_BYTES];
        getrandom::fill(&mut random)?;
        let (id, secret) = random.split_at(ID_DIGITS / 2);
        let id = KeyId(id.iter().fold(0, |number, byte| number << 8 | u32::from(*byte)));
        let secret = BASE64_URL_SAFE_NO_PAD.encode(secret);
        let text = format!("{PREFIX}{id}_{secret}");
        let Self { name, scopes, models, expires_at } = self;
        Ok((Key { id, name, sha256: hash(&secret), scopes, models, created_at: now, expires_at }, text))
    }
}

/// Checks the name of a key.
pub(super) fn check_name(name: &str) -> Result<(), String> {
    if name.is_empty() || name.chars().count() > LONGEST_NAME || name.chars().any(char::is_control) {
        return Err(format!(
            "the name of a key must have 1 to {LONGEST_NAME} characters, none of them a control character"
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::Scope;
    use std::time::Duration;

    pub(crate) fn make() -> (Key, String) {
        let new = NewKey {
            name: "test".into(),
            scopes: Scopes::of(&[Scope::Read]),
            models: vec!["houses-*".parse().unwrap(), "waves".parse().unwrap()],
            expires_at: None,
        };
        new.make(SystemTime::UNIX_EPOCH).unwrap()
    }

    #[test]
    fn a_text_leads_to_its_key_and_no_other_text_does() {
        let (key, text) = make();
        assert_eq!(text.len(), 8 + 8 + 1 + SECRET_LENGTH);
        assert_eq!(id_in(&text), Some(key.id));
        assert!(key.is(&text));
        let (_, other) = make();
        assert_ne!(text, other);
        assert!(!key.is(&other) && !key.is("") && !key.is(&text[..59]) && !key.is(&text.to_uppercase()));
        for wrong in ["", "bochner_", "bochner__", &text[1..], &text[..59], &format!("{text}0"), "bochner_é"] {
            assert_eq!(id_in(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_key_is_for_the_models_of_its_patterns() {
        let (mut key, _) = make();
        assert!(key.covers("houses-1") && key.covers("waves"));
        assert!(!key.covers("waves2") && !key.covers("") && !key.covers_all_models());
        key.models.clear();
        assert!(key.covers("waves2") && key.covers_all_models());
    }

    #[test]
    fn a_key_expires_at_its_time() {
        let (mut key, _) = make();
        let now = SystemTime::now();
        assert!(!key.has_expired(now));
        key.expires_at = Some(now);
        assert!(key.has_expired(now) && !key.has_expired(now - Duration::from_millis(1)));
    }

    #[test]
    fn names_are_short_and_printable() {
        assert!(check_name("the build server").is_ok());
        for wrong in ["", "a\nb", "a\u{1b}[31m", &"x".repeat(101)] {
            assert!(check_name(wrong).is_err(), "{wrong:?}");
        }
    }
}
