//! Ridge regression on parts of a pool of draws, all from the statistics of the pool.
//!
//! A model of m draws is to be compared with the exact kernel method, and there is a pool of M > m draws. For
//! a part of m of them the columns are rescaled by c = √(M/m) and nλ is kept: in the columns of the pool the
//! weights are (G_SS + λ/c² I)⁻¹R_S, as in the jackknife. [J. Shao, C. F. J. Wu 1989, the delete-d jackknife]

use crate::linalg::{Cholesky, FactorError, in_parallel};
use crate::solver::NormalEquations;
use ndarray::{Array2, ArrayView2, Axis, s};
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// The pool is so many times the model: with four times as much nine single estimates in ten are within a factor of
/// 1.5, with six times 97 in 100, and it takes the square of it.
const MULTIPLES: std::ops::RangeInclusive<usize> = 4..=6;

/// Columns of a pool at most: its matrix and the factor of it take no notable memory.
const POOL_FEATURES: usize = 1_024;

/// Rows, about, that the models of its parts are compared on.
pub const COMPARED_ROWS: usize = 4_096;

/// Multiplications that its statistics and the comparison may take: a fraction of a second.
const POOL_OPERATIONS: u64 = 20_000_000_000;

/// How many times the features of a model its pool has, none where that would cost more than it may: then the
/// model has many features or outputs, or the table many rows.
pub fn pool_multiple(row_count: usize, feature_count: usize, output_count: usize) -> Option<usize> {
    let affordable = |multiple: &usize| {
        let columns = multiple.saturating_mul(feature_count);
        let compared = (multiple * multiple * COMPARED_ROWS * output_count) as u64;
        columns <= POOL_FEATURES && columns as u64 * ((row_count * columns) as u64 + compared) <= POOL_OPERATIONS
    };
    MULTIPLES.rev().find(affordable)
}

/// Weights (S×pk) that give, at the features of the pool, how far p models of `draw_count` of its draws are from
/// the model of all of them. The columns of draw j are j, j + M, …; k of the result belong to a model.
pub fn subset_departures(
    equations: &NormalEquations,
    ridge: f64,
    (pool_draws, draw_count): (usize, usize),
    threads: usize,
) -> Result<Array2<f64>, FactorError> {
    let whole = equations.factor(ridge, threads)?.solve_columns(equations.right_side.clone());
    let (feature_count, outputs) = whole.dim();
    let parts = dealt(pool_draws / draw_count, draw_count);
    let mut departures = Array2::zeros((feature_count, parts.len() * outputs));
    let found = Mutex::new(BTreeMap::new());
    let numbered: Vec<(usize, &Vec<usize>)> = parts.iter().enumerate().collect();
    in_parallel(threads, numbered, |(at, draws)| {
        let columns: Vec<usize> =
            (0..feature_count / pool_draws).flat_map(|copy| draws.iter().map(move |j| copy * pool_draws + j)).collect();
        let ridge = ridge * draws.len() as f64 / pool_draws as f64; // λ/c²
        let weights = of_columns(equations, ridge, &columns).map(|weights| (columns, weights));
        found.lock().unwrap_or_else(PoisonError::into_inner).insert(at, weights);
    });
    for (at, part) in found.into_inner().unwrap_or_else(PoisonError::into_inner) {
        let (columns, weights) = part?;
        let mut departure = departures.slice_mut(s![.., at * outputs..(at + 1) * outputs]);
        departure -= &whole;
        for (column, weight) in columns.into_iter().zip(weights.rows()) {
            let mut at_column = departure.row_mut(column);
            at_column += &weight;
        }
    }
    Ok(departures)
}

/// E(f_s − f)² by the departures of `outputs` columns a model at features Ψ of the pool, p×S: the mean over rows and
/// models of the squares, summed over the outputs, M/(M−m) times. The pool is not the exact method: the smaller
/// it is, the farther it is from it.
pub fn subset_error(
    features: ArrayView2<f64>,
    departures: ArrayView2<f64>,
    outputs: usize,
    (pool_draws, draw_count): (usize, usize),
) -> f64 {
    let models = departures.ncols() / outputs;
    let squares: f64 = features.dot(&departures).iter().map(|gap| gap * gap).sum();
    let seen = 1.0 - draw_count as f64 / pool_draws as f64;
    squares / (models * features.nrows()) as f64 / seen
}

/// (G_SS + λI)⁻¹R_S.
fn of_columns(equations: &NormalEquations, ridge: f64, columns: &[usize]) -> Result<Array2<f64>, FactorError> {
    let mut system = Array2::from_shape_fn((columns.len(), columns.len()), |(row, column)| {
        equations.gram[[columns[row], columns[column]]]
    });
    system.diag_mut().mapv_inplace(|value| value + ridge);
    Ok(Cholesky::factor(system, 1)?.solve_columns(equations.right_side.select(Axis(0), columns)))
}

/// A pool of k times m draws, dealt out into k parts of m in k rounds: part p of round r has the draws bm + i with
/// b = p + ri modulo k. The draws are exchangeable, so the parts need not be random; the first is the model itself.
fn dealt(multiple: usize, size: usize) -> Vec<Vec<usize>> {
    let part = |round: usize, part: usize| (0..size).map(|i| (part + round * i) % multiple * size + i).collect();
    (0..multiple).flat_map(|round| (0..multiple).map(move |at| part(round, at))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pool_is_as_large_as_it_may_be() {
        assert_eq!(pool_multiple(1_000, 100, 1), Some(6));
        assert_eq!(pool_multiple(1_000, 180, 1), Some(5));
        assert_eq!(pool_multiple(1_000, 256, 1), Some(4));
        assert_eq!(pool_multiple(1_000, 257, 1), None);
        // n·(4s)² ≤ 2·10¹⁰.
        assert_eq!((pool_multiple(1_000_000, 35, 1), pool_multiple(1_000_000, 36, 1)), (Some(4), None));
        // 1,024·4²·4,096·k is too much from k = 299 on.
        assert_eq!((pool_multiple(10, 256, 290), pool_multiple(10, 256, 299)), (Some(4), None));
        assert_eq!(pool_multiple(10, usize::MAX, 1), None);
    }

    #[test]
    fn parts_of_a_round_are_disjoint_and_rounds_differ() {
        let parts = dealt(4, 3);
        assert_eq!(parts[..5], [[0, 1, 2], [3, 4, 5], [6, 7, 8], [9, 10, 11], [0, 4, 8]]);
        for round in parts.chunks(4) {
            let mut all = round.concat();
            all.sort_unstable();
            assert_eq!(all, (0..12).collect::<Vec<_>>());
        }
        assert_eq!(parts.iter().collect::<std::collections::BTreeSet<_>>().len(), 16);
    }
}
