//! K ≈ F·Fᵀ from few columns of K: a Cholesky factorisation whose pivots are drawn in proportion to what is
//! still missing on the diagonal, a block at a time. [Chen, Epperly, Tropp & Webber 2023]
//!
//! Draws are systematic: even steps along the cumulated diagonal, so that the factor depends on the points
//! alone.

use super::kernel_matrix::{GoOn, KernelMatrix};
use super::{SolveError, low_rank::LowRank};
use crate::linalg::{Real, Triangle, in_parallel, lower_factor};
use ndarray::{Array2, ArrayView2, ArrayViewMut2, Axis, s};

/// Pivots of one block.
const BLOCK: usize = 64;

/// Rows of F worked on at once.
const ROWS: usize = 256;

/// When to stop.
pub(super) struct PivotLimits {
    /// r at most.
    pub(super) rank: usize,
    /// The trace of K − FFᵀ that is small enough.
    pub(super) trace: f64,
}

/// F, n×r.
pub(super) struct PivotedCholesky {
    pub(super) factor: Array2<f32>,
}

impl PivotedCholesky {
    pub(super) fn new(matrix: &KernelMatrix<f32>, limits: &PivotLimits, go_on: GoOn) -> Result<Self, SolveError> {
        let points = matrix.points();
        let n = points.count();
        let mut missing = points.diagonal();
        let whole: f64 = missing.iter().sum();
        let mut factor = Array2::<f32>::zeros((n, limits.rank.min(n)));
        let mut rank = 0;
        while rank < factor.ncols() && missing.iter().sum::<f64>() > limits.trace.max(whole * f64::from(f32::EPSILON)) {
            if !go_on() {
                return Err(SolveError::Stopped);
            }
            let pivots = systematic(&missing, BLOCK.min(factor.ncols() - rank), rank);
            let count = pivots.len();
            let columns = points.select(&pivots);
            let (done, mut fresh) = factor.view_mut().split_at(Axis(1), rank);
            let mut fresh = fresh.slice_mut(s![.., ..count]);
            let of_pivots = done.select(Axis(0), &pivots); // F at the pivots, count×rank
            // Columns of K − FFᵀ at the pivots.
            let rows = fresh.axis_chunks_iter_mut(Axis(0), ROWS).zip(done.axis_chunks_iter(Axis(0), ROWS));
            let pieces: Vec<_> = rows.enumerate().collect();
            in_parallel(matrix.threads(), pieces, |(index, (mut fresh, done))| {
                let range = index * ROWS..index * ROWS + fresh.nrows();
                let mut tile = vec![0.0; range.len() * count];
                points.fill_tile(range, &columns, 0..count, &mut tile);
                let tile = ArrayView2::from_shape(fresh.dim(), &tile).expect("as many values");
                fresh.assign(&tile);
                fresh -= &done.dot(&of_pivots.t());
            });
            let Some(lower) = factor_with_jitter(fresh.select(Axis(0), &pivots)) else { break };
            let pieces = fresh.axis_chunks_iter_mut(Axis(0), ROWS).zip(missing.chunks_mut(ROWS)).collect();
            in_parallel(matrix.threads(), pieces, |(mut fresh, missing): (ArrayViewMut2<f32>, &mut [f64])| {
                // The rows of a slice are not dense; the solver wants them so.
                let mut rows = fresh.to_owned();
                f32::solve_triangle(Triangle::TransposedFromTheRight, lower.view(), rows.view_mut());
                for (missing, row) in missing.iter_mut().zip(rows.rows()) {
                    let explained: f64 = row.iter().map(|value| f64::from(value * value)).sum();
                    *missing = (*missing - explained).max(0.0);
                }
                fresh.assign(&rows);
            });
            for &pivot in &pivots {
                missing[pivot] = 0.0;
            }
            rank += count;
        }
        factor = factor.slice(s![.., ..rank]).to_owned();
        Ok(Self { factor })
    }

    /// r.
    pub(super) fn rank(&self) -> usize {
        self.factor.ncols()
    }

    /// FFᵀ + θI.
    pub(super) fn into_preconditioner(self, shift: f64, threads: usize) -> Result<LowRank, SolveError> {
        LowRank::new(self.factor, shift, threads)
    }
}

/// About `count` different positions with probabilities ∝ `sizes`, in order; the first step starts where the
/// golden ratio puts round number `round`.
fn systematic(sizes: &[f64], count: usize, round: usize) -> Vec<usize> {
    const GOLDEN: f64 = 0.618_033_988_749_894_9;
    let step = sizes.iter().sum::<f64>() / count as f64;
    let mut next = step * ((round / BLOCK) as f64 * GOLDEN + 0.5).fract();
    let mut reached = 0.0;
    let mut chosen = Vec::with_capacity(count);
    for (position, size) in sizes.iter().enumerate() {
        reached += size;
        if reached > next && *size > 0.0 && chosen.len() < count {
            chosen.push(position);
            // A position larger than a step is taken once.
            next += step * ((reached - next) / step).ceil().max(1.0);
        }
    }
    chosen
}

/// L of a small matrix, with as much on the diagonal as rounding takes; none if nothing is left to factor.
fn factor_with_jitter(core: Array2<f32>) -> Option<Array2<f32>> {
    let scale = core.diag().iter().fold(0.0_f32, |largest, value| largest.max(*value));
    if scale <= 0.0 || core.is_empty() {
        return None;
    }
    (0..5).find_map(|attempt| {
        let mut jittered = core.clone();
        let jitter = scale * f32::EPSILON * 16.0 * 32_f32.powi(attempt);
        jittered.diag_mut().mapv_inplace(|value| value + jitter);
        lower_factor(jittered, 1).ok()
    })
}
