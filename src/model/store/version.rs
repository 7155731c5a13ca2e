//! A version of a model, and how models are named.

use crate::model::RegistryError;
use serde::{Deserialize, Serialize};

/// One version of a model.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelVersion {
    /// Of the model.
    pub name: String,
    /// 1, 2, 3 …
    pub version: u32,
    /// Id of its artifact: that of the job or import that made it.
    pub artifact: String,
    /// Id of the data set it was trained on.
    pub dataset: String,
    /// Size of the artifact.
    pub bytes: u64,
    /// Of the artifact; the same data, spec and seed give the same one.
    pub sha256: String,
    /// RFC 3339.
    pub created_at: String,
    /// Where it came from, if it or a version it was updated from was not made here.
    pub imported: Option<Imported>,
}

/// Where a version came from that was not made here. What it says of its training is the word of its sender.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Imported {
    /// RFC 3339.
    pub at: String,
    /// As given at the import.
    pub origin: Option<String>,
    /// Of the file as it was sent, decompressed.
    pub sha256: String,
}

/// A safe model name: `[a-zA-Z0-9][a-zA-Z0-9._-]{0,63}`.
pub fn check_model_name(name: &str) -> Result<(), RegistryError> {
    if is_name(name) { Ok(()) } else { Err(RegistryError::Name { name: name.chars().take(80).collect() }) }
}

/// Checks a name, or a name with an alias.
pub fn check_model_reference(text: &str) -> Result<(), RegistryError> {
    ModelReference::parse(text).map(|_| ())
}

/// A model as requests name it: `name`, or `name@alias`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ModelReference<'a> {
    pub(crate) name: &'a str,
    pub(crate) alias: Option<&'a str>,
}

impl<'a> ModelReference<'a> {
    /// Reads and checks a reference.
    pub(crate) fn parse(text: &'a str) -> Result<Self, RegistryError> {
        let (name, alias) = match text.split_once('@') {
            Some((name, alias)) => (name, Some(alias)),
            None => (text, None),
        };
        check_model_name(name)?;
        alias.map_or(Ok(()), check_alias)?;
        Ok(Self { name, alias })
    }
}

/// An alias follows the rules of a name, and is not a number: `m@3` would look like a version.
pub fn check_alias(alias: &str) -> Result<(), RegistryError> {
    if is_name(alias) && !alias.bytes().all(|byte| byte.is_ascii_digit()) {
        Ok(())
    } else {
        Err(RegistryError::Alias { alias: alias.chars().take(80).collect() })
    }
}

/// Whether a text can be a file name, a metric label and a path segment.
fn is_name(name: &str) -> bool {
    let mut characters = name.chars();
    characters.next().is_some_and(|first| first.is_ascii_alphanumeric())
        && characters.all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-'))
        && name.len() <= 64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_could_be_paths_are_refused() {
        for name in ["a", "California-1.0_x", &"a".repeat(64)] {
            assert!(check_model_name(name).is_ok(), "{name}");
        }
        for name in ["", ".", "..", "a/b", "../a", "a b", "a%2Fb", "-a", "ä", "a\0", "a@b", &"a".repeat(65)] {
            assert!(check_model_name(name).is_err(), "{name}");
        }
    }

    #[test]
    fn a_reference_is_a_name_with_or_without_an_alias() {
        let parse = |text| ModelReference::parse(text).ok();
        assert_eq!(parse("m"), Some(ModelReference { name: "m", alias: None }));
        assert_eq!(parse("m@prod"), Some(ModelReference { name: "m", alias: Some("prod") }));
        for text in ["m@", "@prod", "m@a@b", "m@3", "m@../x"] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
