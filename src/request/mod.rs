//! Reading requests: JSON, problems with their location, and suggestions.

/// What is wrong with a request, and where.
pub(crate) mod problem;

/// JSON values without repeated members.
pub(crate) mod json;

/// The known word nearest to an unknown one.
pub(crate) mod suggest;
