//! The formats that uploads are read from.

/// Checks the quotes of CSV, which the parser does not.
pub(crate) mod quotes;

/// CSV records with their line numbers.
pub(crate) mod csv;

/// Tables in JSON.
mod json;

/// A label and pairs on each line.
mod libsvm;

/// Parquet and Arrow, read in a child process.
pub(super) mod columnar;

/// Names of the formats, and how they are recognised.
pub(super) mod upload_format;

/// The rows of an upload as text cells, whatever its format.
pub(crate) mod records;
