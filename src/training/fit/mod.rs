//! Choosing what the spec leaves open, and fitting the weights.

/// Features kept in memory or made anew.
pub(crate) mod feature_cache;

/// The bandwidth that a rule gives.
pub(crate) mod bandwidth;

/// λ and bandwidth by leave-one-out error.
pub(crate) mod search;

/// From row blocks to weights.
pub(crate) mod ridge;

/// The exact kernel method as a model.
pub(crate) mod exact;

/// Classifiers with a convex loss.
pub(crate) mod classifier;
