//! Words that stand for a missing value.

/// Missing in every column, as in all releases so far.
const EVERYWHERE: [&str; 3] = ["na", "n/a", "null"];

/// Missing in a column of numbers, dates or truth values; in a column of texts each may be a level of its own.
const AMONG_VALUES: [&str; 19] = [
    "?",
    "-",
    "--",
    "---",
    ".",
    "..",
    "unknown",
    "none",
    "nil",
    "missing",
    "n.a.",
    "n.a",
    "#n/a",
    "#na",
    "<na>",
    "not available",
    "not applicable",
    "unspecified",
    "undefined",
];

/// Whether a cell is missing whatever its column holds.
pub(super) fn is_missing_everywhere(cell: &str) -> bool {
    cell.is_empty() || is_one_of(cell, &EVERYWHERE)
}

/// Whether a cell is missing among values that are not texts.
pub(super) fn is_missing_among_values(cell: &str) -> bool {
    is_one_of(cell, &AMONG_VALUES)
}

fn is_one_of(cell: &str, words: &[&str]) -> bool {
    cell.len() <= 14 && words.iter().any(|word| cell.eq_ignore_ascii_case(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_found_in_any_case_and_by_their_place() {
        for cell in ["", "NA", "n/a", "NULL"] {
            assert!(is_missing_everywhere(cell) && !is_missing_among_values(cell), "{cell}");
        }
        for cell in ["?", "Unknown", "NONE", "-", "not available", "#N/A"] {
            assert!(!is_missing_everywhere(cell) && is_missing_among_values(cell), "{cell}");
        }
        // NaN is usually the result of a failed computation, so it is refused where a number belongs.
        for cell in ["0", "no", "NaN", "nothing", "unknown street"] {
            assert!(!is_missing_everywhere(cell) && !is_missing_among_values(cell), "{cell}");
        }
        assert!(AMONG_VALUES.iter().all(|word| word.len() <= 14));
    }
}
