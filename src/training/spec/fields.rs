//! Reads a JSON object field by field and collects every problem with its place.

use crate::request::problem::{Problem, pointer};
use crate::request::suggest;
use serde_json::{Map, Value};
use std::cell::RefCell;

/// One JSON object being read. The problems of all objects of a request are collected in one list, so that a
/// user sees them all at once.
pub(crate) struct Fields<'a> {
    pointer: String,
    object: Option<&'a Map<String, Value>>,
    problems: &'a RefCell<Vec<Problem>>,
}

impl<'a> Fields<'a> {
    /// Starts reading `value`, which must be an object (or absent) with no other than the `known`
    /// fields.
    pub(crate) fn new(
        pointer: &str,
        value: Option<&'a Value>,
        known: &[&str],
        problems: &'a RefCell<Vec<Problem>>,
    ) -> Self {
        let object = value.and_then(Value::as_object);
        let fields = Self { pointer: pointer.to_owned(), object, problems };
        if value.is_some_and(|value| !value.is_object()) {
            problems.borrow_mut().push(Problem { pointer: pointer.to_owned(), detail: "must be an object".into() });
        }
        for name in object.into_iter().flat_map(Map::keys) {
            if !known.contains(&name.as_str()) {
                let nearest = suggest::nearest(name, known.iter().copied());
                fields.problem(name, format!("unknown field{nearest} (known: {})", known.join(", ")));
            }
        }
        fields
    }

    /// A field that is itself an object.
    pub(crate) fn object(&self, name: &str, known: &[&str]) -> Self {
        Self::new(&self.place(name), self.get(name), known, self.problems)
    }

    /// One word of a closed set.
    pub(crate) fn choice<T: Copy>(&self, name: &str, default: T, choices: &[(&str, T)]) -> T {
        let Some(value) = self.get(name) else { return default };
        let chosen = choices.iter().find(|(word, _)| value.as_str() == Some(word));
        chosen.map_or_else(
            || {
                let words: Vec<&str> = choices.iter().map(|(word, _)| *word).collect();
                let nearest = suggest::nearest(value.as_str().unwrap_or_default(), words.iter().copied());
                self.problem(name, format!("must be one of {}{nearest}", words.join(", ")));
                default
            },
            |(_, choice)| *choice,
        )
    }

    /// One word of a closed set, or a finite number that `fits`.
    pub(crate) fn choice_or_number<T: Copy>(
        &self,
        name: &str,
        default: T,
        choices: &[(&str, T)],
        number: impl Fn(f64) -> Option<T>,
        requirement: &str,
    ) -> T {
        let Some(value) = self.get(name) else { return default };
        if let Some(found) = value.as_f64() {
            return number(found).unwrap_or_else(|| {
                self.problem(name, format!("{found} is not {requirement}"));
                default
            });
        }
        let chosen = choices.iter().find(|(word, _)| value.as_str() == Some(word));
        chosen.map_or_else(
            || {
                let words: Vec<&str> = choices.iter().map(|(word, _)| *word).collect();
                self.problem(name, format!("must be {requirement}, or one of {}", words.join(", ")));
                default
            },
            |(_, choice)| *choice,
        )
    }

    /// A number that `fits`.
    pub(crate) fn number(&self, name: &str, default: f64, fits: impl Fn(f64) -> bool, requirement: &str) -> f64 {
        match self.get(name).map(Value::as_f64) {
            None => default,
            Some(Some(number)) if fits(number) => number,
            Some(_) => {
                self.problem(name, format!("must be {requirement}"));
                default
            }
        }
    }

    /// A whole number that `fits`.
    pub(crate) fn integer(&self, name: &str, default: u64, fits: impl Fn(u64) -> bool, requirement: &str) -> u64 {
        match self.get(name).map(Value::as_u64) {
            None => default,
            Some(Some(number)) if fits(number) => number,
            Some(_) => {
                self.problem(name, format!("must be {requirement}"));
                default
            }
        }
    }

    /// A string that is not empty.
    pub(crate) fn text(&self, name: &str) -> Option<String> {
        let value = self.get(name)?;
        let text = value.as_str().filter(|text| !text.is_empty());
        if text.is_none() {
            self.problem(name, "must be a string that is not empty".into());
        }
        text.map(str::to_owned)
    }

    pub(crate) fn boolean(&self, name: &str, default: bool) -> bool {
        match self.get(name).map(Value::as_bool) {
            None => default,
            Some(Some(value)) => value,
            Some(None) => {
                self.problem(name, "must be true or false".into());
                default
            }
        }
    }

    /// Whether a field is this word.
    pub(crate) fn says(&self, name: &str, word: &str) -> bool {
        self.get(name).and_then(Value::as_str) == Some(word)
    }

    /// Whether a field is given.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    /// Notes a problem with a field.
    pub(crate) fn problem(&self, name: &str, detail: String) {
        self.problems.borrow_mut().push(Problem { pointer: self.place(name), detail });
    }

    fn get(&self, name: &str) -> Option<&'a Value> {
        self.object.and_then(|object| object.get(name))
    }

    fn place(&self, name: &str) -> String {
        pointer(&self.pointer, name)
    }
}
