//! Ridge regression on parts of a pool of draws, all from the statistics of the pool.
//!
//! A model of m draws is to be compared with the exact kernel method, and there is a pool of M > m draws. For
//! a part of m of them the columns are rescaled by c = √(M/m) and nλ is kept: in the columns of the pool the
//! weights are (G_SS + λ/c² I)⁻¹R_S, as in the jackknife. [J. Shao, C. F. J. Wu 1989, the delete-d jackknife]

use super::NormalEquations;
use crate::linalg::{Cholesky, FactorError, in_parallel};
use crate::random::{Purpose, Stream};
use ndarray::{Array2, ArrayView2, Axis, s};
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// Times that the pool is dealt out anew: its parts are different ones each time.
const ROUNDS: u64 = 6;

/// The pool is so many times the model: with four times as much nine single estimates in ten are within a factor of
/// 1.5, with six times 97 in 100, and it takes the square of it.
const MULTIPLES: std::ops::RangeInclusive<usize> = 4..=6;

/// Columns of a pool at most: its matrix and the factor of it take no notable memory.
const POOL_FEATURES: usize = 1_024;

/// Multiplications that its statistics may take: a fraction of a second.
const POOL_OPERATIONS: u64 = 20_000_000_000;

/// How many times the features of a model its pool has, none where that would cost more than it may: then the
/// model has many features, or the table many rows.
pub fn pool_multiple(row_count: usize, feature_count: usize) -> Option<usize> {
    let affordable = |multiple: &usize| {
        let columns = multiple.saturating_mul(feature_count);
        columns <= POOL_FEATURES && row_count as u64 * (columns * columns) as u64 <= POOL_OPERATIONS
    };
    MULTIPLES.rev().find(affordable)
}

/// Weights (S×pk) that tell, at the features of the pool, how far p models of `draw_count` of its draws are from
/// the model of all of them. The columns of draw j are j, j + M, …; k of the result belong to a model.
pub fn subset_departures(
    equations: &NormalEquations,
    ridge: f64,
    (pool_draws, draw_count): (usize, usize),
    threads: usize,
) -> Result<Array2<f64>, FactorError> {
    let whole = equations.factor(ridge, threads)?.solve_columns(equations.right_side.clone());
    let (feature_count, outputs) = whole.dim();
    let parts: Vec<Vec<usize>> = (0..ROUNDS).flat_map(|round| dealt(round, pool_draws, draw_count)).collect();
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
/// models of the squares, summed over the outputs, M/(M−m) times. The pool is not the exact method: it is the farther
/// from it the smaller it is.
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

/// As many parts of `size` as there are among `count`, no draw in two of them.
fn dealt(round: u64, count: usize, size: usize) -> Vec<Vec<usize>> {
    let mut stream = Stream::new(0, Purpose::Subsets, round);
    let mut order: Vec<(f64, usize)> = (0..count).map(|draw| (stream.uniform(), draw)).collect();
    order.sort_by(|left, right| left.0.total_cmp(&right.0).then(left.1.cmp(&right.1)));
    order.chunks_exact(size).map(|part| part.iter().map(|(_, draw)| *draw).collect()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pool_is_as_large_as_it_may_be() {
        assert_eq!(pool_multiple(1_000, 100), Some(6));
        assert_eq!(pool_multiple(1_000, 180), Some(5));
        assert_eq!(pool_multiple(1_000, 256), Some(4));
        assert_eq!(pool_multiple(1_000, 257), None);
        // n·(4s)² ≤ 2·10¹⁰.
        assert_eq!((pool_multiple(1_000_000, 35), pool_multiple(1_000_000, 36)), (Some(4), None));
        assert_eq!(pool_multiple(10, usize::MAX), None);
    }

    #[test]
    fn parts_are_disjoint_and_differ_by_round() {
        let parts = dealt(0, 13, 3);
        assert!(parts.len() == 4 && parts.iter().all(|part| part.len() == 3));
        let mut all = parts.concat();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), 12);
        assert_ne!(parts, dealt(1, 13, 3));
    }
}
