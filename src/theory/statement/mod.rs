//! What a guarantee is and how it is worded.

/// What a guarantee says and how far it can be trusted.
pub(crate) mod guarantee;

/// What would make one available.
pub(crate) mod remedy;

/// How it is put to a reader who is not a specialist.
pub(crate) mod words;

/// What many theorems assume alike.
pub(crate) mod assumptions;
