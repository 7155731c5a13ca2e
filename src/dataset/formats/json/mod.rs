//! Tables in JSON.

/// JSON read value by value.
mod text;

/// Objects, one per row.
pub(super) mod records;

/// Lists, one per column.
pub(super) mod columns;
