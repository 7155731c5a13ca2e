//! Guarantees of our own.

/// Theorem 1 of Wang at small λ.
pub mod relative;

/// The tail of the binomial distribution.
pub mod binomial;

/// The distance to the exact method, certified on held-out rows.
pub mod certificate;

/// The same, estimated by leaving out features.
pub mod jackknife;

/// The same, estimated from features that were not used.
pub mod fresh_features;

/// Intervals and label sets with coverage.
pub mod conformal;
