//! Whether a column names its rows: nothing can be learned from what is different in every row.

/// Fewer rows say nothing about whether values repeat.
pub(super) const FEWEST_ROWS: u64 = 20;

/// Words in the name of a column that numbers its rows.
const WORDS: [&str; 18] = [
    "id", "ids", "uid", "uuid", "guid", "key", "no", "nr", "num", "number", "index", "idx", "row", "rownum", "serial",
    "customer", "account", "ref",
];

/// Whether a name has a word such as `id` in it: `customer_id`, `customerId`, `Order No`.
pub(super) fn has_identifying_name(name: &str) -> bool {
    let mut words: Vec<String> = vec![String::new()];
    let mut before = ' ';
    for letter in name.chars() {
        if !letter.is_alphanumeric() || letter.is_uppercase() && before.is_lowercase() {
            words.push(String::new());
        }
        if letter.is_alphanumeric() {
            words.last_mut().into_iter().for_each(|word| word.extend(letter.to_lowercase()));
        }
        before = letter;
    }
    words.iter().any(|word| WORDS.contains(&word.as_str()))
}

/// Whether of so many texts so many distinct ones are nearly all of them.
pub(super) fn nearly_all_distinct(distinct: u64, cells: u64) -> bool {
    cells >= FEWEST_ROWS && distinct * 20 >= cells * 19
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_identifiers() {
        for name in ["id", "ID", "customer_id", "customerId", "Order No", "row", "Unnamed.index", "account-nr", "UUID"]
        {
            assert!(has_identifying_name(name), "{name}");
        }
        for name in ["width", "paid", "noise", "grid", "x", "rowing", "Einwohner", "numeric"] {
            assert!(!has_identifying_name(name), "{name}");
        }
    }
}
