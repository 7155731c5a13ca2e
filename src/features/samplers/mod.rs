//! Samplings of frequencies, one file each.

/// The enum of all samplings.
pub(crate) mod sampling;

/// Independent draws.
pub(crate) mod plain;

/// Orthogonal directions with independent norms.
pub(crate) mod orthogonal;

/// Orthogonal directions from Hadamard matrices, never stored densely.
pub(crate) mod structured;

/// Scrambled Sobol points through the quantile function.
pub(crate) mod quasi_monte_carlo;
