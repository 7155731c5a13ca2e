//! Blocks and samples of rows, and the passes over them.

/// Row blocks of one part of a dataset.
pub(crate) mod parted_rows;

/// The rows a run works on, and who watches it.
pub(crate) mod run;

/// Which rows a pass goes over.
pub(crate) mod row_selection;

/// Passes over the rows: moments, Gram matrix, errors.
pub(crate) mod passes;

/// The class and weight of every row.
pub(crate) mod classes;
