//! The memory a training will need, estimated before it starts.

use super::open_choices::{CANDIDATES, OpenChoices};
use crate::dataset::{Encoding, Schema};
use crate::features::{KernelShape, Sampling};
use crate::solver::{DENSE_ROWS, PROBES, blocks_at_once, compared_rows, pool_multiple};
use crate::training::{ClassWeight, GuaranteeSpec, LambdaRule, TrainSpec};

/// Rows of a block: enough for sums of products to run at full speed, few enough for sums in f32 to stay exact enough
/// and for two panels of a block to stay in the second cache.
pub(crate) const BLOCK_ROWS: usize = 512;

/// Columns of a pool of candidates that are scored at once. A larger pool is scored in groups, each with a Gram matrix of
/// its own: half a gigabyte at most, whatever the machine, so that a model does not depend on it.
pub(crate) const GROUP_COLUMNS: usize = 8_192;

/// Columns are sorted in groups of about this many cells at once.
pub(crate) const SORTED_CELLS: usize = 1 << 24;

const F64: u64 = 8;

/// Peak bytes of measuring what a training by `spec` left out: the exact solve, however many rows there are.
pub fn estimate_certification(spec: &TrainSpec, schema: &Schema, threads: usize) -> u64 {
    let guarantees = GuaranteeSpec { exact_rows: usize::MAX, ..spec.guarantees };
    estimate_memory(&TrainSpec { guarantees, ..spec.clone() }, schema, threads)
}

/// Bytes of a labelled row for its part, and for the pass that makes the list of parts.
pub(in crate::training) const PART_BYTES: u64 = 2;

/// Peak bytes of a training run: the Gram matrix with the copies its solution needs, one block of
/// products and features a thread, a pool of more features where they are few, and the dense exact solve where there
/// is one.
pub fn estimate_memory(spec: &TrainSpec, schema: &Schema, threads: usize) -> u64 {
    if spec.open.sampling {
        let open = OpenChoices { sampling: false, ..spec.open };
        let of_candidate = |sampling| estimate_memory(&TrainSpec { sampling, open, ..spec.clone() }, schema, threads);
        return CANDIDATES.map(of_candidate).into_iter().max().unwrap_or(0);
    }
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
    // Where features outnumber rows, a search for the kernel leaves λ to the system of the rows.
    let equal = spec.sample_weight.is_none() && spec.class_weight == ClassWeight::None;
    let by_rows = is_ridge && equal && training_rows < s && training_rows <= DENSE_ROWS as u64;
    let lambda_by_rows = by_rows && spec.search_size().is_some();
    let searching = (spec.lambda == LambdaRule::Search && !lambda_by_rows) || spec.spread || spec.updatable;
    let searches_bandwidth = spec.bandwidth.is_searched() && !lambda_by_rows;
    let matrices = if (searching && is_ridge) || searches_bandwidth { 8 } else { 4 };
    // Its matrix with a copy, two more for the groups of draws of each thread, and the features of all rows.
    let row_system =
        if by_rows { ((2 + 2 * threads as u64) * training_rows * training_rows + training_rows * s) * F64 } else { 0 };
    // An iteration keeps some vectors of weights, and of decision values for every row.
    let iteration = if is_ridge { 0 } else { 8 * outputs * (s + rows) * F64 };
    let solving = matrices * s * s * F64 + 2 * outputs * s * F64 + iteration;
    let block = s * s * F64 + BLOCK_ROWS as u64 * (2 * s + d + 2 * schema.columns.len() as u64) * F64;
    let (small, weighs) = (training_rows <= spec.guarantees.exact_rows as u64, spec.weighs_exact(schema));
    let solves_exactly = spec.is_exact() || weighs || (is_ridge && small);
    let exact = if solves_exactly {
        // A factor of many rows or a preconditioner takes what is left of the budget; few rows are always factored. The rows are held by
        // coordinates too, and by the model if it is the exact method.
        let copies = if spec.is_exact() || weighs { 8 + u64::from(weighs) * s / d.max(1) } else { 4 };
        let right_sides = outputs.max(PROBES as u64);
        training_rows * (3 * training_rows.min(DENSE_ROWS as u64) + copies * d + 40 * right_sides) * F64
    } else {
        0
    };
    let sorts = spec.searched_kernels().contains(&KernelShape::Laplace);
    let sorting = if sorts { (SORTED_CELLS as u64).min(schema.row_count * d) * F64 } else { 0 };
    let frequencies = s * d * F64;
    // A pool of features is looked at where the fit is done: its Gram matrix, the factor of it, and products of blocks.
    let of_features = is_ridge && !spec.is_exact() && spec.sampling.draws_are_independent();
    let multiple = pool_multiple(training_rows as usize, spec.feature_count, outputs as usize).filter(|_| of_features);
    let pooled = multiple.unwrap_or(0) as u64 * s;
    let pool = pooled * (3 * pooled + 4 * compared_rows(pooled as usize) as u64 + d + 64 * outputs) * F64
        + threads as u64 * pooled * (pooled + 2 * BLOCK_ROWS as u64) * F64;
    // Next to the exact solution the Gram matrix is made once more, in f64, while the rows are held.
    let held = if solves_exactly { training_rows * (2 * d + 8 * outputs) * F64 } else { 0 };
    // A full metric is summed up on every thread, and its root takes eigenvectors with their workspace. A model that
    // keeps it has its root and folded frequencies.
    let full = spec.tries_full_metric(d as usize);
    let metric = if full { (threads as u64 + 10) * d * d * F64 + 2 * s * d * F64 } else { 0 };
    let choosing = estimate_choice(spec, outputs, threads as u64);
    let candidates = if spec.sampling.has_pool() { 2 * spec.pool.size as u64 * d * F64 } else { 0 };
    // One after the other: columns are sorted, the weights found, the pool looked at, then the exact system solved.
    // No more blocks are summed up at once than there are.
    let blocks = (threads as u64).min(training_rows.div_ceil(BLOCK_ROWS as u64).max(1));
    let fitting = held + solving + (blocks * block).max(row_system);
    // One byte a row for its part, and for a second list of parts with design rows; the pass that makes it needs as many.
    let parts = if spec.design_fraction > 0.0 { 3 } else { PART_BYTES };
    // The values of the column that rows are split by, once more in order, and the fold of every row.
    let values = if spec.split.column().is_some() { 3 * F64 } else { 0 };
    let folds = if spec.cross_validation.is_some() || spec.learning_curve { values + 2 * F64 } else { 0 };
    let parts = parts + values + folds;
    frequencies + metric + candidates + parts * rows + sorting.max(choosing).max(exact).max(fitting).max(solving + pool)
}

/// Peak bytes of scoring candidates, beside their frequencies.
fn estimate_choice(spec: &TrainSpec, outputs: u64, threads: u64) -> u64 {
    let (pool, block_rows) = (spec.pool.size as u64, BLOCK_ROWS as u64);
    let matrices = match spec.sampling {
        Sampling::Plain
        | Sampling::Orthogonal
        | Sampling::Structured
        | Sampling::QuasiMonteCarlo
        | Sampling::Capped => return 0,
        // Products of all candidates with the targets, and a block of their features with its waves on every thread.
        Sampling::Eerf | Sampling::Lkrf => return (threads + 1) * pool * (2 * block_rows + 2 * outputs) * F64,
        // The Gram matrix of a group, and a copy for degrees of freedom at a second λ.
        Sampling::Elss1 | Sampling::Elss2 | Sampling::Leverage => 2,
        // The same, and the two that λ is found with; draws are eliminated from one.
        Sampling::PooledRidge => 3,
    };
    let group = pool.div_ceil(pool.div_ceil(GROUP_COLUMNS as u64));
    // Blocks of features wait until there are enough of them for all threads.
    let blocks = blocks_at_once(threads as usize) as u64 + threads;
    matrices * group * group * F64 + blocks * group * block_rows * F64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataset::{Column, ColumnKind, Task};
    use crate::training::SpecLimits;
    use serde_json::json;

    fn schema(rows: u64) -> Schema {
        let column =
            |name: &str| Column { distinct: rows, ..Column::unprofiled(name, ColumnKind::Numeric, Vec::new()) };
        Schema {
            columns: vec![column("x"), column("y")],
            targets: vec![1],
            task: Task::Regression,
            row_count: rows,
            findings: vec![],
        }
    }

    /// Text columns of 5,000 levels together, each with an indicator: sums of 5,000² numbers on every thread, and the eigenvectors.
    #[test]
    fn a_full_metric_of_thousands_of_levels_takes_gigabytes_and_a_diagonal_one_nothing() {
        let mut schema = schema(10_000);
        let levels = (0..200).map(|level| level.to_string()).collect();
        let text = Column { kind: ColumnKind::Categorical, levels, ..schema.columns[0].clone() };
        schema.columns.splice(..1, vec![text; 25]);
        schema.targets = vec![25];
        let of_effort = |effort: &str, metric: &str, kernel: &str| {
            let raw = json!({"effort": effort, "features": {"count": 64},
                "kernel": {"name": kernel, "metric": metric, "bandwidth": 2}});
            let spec = TrainSpec::check("", Some(&raw), SpecLimits { feature_count: 64 }).unwrap();
            estimate_memory(&spec, &schema, 2)
        };
        // A search leaves out what would be that large unless the spec asks for it.
        let balanced = |metric: &str| of_effort("balanced", metric, "gaussian");
        assert_eq!(balanced("search"), balanced("diagonal"));
        let need = |metric: &str, kernel: &str| of_effort("fast", metric, kernel);
        let (none, full) = (need("none", "gaussian"), need("full", "gaussian"));
        assert!(full > none + 12 * 5_000 * 5_000 * F64, "{none} {full}");
        assert_eq!((need("diagonal", "gaussian"), need("search", "gaussian")), (none, full));
        assert_eq!(need("search", "laplace"), need("none", "laplace"));
    }

    /// Half of the two gigabytes that a small machine has: 4,096 features of 1,440 rows.
    #[test]
    fn the_default_for_a_small_table_needs_less_than_a_gigabyte() {
        let schema = schema(1_800);
        let need = |raw: &serde_json::Value| {
            let spec = TrainSpec::check("", Some(raw), SpecLimits { feature_count: 16_384 }).unwrap().for_rows(&schema);
            assert_eq!(spec.feature_count, 4_096);
            estimate_memory(&spec, &schema, 2)
        };
        let matrix = 4_096 * 4_096 * F64;
        assert!((5 * matrix..1 << 30).contains(&need(&json!({}))), "{}", need(&json!({})));
        // A kernel that is given has its λ searched for by the Gram matrix.
        let given = json!({"kernel": {"bandwidth": 2}});
        assert!(need(&given) > 9 * matrix);
    }

    /// Two matrices of 8,192 columns, less for a pool of three groups of 6,667, three for ridge regression on the pool, and
    /// none where only products with the targets are made.
    #[test]
    fn a_pool_is_counted_by_its_groups() {
        let need = |sampling: &str, pool: u64| {
            let raw =
                json!({"features": {"count": 64, "sampling": sampling, "pool": pool}, "guarantees": {"exact_rows": 0}});
            let spec = TrainSpec::check("", Some(&raw), SpecLimits { feature_count: 64 }).unwrap();
            estimate_memory(&spec, &schema(10_000), 2)
        };
        let matrix = |columns: u64| columns * columns * F64;
        let scores = |pool: u64| need("elss1", pool);
        assert!(scores(8_192) > 2 * matrix(8_192) && scores(640) < scores(8_192) / 10);
        assert!(scores(20_000) > 2 * matrix(6_667) && scores(20_000) < scores(8_192));
        assert!(need("pooled_ridge", 20_000) > 3 * matrix(6_667));
        assert!(need("eerf", 20_000) < 2 * matrix(6_667) && need("eerf", 20_000) > 20_000 * 1_024 * F64);
    }

    /// 80,000 training rows: 40·12 numbers each for the trace, beside a dense block for a few thousand of them.
    #[test]
    fn a_certify_job_counts_the_exact_solve_that_training_skips() {
        let raw = json!({"features": {"count": 64}, "guarantees": {"exact_rows": 0}});
        let spec = TrainSpec::check("", Some(&raw), SpecLimits { feature_count: 64 }).unwrap();
        let (schema, threads) = (schema(100_000), 2);
        let (training, certifying) =
            (estimate_memory(&spec, &schema, threads), estimate_certification(&spec, &schema, threads));
        assert!(certifying > training + 80_000 * 40 * PROBES as u64 * F64, "{training} {certifying}");
        let raw = json!({"features": {"count": 64}, "guarantees": {"exact_rows": 80_000}});
        let at_once = TrainSpec::check("", Some(&raw), SpecLimits { feature_count: 64 }).unwrap();
        assert_eq!(estimate_memory(&at_once, &schema, threads), certifying);
    }
}
