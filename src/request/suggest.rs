//! "Did you mean": the known word nearest to an unknown one.

/// `; did you mean 'x'?` with the nearest of `known`, or an empty text if none is near.
pub(crate) fn nearest<'a>(unknown: &str, known: impl Iterator<Item = &'a str>) -> String {
    nearest_of(unknown, known.map(|word| (word, word)))
        .map_or_else(String::new, |word| format!("; did you mean '{word}'?"))
}

/// The index of the nearest of `known`, if one is near.
pub(crate) fn nearest_index<'a>(unknown: &str, known: impl Iterator<Item = &'a str>) -> Option<usize> {
    nearest_of(unknown, known.enumerate().map(|(index, word)| (word, index)))
}

/// What belongs to the nearest of the words; the last of equals.
fn nearest_of<'a, T>(unknown: &str, known: impl Iterator<Item = (&'a str, T)>) -> Option<T> {
    const NEAR: f64 = 0.7;
    let unknown = unknown.to_lowercase();
    let similarity = |word: &str| strsim::jaro_winkler(&unknown, &word.to_lowercase());
    known
        .map(|(word, of_word)| (similarity(word), of_word))
        .filter(|(similarity, _)| *similarity >= NEAR)
        .max_by(|left, right| left.0.total_cmp(&right.0))
        .map(|(_, of_word)| of_word)
}

#[cfg(test)]
mod tests {
    use super::{nearest, nearest_index};

    #[test]
    fn near_words_are_suggested_and_far_ones_are_not() {
        let known = || ["lambda", "kernel", "features"].into_iter();
        assert_eq!(nearest("lamda", known()), "; did you mean 'lambda'?");
        assert_eq!(nearest("Kernal", known()), "; did you mean 'kernel'?");
        assert_eq!(nearest("xyz", known()), "");
        assert_eq!((nearest_index("FEATURE", known()), nearest_index("xyz", known())), (Some(2), None));
    }
}
