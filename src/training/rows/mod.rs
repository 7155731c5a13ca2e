//! Blocks and samples of rows, and the passes over them.

/// Row blocks of one part of a dataset.
pub(crate) mod parted_rows;

/// What rows are split by.
pub(crate) mod parting;

/// The rows a run works on, and who watches it.
pub(crate) mod run;

/// Which rows a pass goes over.
pub(crate) mod row_selection;

/// Bounds of what is summed over the rows.
mod extent;

/// The pass that makes a Gram matrix.
pub(crate) mod gram_pass;

/// Passes over the rows: moments, leave-one-out residuals, errors.
pub(crate) mod passes;

/// Some rows, held together.
pub(crate) mod picked_rows;

/// A pass that scores candidates for features.
pub(crate) mod pool_passes;

/// Rows of each level of a text column with many.
mod level_counts;

/// Passes over all rows of a table that is too large to be at hand.
pub(crate) mod whole_passes;

/// The class and weight of every row.
pub(crate) mod classes;
