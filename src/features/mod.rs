//! x ↦ ψ(x): kernels, the maps that approximate them, and how their frequencies are drawn.
//!
//! A kernel is an enum that delegates to one file per variant, each with the same two verbs:
//! `evaluate` (the exact kernel) and `sample` (one random frequency).

/// The closed set of kernels.
mod kernel;

/// k(x,x') = exp(−‖x−x'‖²/(2σ²)).
mod gaussian;

/// Sampled frequencies and the map they define.
mod map;

/// Cosine and sine of whole slices.
mod cosine;

/// In which precision features are made.
mod precision;

pub use cosine::Wave;
pub use kernel::{Bandwidth, Kernel, KernelName};
pub use map::{FeatureMap, MapKind, Projector, Sampling};
pub use precision::Precision;
