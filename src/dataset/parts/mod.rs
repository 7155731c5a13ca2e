//! What each row is used for: parts of exact shares at random, parts of whole values of a column, folds.

/// At random, by the seed.
mod split;

/// By the values of one column.
mod units;

pub use split::{HeldOut, Part, folds, keep_few, permutation, split, thin};
pub use units::{TooFewUnits, UnitOrder, fold_units, split_units};
