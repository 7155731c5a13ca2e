//! x ↦ ψ(x): kernels, the maps that approximate them, and how their frequencies are drawn.
//!
//! A kernel is an enum that delegates to one file per variant, each with the same two verbs: the
//! exact kernel, and one frequency from uniform numbers. A sampling is an enum that delegates to one
//! file per variant, each with the verb `sample`.

/// The closed set of kernels.
mod kernel;

/// exp(−‖x−x'‖²/(2σ²)).
mod gaussian;

/// exp(−‖x−x'‖₁/σ).
mod laplace;

/// Matérn of any smoothness.
mod matern;

/// Π 1/(1 + (xⱼ−x'ⱼ)²/σ²).
mod cauchy;

/// (2/π)·arcsin of the cosine.
mod angular;

/// The periodic spline kernel on [0, 1].
mod spline;

/// xᵀx'.
mod linear;

/// How frequencies are drawn.
mod sampling;

/// Independent draws.
mod plain;

/// Orthogonal directions with independent norms.
mod orthogonal;

/// Orthogonal directions from Hadamard matrices, never stored densely.
mod structured;

/// Scrambled Sobol points through the quantile function.
mod quasi_monte_carlo;

/// Frequencies and the function ψ they define.
mod map;

/// A map made ready to run in one precision.
mod projector;

/// Dense frequencies made ready to multiply with.
mod panels;

/// Structured frequencies made ready to multiply with.
mod hadamard;

/// Cosine and sine of whole slices.
mod cosine;

/// The exponential of whole slices.
mod exponential;

/// Points made ready for many exact kernel values at once.
mod kernel_points;

/// In which precision features are made.
mod precision;

/// Distances between rows.
pub mod distance;

/// Special functions.
mod special;

pub use cosine::Wave;
pub use exponential::Exponential;
pub use kernel::{Kernel, KernelShape};
pub use kernel_points::KernelPoints;
pub use map::{FeatureMap, Frequencies, MapKind};
pub use precision::Precision;
pub use projector::Projector;
pub use sampling::Sampling;
pub use special::CosineSeries;
pub use structured::Structured;
