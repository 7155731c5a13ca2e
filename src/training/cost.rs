//! What training costs before it starts.

use super::bandwidth::CELLS_AT_ONCE;
use super::{BandwidthRule, LambdaRule, TrainSpec};
use crate::features::KernelShape;

/// Rows of a block: large enough for the rank-k update to run at full speed, small enough for its
/// f32 sums to stay exact enough.
pub(super) const BLOCK_ROWS: usize = 1_024;

/// Peak bytes of a training run: the Gram matrix with the copies its solution needs, one block of
/// products and features a thread, and the dense exact solve where there is one.
pub fn estimate_memory(
    spec: &TrainSpec,
    labelled_rows: u64,
    column_count: usize,
    input_dim: usize,
    threads: usize,
) -> u64 {
    const F64: u64 = 8;
    let (s, d) = (spec.feature_count as u64, input_dim as u64);
    // With λ to be found, the eigenvectors, their workspace and their f64 copy come on top;
    // so do copies of what is kept for spreads and updates.
    let searching =
        spec.lambda == LambdaRule::Search || spec.bandwidth == BandwidthRule::Search || spec.spread || spec.updatable;
    let matrices = if searching { 8 } else { 3 };
    let gram = matrices * s * s * F64;
    let block = s * s * F64 + BLOCK_ROWS as u64 * (2 * s + d + 2 * column_count as u64) * F64;
    let training_rows = (labelled_rows as f64 * (1.0 - spec.validation_fraction)).ceil() as u64;
    let exact = if training_rows <= spec.guarantees.exact_rows as u64 {
        training_rows * (3 * training_rows + 2 * d) * F64
    } else {
        0
    };
    let frequencies = s * d * F64;
    let sorting =
        if spec.kernel == KernelShape::Laplace { (CELLS_AT_ONCE as u64).min(labelled_rows * d) * F64 } else { 0 };
    // One after the other: columns are sorted, the Gram matrix solved, then the exact system.
    frequencies + labelled_rows + sorting.max(exact).max(gram + threads as u64 * block)
}
