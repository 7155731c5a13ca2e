//! A: spectral errors, and a preconditioner of random features.

/// §6: capped draws on one wide input.
pub(super) mod capped;

/// Theorem 7: the spectral error by the number of features.
pub(super) mod delta;

/// §3.2: iterations by the number of features of a preconditioner.
pub(super) mod preconditioner;
