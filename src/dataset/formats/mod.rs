//! The formats that uploads are read from.

/// Checks the quotes of CSV, which the parser does not.
pub(crate) mod quotes;

/// CSV records with their line numbers.
pub(crate) mod csv;
