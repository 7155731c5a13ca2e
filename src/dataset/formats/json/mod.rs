//! Tables in JSON.

/// JSON read value by value.
mod text;

/// Objects, one per row.
pub(super) mod objects;

/// Lists, one per column.
pub(super) mod columns;
