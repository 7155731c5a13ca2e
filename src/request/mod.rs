//! What is wrong with a request, and where.

/// What is wrong with a request, and where.
pub(crate) mod problem;

/// JSON values in which no member is named twice.
pub(crate) mod json;

/// The nearest known word to an unknown one.
pub(crate) mod suggest;
