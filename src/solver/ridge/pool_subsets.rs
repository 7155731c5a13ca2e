//! Ridge regression on parts of a pool of draws, all from the statistics of the pool.
//!
//! A model of m draws is to be compared with the exact kernel method, and there is a pool of M = km draws. For
//! a part of m of them the columns are rescaled by c = √(M/m) and nλ is kept: in the columns of the pool the
//! weights are (G_SS + λ/c² I)⁻¹R_S, as in the jackknife. A round deals the pool out into k parts, which are k models
//! that could have been drawn; further rounds shuffle it first.

use crate::linalg::{Cholesky, FactorError, in_parallel};
use crate::solver::NormalEquations;
use ndarray::{Array2, ArrayView2, Axis};
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// The pool is so many times the model, the more the better.
const MULTIPLES: std::ops::RangeInclusive<usize> = 2..=6;

/// Times that the pool is dealt out.
pub(super) const ROUNDS: usize = 5;

/// Columns of a pool at most: its matrix and the factor of it take 32 MiB each.
const POOL_FEATURES: usize = 2_048;

/// Features of the rows that the models are compared on, about: 32 MiB.
const COMPARED_FEATURES: usize = 1 << 22;

/// Rows, about, that the models of its parts are compared on.
const COMPARED_ROWS: usize = 4_096;

/// Multiplications that its statistics and the comparison may take: about a second.
const POOL_OPERATIONS: u64 = 25_000_000_000;

/// A row with a leverage closer to 1 cannot be left out: rounding would decide what is left.
const LEAST_REST: f64 = 1e-6;

/// How many times the features of a model its pool has, none where that would cost more than it may: then the
/// model has many features or outputs, or the table many rows.
pub fn pool_multiple(row_count: usize, feature_count: usize, output_count: usize) -> Option<usize> {
    let affordable = |multiple: &usize| {
        let columns = multiple.saturating_mul(feature_count);
        let compared = (multiple * ROUNDS * COMPARED_ROWS * output_count) as u64;
        columns <= POOL_FEATURES && columns as u64 * ((row_count * columns) as u64 + compared) <= POOL_OPERATIONS
    };
    MULTIPLES.rev().find(affordable)
}

/// The rows that models with so many columns are compared on, about.
pub fn compared_rows(columns: usize) -> usize {
    COMPARED_ROWS.min(COMPARED_FEATURES / columns.max(1))
}

/// Rows that models are compared on.
pub struct ComparedRows<'a> {
    /// Ψ of the pool, rows×S.
    pub features: ArrayView2<'a, f64>,
    /// Where the rows were fitted: each is predicted as if the fit had left it out.
    pub fitted: Option<FittedTargets<'a>>,
}

/// What leaving out a fitted row takes.
#[derive(Clone, Copy)]
pub struct FittedTargets<'a> {
    /// The centred targets, rows×k.
    pub targets: ArrayView2<'a, f64>,
    /// The share of each row in the fit, 1/n if all count the same.
    pub shares: &'a [f64],
}

/// What models of a pool and of its parts predict, rows×k each.
pub struct PoolPredictions {
    /// Of the model of all draws.
    pub whole: Array2<f64>,
    /// Of the parts, round by round. The first part of the first round is the model itself.
    pub rounds: Vec<Vec<Array2<f64>>>,
}

/// Fits the pool and its parts, and predicts the rows. The columns of draw j are j, j + M, … None where a fitted row
/// cannot be left out, because the fit follows its target whatever it is.
pub fn pool_predictions(
    equations: &NormalEquations,
    ridge: f64,
    (pool_draws, draw_count): (usize, usize),
    rows: &ComparedRows,
    threads: usize,
) -> Result<Option<PoolPredictions>, FactorError> {
    let multiple = pool_draws / draw_count;
    let copies = equations.right_side.nrows() / pool_draws;
    let all: Vec<usize> = (0..copies * pool_draws).collect();
    let Some(whole) = predictions(equations, ridge, &all, rows, threads)? else { return Ok(None) };
    let found = Mutex::new(BTreeMap::new());
    let parts: Vec<(usize, Vec<usize>)> = dealt(multiple, draw_count).into_iter().enumerate().collect();
    in_parallel(threads, parts, |(at, draws)| {
        let columns: Vec<usize> =
            (0..copies).flat_map(|copy| draws.iter().map(move |draw| copy * pool_draws + draw)).collect();
        let ridge = ridge * draws.len() as f64 / pool_draws as f64; // λ/c²
        let predicted = predictions(equations, ridge, &columns, rows, 1);
        found.lock().unwrap_or_else(PoisonError::into_inner).insert(at, predicted);
    });
    let found = found.into_inner().unwrap_or_else(PoisonError::into_inner).into_values();
    let Some(parts) = found.collect::<Result<Option<Vec<Array2<f64>>>, FactorError>>()? else { return Ok(None) };
    Ok(Some(PoolPredictions { whole, rounds: parts.chunks(multiple).map(<[Array2<f64>]>::to_vec).collect() }))
}

/// Those of (G_SS + λI)⁻¹R_S; without a row i its residual y − f becomes (y − f)/(1 − hᵢ), hᵢ its leverage.
fn predictions(
    equations: &NormalEquations,
    ridge: f64,
    columns: &[usize],
    rows: &ComparedRows,
    threads: usize,
) -> Result<Option<Array2<f64>>, FactorError> {
    let mut system = Array2::from_shape_fn((columns.len(), columns.len()), |(row, column)| {
        equations.gram[[columns[row], columns[column]]]
    });
    system.diag_mut().mapv_inplace(|value| value + ridge);
    let factor = Cholesky::factor(system, threads)?;
    let weights = factor.solve_columns(equations.right_side.select(Axis(0), columns));
    let features = rows.features.select(Axis(1), columns);
    let mut predicted = features.dot(&weights);
    let Some(FittedTargets { targets, shares }) = rows.fitted else { return Ok(Some(predicted)) };
    let solved = factor.solve_columns(features.t().as_standard_layout().into_owned());
    for (at, (mut predicted, targets)) in predicted.rows_mut().into_iter().zip(targets.rows()).enumerate() {
        let rest = 1.0 - shares[at] * features.row(at).dot(&solved.column(at));
        if rest.is_nan() || rest < LEAST_REST {
            return Ok(None);
        }
        predicted.zip_mut_with(&targets, |predicted, target| *predicted = target - (target - *predicted) / rest);
    }
    Ok(Some(predicted))
}

/// A pool of k times m draws, dealt out into k parts of m in every round: in the first as they lie, in the others
/// shuffled in an order that depends on the counts alone, since the draws are random anyway.
fn dealt(multiple: usize, size: usize) -> Vec<Vec<usize>> {
    let round = |round: usize| {
        let mut draws: Vec<usize> = (0..multiple * size).collect();
        if round > 0 {
            draws.sort_by_key(|draw| (mixed((round * multiple * size + draw) as u64), *draw));
        }
        draws.chunks(size).map(<[usize]>::to_vec).collect::<Vec<_>>()
    };
    (0..ROUNDS).flat_map(round).collect()
}

/// The bits of a number, mixed. [Steele, Lea & Flood 2014]
fn mixed(number: u64) -> u64 {
    let mut bits = number.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pool_is_as_large_as_it_may_be() {
        assert_eq!(pool_multiple(1_000, 100, 1), Some(6));
        assert_eq!(pool_multiple(1_000, 400, 1), Some(5));
        assert_eq!(pool_multiple(1_000, 1_024, 1), Some(2));
        assert_eq!(pool_multiple(1_000, 1_025, 1), None);
        // n·(2s)² ≤ 2.5·10¹⁰.
        assert_eq!((pool_multiple(5_900, 1_024, 1), pool_multiple(6_000, 1_024, 1)), (Some(2), None));
        // 2·5·4,096 products for each output are too many from 285 on.
        assert_eq!((pool_multiple(10, 1_024, 280), pool_multiple(10, 1_024, 300)), (Some(2), None));
        assert_eq!(pool_multiple(10, usize::MAX, 1), None);
        assert_eq!((compared_rows(256), compared_rows(2_048)), (4_096, 2_048));
    }

    #[test]
    fn parts_of_a_round_are_disjoint_and_rounds_differ() {
        let parts = dealt(4, 3);
        assert_eq!(parts[..4], [[0, 1, 2], [3, 4, 5], [6, 7, 8], [9, 10, 11]]);
        for round in parts.chunks(4) {
            let mut all = round.concat();
            all.sort_unstable();
            assert_eq!(all, (0..12).collect::<Vec<_>>());
        }
        let sorted = |part: &Vec<usize>| part.iter().copied().collect::<std::collections::BTreeSet<_>>();
        let different = parts.iter().map(sorted).collect::<std::collections::BTreeSet<_>>().len();
        assert!(different >= 4 * (ROUNDS - 1), "{different}");
    }
}
