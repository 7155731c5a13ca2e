//! "Did you mean": the known word nearest to an unknown one.

/// `; did you mean 'x'?` with the nearest of `known`, or an empty text if none is near.
pub(crate) fn nearest<'a>(unknown: &str, known: impl Iterator<Item = &'a str>) -> String {
    const NEAR: f64 = 0.7;
    let similarity = |word: &str| strsim::jaro_winkler(&unknown.to_lowercase(), &word.to_lowercase());
    known
        .map(|word| (similarity(word), word))
        .filter(|(similarity, _)| *similarity >= NEAR)
        .max_by(|left, right| left.0.total_cmp(&right.0))
        .map_or_else(String::new, |(_, word)| format!("; did you mean '{word}'?"))
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn near_words_are_suggested_and_far_ones_are_not() {
        let known = || ["lambda", "kernel", "features"].into_iter();
        assert_eq!(nearest("lamda", known()), "; did you mean 'lambda'?");
        assert_eq!(nearest("Kernal", known()), "; did you mean 'kernel'?");
        assert_eq!(nearest("xyz", known()), "");
    }
}
