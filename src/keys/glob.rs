//! Which models a key is for.

use std::fmt;
use std::str::FromStr;

/// Longest pattern, in bytes.
const LONGEST: usize = 200;

/// A pattern of model names, in which `*` stands for any characters, also none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelGlob(String);

impl ModelGlob {
    /// Whether a name, without an alias, matches.
    pub fn matches(&self, name: &str) -> bool {
        let mut parts = self.0.split('*');
        let first = parts.next().unwrap_or_default();
        let Some(mut rest) = name.strip_prefix(first) else { return false };
        let Some(last) = parts.next_back() else { return rest.is_empty() };
        // Each part at its first place after the one before leaves the most for the last, which must be at the end.
        for part in parts {
            let Some(at) = rest.find(part) else { return false };
            rest = &rest[at + part.len()..];
        }
        rest.ends_with(last)
    }
}

impl FromStr for ModelGlob {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let is_part = |c: char| c.is_ascii_alphanumeric() || "-_.*".contains(c);
        match text {
            "" => Err("a pattern of model names is empty; * stands for all models".into()),
            _ if text.len() > LONGEST => Err(format!("a pattern of model names is longer than {LONGEST} characters")),
            _ if !text.chars().all(is_part) => {
                Err(format!("'{text}' is not a pattern of model names: use letters, digits, - _ . and *"))
            }
            _ => Ok(Self(text.to_owned())),
        }
    }
}

impl fmt::Display for ModelGlob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The same by trying every way to split.
    fn slow(pattern: &str, name: &str) -> bool {
        match pattern.split_at_checked(1) {
            None => name.is_empty(),
            Some(("*", rest)) => (0..=name.len()).any(|at| slow(rest, &name[at..])),
            Some((letter, rest)) => name.strip_prefix(letter).is_some_and(|name| slow(rest, name)),
        }
    }

    #[test]
    fn stars_stand_for_any_characters() {
        let texts = |letters: &[&str]| {
            let mut all = vec![String::new()];
            for _ in 0..5 {
                let longer = all.iter().flat_map(|text| letters.iter().map(move |letter| format!("{text}{letter}")));
                all = all.iter().cloned().chain(longer).collect();
                all.sort();
                all.dedup();
            }
            all
        };
        let (patterns, names) = (texts(&["a", "b", "*"]), texts(&["a", "b"]));
        let mut matched = 0;
        for pattern in patterns.iter().filter(|pattern| !pattern.is_empty()) {
            let glob: ModelGlob = pattern.parse().unwrap();
            for name in &names {
                assert_eq!(glob.matches(name), slow(pattern, name), "{pattern} {name}");
                matched += usize::from(glob.matches(name));
            }
        }
        assert!(matched > 1000, "{matched}");
        assert!(!"house".parse::<ModelGlob>().unwrap().matches("houses"));
    }

    #[test]
    fn patterns_have_the_characters_of_names_and_stars() {
        for wrong in ["", "a b", "a/b", "a@live", "ä", "a?", &"a".repeat(LONGEST + 1)] {
            assert!(wrong.parse::<ModelGlob>().is_err(), "{wrong}");
        }
        assert_eq!("houses-*.v1_x".parse::<ModelGlob>().unwrap().to_string(), "houses-*.v1_x");
    }
}
