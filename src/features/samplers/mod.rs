//! Samplings of frequencies, one file each.

/// The enum of all samplings.
pub(crate) mod sampling;

/// Independent draws.
pub(crate) mod plain;

/// Orthogonal directions with independent norms.
pub(crate) mod orthogonal;

/// Orthogonal directions from Hadamard matrices, never stored densely.
pub(crate) mod structured;

/// Draws from a density that is flatter than that of the gaussian kernel.
pub(crate) mod capped;

/// Draws from a pool of candidates by their scores.
pub(crate) mod pool_draws;

/// Scrambled Sobol points through the quantile function.
pub(crate) mod quasi_monte_carlo;
