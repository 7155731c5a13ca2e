//! Texts of levels that training did not see, kept for warnings.

use std::collections::HashMap;

/// Most texts that are kept of a request, and most characters of each: the sender chooses both.
const MOST_TEXTS: usize = 1024;
const LONGEST_TEXT: usize = 64;

/// Different texts, each with a code below −1: rows hold the code in the place of a level. Predictions treat all codes
/// below 0 alike.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct UnknownLevels {
    texts: Vec<String>,
    numbers: HashMap<String, usize>,
}

impl UnknownLevels {
    /// The code of a text; the one of an unknown level without a text if there are too many already.
    pub(super) fn code(&mut self, text: &str) -> f64 {
        const WITHOUT_TEXT: f64 = -1.0;
        let shortened = || text.char_indices().nth(LONGEST_TEXT).map(|(end, _)| format!("{}…", &text[..end]));
        // A long text is rare, and only then is there something to allocate.
        let long = if text.len() > LONGEST_TEXT { shortened() } else { None };
        let text = long.as_deref().unwrap_or(text);
        let number = match self.numbers.get(text) {
            Some(number) => *number,
            None if self.texts.len() == MOST_TEXTS => return WITHOUT_TEXT,
            None => {
                self.texts.push(text.to_owned());
                self.numbers.insert(text.to_owned(), self.texts.len() - 1);
                self.texts.len() - 1
            }
        };
        WITHOUT_TEXT - 1.0 - number as f64
    }

    /// The text of a code.
    pub(super) fn text(&self, code: f64) -> Option<&str> {
        let number = (code <= -2.0).then(|| (-code) as usize - 2)?;
        self.texts.get(number).map(String::as_str)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.texts.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_kept_once_and_shortened() {
        let mut levels = UnknownLevels::default();
        let codes = ["pink", "mauve", "pink"].map(|text| levels.code(text));
        assert_eq!(codes, [-2.0, -3.0, -2.0]);
        assert_eq!((levels.text(-3.0), levels.text(-1.0), levels.text(-4.0)), (Some("mauve"), None, None));
        let code = levels.code(&"ü".repeat(1000));
        assert_eq!(levels.text(code), Some(format!("{}…", "ü".repeat(64)).as_str()));
    }

    #[test]
    fn a_request_of_nothing_but_new_texts_takes_little_memory() {
        let mut levels = UnknownLevels::default();
        let codes: Vec<f64> = (0..5000).map(|number| levels.code(&number.to_string())).collect();
        assert_eq!((codes[MOST_TEXTS - 1], codes[MOST_TEXTS], codes[4999]), (-1025.0, -1.0, -1.0));
        assert_eq!(levels.code("7"), codes[7]);
    }
}
