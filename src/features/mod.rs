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

/// Gradients of functions on waves.
mod gradients;

/// Functions as sums of waves, which explain themselves in closed form.
mod wave_sum;

/// The variance of kernel estimates.
mod kernel_deviation;

/// Exact kernel values between many points.
mod kernel_points;

pub use engine::cosine::Wave;
pub use engine::exponential::Exponential;
pub use engine::precision::Precision;
pub use engine::projector::Projector;
pub use gradients::Gradients;
pub use kernel_deviation::kernel_deviation;
pub use kernel_points::KernelPoints;
pub use kernels::distance;
pub use kernels::kernel::{Kernel, KernelShape};
pub use kernels::special::CosineSeries;
pub use map::{DrawScales, FeatureMap, Frequencies, MapKind};
pub use samplers::capped::{CappedConstants, CappedDensity, CappedDraws};
pub use samplers::pool_draws::{draw_by_score, largest_scores};
pub use samplers::sampling::{ChosenBy, Sampling};
pub use samplers::structured::Structured;
pub use wave_sum::WaveSum;
