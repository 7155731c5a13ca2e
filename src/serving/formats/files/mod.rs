//! Rows in the formats of files: Parquet and Arrow files, which are read from their end.

/// The format of the rows of a request.
pub(super) mod row_format;

/// Rows that a child process reads from a file.
pub(super) mod columnar_rows;
