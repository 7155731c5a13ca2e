//! `yes`, `no` and their kin. 0 and 1 are numbers.

/// The truth value of a cell, in any case.
pub(super) fn read(cell: &str) -> Option<bool> {
    let is = |words: [&str; 4]| words.iter().any(|word| cell.eq_ignore_ascii_case(word));
    if cell.len() > 5 {
        None
    } else if is(["true", "yes", "t", "y"]) {
        Some(true)
    } else if is(["false", "no", "f", "n"]) {
        Some(false)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn truth_values_in_any_case() {
        assert_eq!(["Yes", "T", "TRUE", "y"].map(read), [Some(true); 4]);
        assert_eq!(["no", "F", "False", "N"].map(read), [Some(false); 4]);
        assert_eq!(["", "0", "1", "maybe", "yes!"].map(read), [None; 5]);
    }
}
