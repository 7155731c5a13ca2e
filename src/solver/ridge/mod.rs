//! Ridge regression from sufficient statistics.

/// Sufficient statistics of a least-squares problem.
pub(crate) mod gram;

/// The units that they are counted in.
pub(crate) mod gram_grid;

/// The same while rows are added.
pub(crate) mod gram_sums;

/// These sums as bytes.
mod gram_bytes;

/// The same of blocks of rows.
pub(crate) mod block_gram;

/// Ridge regression from the sufficient statistics.
pub(crate) mod solve;

/// Ridge regression at every λ from one reduction.
pub(crate) mod path;

/// Ridge regression without groups of its features.
pub(crate) mod group_jackknife;

/// Ridge regression on parts of more features than the model has.
pub(crate) mod pool_subsets;

/// The distance to the exact method that they tell.
pub(crate) mod draw_error;

/// What features that were not drawn would change.
pub(crate) mod fresh_sums;

/// The leverage of each draw.
pub(crate) mod leverage;
