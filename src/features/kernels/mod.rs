//! Kernels, one file each.

/// The enum of all kernels.
pub(crate) mod kernel;

/// exp(−‖x−x'‖²/(2σ²)).
pub(crate) mod gaussian;

/// exp(−‖x−x'‖₁/σ).
pub(crate) mod laplace;

/// Matérn of any smoothness.
pub(crate) mod matern;

/// Π 1/(1 + (xⱼ−x'ⱼ)²/σ²).
pub(crate) mod cauchy;

/// (2/π)·arcsin of the cosine.
pub(crate) mod angular;

/// The periodic spline kernel on [0, 1].
pub(crate) mod spline;

/// xᵀx'.
pub(crate) mod linear;

/// Distances between rows.
pub mod distance;

/// Matérn correlation, gamma quantile, zeta and cosine series.
pub(crate) mod special;
