//! Guarantees that are not in the papers; `docs/derivations.md` has the proofs.

/// Theorem 1 of Wang for a smaller λ.
pub mod relative;

/// Tail probabilities of the binomial distribution.
pub mod binomial;

/// The distance to the exact method, certified on held-out rows.
pub mod certificate;

/// Certified error bars for single predictions.
pub mod certificate_scaled;

/// The mean of bounded values, bounded by betting.
pub mod betting;

/// The distance to the exact method, estimated by leaving out features.
pub mod jackknife;

/// The distance to the exact method, estimated from unused features.
pub mod fresh_features;

/// Prediction intervals and label sets with guaranteed coverage.
pub mod conformal;
