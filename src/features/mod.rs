//! x ↦ ψ(x): kernels, the maps that approximate them, and how their frequencies are drawn.
//!
//! A kernel is an enum that delegates to one file per variant, each with the same two verbs: the
//! exact kernel, and one frequency from uniform numbers. A sampling is an enum that delegates to one
//! file per variant, each with the verb `sample`.

/// The kernels, one file each.
mod kernels;

/// How frequencies are drawn.
mod samplers;

/// Feature maps made ready to run: projections, cosines, exponentials.
mod engine;

/// Frequencies and the function ψ they define.
mod map;

/// Points made ready for many exact kernel values at once.
mod kernel_points;

pub use engine::cosine::Wave;
pub use engine::exponential::Exponential;
pub use engine::precision::Precision;
pub use engine::projector::Projector;
pub use kernel_points::KernelPoints;
pub use kernels::distance;
pub use kernels::kernel::{Kernel, KernelShape};
pub use kernels::special::CosineSeries;
pub use map::{FeatureMap, Frequencies, MapKind};
pub use samplers::sampling::Sampling;
pub use samplers::structured::Structured;
