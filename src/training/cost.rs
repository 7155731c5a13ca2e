//! What training costs before it starts.

use super::bandwidth::CELLS_AT_ONCE;
use super::{BandwidthRule, LambdaRule, TrainSpec};
use crate::dataset::{Encoding, Schema};
use crate::features::KernelShape;
use crate::solver::DENSE_ROWS;

/// Rows of a block: enough for sums of products to run at full speed, few enough for sums in f32 to stay exact enough
/// and for two panels of a block to stay in the second cache.
pub(super) const BLOCK_ROWS: usize = 512;

const F64: u64 = 8;

/// Peak bytes of a training run: the Gram matrix with the copies its solution needs, one block of
/// products and features a thread, and the dense exact solve where there is one.
pub fn estimate_memory(spec: &TrainSpec, schema: &Schema, threads: usize) -> u64 {
    let (rows, training_rows) = (schema.labelled_rows(), spec.training_rows(schema));
    let (s, d) = (spec.feature_count as u64, Encoding::of(schema, &spec.roles(schema)).input_dim() as u64);
    let learner = spec.learner_for(schema.task);
    let outputs = match schema.labels().len() as u64 {
        0 => schema.targets.len() as u64,
        2 => 1,
        labels => labels,
    };
    let is_ridge = learner.loss().is_none();
    // With λ to be found, the eigenvectors, their workspace and their f64 copy come on top;
    // so do copies of what is kept for spreads and updates.
    let searching = spec.lambda == LambdaRule::Search || spec.spread || spec.updatable;
    let matrices = if (searching && is_ridge) || spec.bandwidth == BandwidthRule::Search { 8 } else { 4 };
    // An iteration keeps some vectors of weights, and of decision values for every row.
    let iteration = if is_ridge { 0 } else { 8 * outputs * (s + rows) * F64 };
    let solving = matrices * s * s * F64 + 2 * outputs * s * F64 + iteration;
    let block = s * s * F64 + BLOCK_ROWS as u64 * (2 * s + d + 2 * schema.columns.len() as u64) * F64;
    let exact = if spec.is_exact() || (is_ridge && training_rows <= spec.guarantees.exact_rows as u64) {
        // A preconditioner takes what is left of the budget; few rows are solved densely. The rows are held by
        // coordinates too, and by the model if it is the exact method.
        let copies = if spec.is_exact() { 8 } else { 4 };
        training_rows * (3 * training_rows.min(DENSE_ROWS as u64) + copies * d + 40 * outputs) * F64
    } else {
        0
    };
    let sorting = if spec.kernel == KernelShape::Laplace { (CELLS_AT_ONCE as u64).min(rows * d) * F64 } else { 0 };
    let frequencies = s * d * F64;
    // One after the other: columns are sorted, the weights found, then the exact system solved.
    frequencies + 2 * rows + sorting.max(exact).max(solving + threads as u64 * block)
}
