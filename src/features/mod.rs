//! x ↦ ψ(x): kernels, the maps that approximate them, and how their frequencies are drawn.
//!
//! A kernel is an enum with one file per variant: the exact kernel, and one frequency from uniform numbers. A sampling is
//! an enum with one file per variant and its function `sample`.

/// Kernels, one file each.
mod kernels;

/// Samplings of frequencies, one file each.
mod samplers;

/// Evaluation of feature maps: projections, cosines, exponentials.
mod engine;

/// Feature maps: the frequencies and the function ψ they define.
mod map;

/// Exact kernel values between many points.
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
