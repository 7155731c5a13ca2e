//! The formats that uploads are read from.

/// Quotes of CSV, checked beside the parser.
pub(crate) mod quotes;

/// CSV records with their line numbers.
pub(crate) mod csv;
