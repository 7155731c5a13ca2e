//! From cells to typed columns: the first pass over an upload.

/// Rows of texts, wherever they come from.
mod text_rows;

/// What the sender says about columns.
mod options;

/// Counts and moments of numbers.
mod number_statistics;

/// What was seen of a column.
mod profile;

/// The kind of a column, decided by all its cells.
mod decision;

/// What is asked when cells do not decide.
mod questions;

/// Whether a column names its rows.
mod identifiers;

/// The columns, targets and task of a table.
mod table_schema;

pub use options::ColumnOptions;

pub(super) use options::Intent;
pub(super) use profile::profile;
pub(super) use table_schema::{intents, make_schema};
pub(super) use text_rows::{StoredRows, TextRows};
