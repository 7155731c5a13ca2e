//! A metric learned from the rows: k(x, x') = k₀(M^½x, M^½x'), by rounds of a fit and of the average outer product of its
//! gradients.

/// M, and the inputs in its coordinates.
mod matrix;

/// One fit of a round: bandwidth, λ, leave-one-out residuals, gradients.
mod round;

/// The same by the kernel itself.
mod kernel_round;

/// Rounds, and the metric that is kept.
mod learning;

/// Leave-one-out residuals and gains.
mod residuals;

pub(super) use kernel_round::{coded_rows, descend};
pub(super) use learning::STANDARD_ERRORS;
pub(crate) use learning::learn_metric;
pub(super) use matrix::Metric;
pub(super) use residuals::Residuals;
pub(super) use round::{RoundFit, RoundRows};
