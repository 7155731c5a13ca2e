//! P = F·Fᵀ + θI for a tall F, and its inverse: what conjugate gradients are preconditioned with.
//!
//! P⁻¹v = (v − F(FᵀF + θI)⁻¹Fᵀv)/θ. The difference loses as many digits as the condition number of P has, so F
//! is kept in f32 but everything is summed in f64: then P is exactly that of the F that is kept.

use super::SolveError;
use crate::linalg::{Cholesky, Real, in_parallel};
use crate::solver::in_order;
use ndarray::{Array2, ArrayView2, Axis, s};
use std::convert::Infallible;

/// Rows of F widened at once: for a product with a few columns they stay in the second cache.
const FEW_ROWS: usize = 64;
const MANY_ROWS: usize = 512;

/// P, ready to divide by.
pub(super) struct LowRank {
    /// F, n×r.
    factor: Array2<f32>,
    /// Of FᵀF + θI.
    inner: Cholesky,
    shift: f64,
    threads: usize,
}

impl LowRank {
    pub(super) fn new(factor: Array2<f32>, shift: f64, threads: usize) -> Result<Self, SolveError> {
        let rank = factor.ncols();
        let update = |block: ArrayView2<f32>, products: &mut Array2<f64>| {
            f64::rank_update(block.mapv(f64::from).view(), products);
        };
        let mut system = summed(&factor, MANY_ROWS, threads, (rank, rank), |_, block, sums| update(block, sums))?;
        system.diag_mut().mapv_inplace(|value| value + shift);
        Ok(Self { inner: Cholesky::factor(system, threads)?, factor, shift, threads })
    }

    /// r.
    pub(super) fn rank(&self) -> usize {
        self.factor.ncols()
    }

    /// P⁻¹V for V (n×k).
    pub(super) fn divide(&self, v: &Array2<f64>) -> Result<Array2<f64>, SolveError> {
        let along = |index: usize, block: ArrayView2<f32>, sums: &mut Array2<f64>| {
            let rows = index * FEW_ROWS..index * FEW_ROWS + block.nrows();
            *sums = block.mapv(f64::from).t().dot(&v.slice(s![rows, ..]));
        };
        let along = summed(&self.factor, FEW_ROWS, self.threads, (self.rank(), v.ncols()), along)?; // FᵀV
        let along = self.inner.solve_columns(along);
        let mut divided = v.clone();
        let rows = divided.axis_chunks_iter_mut(Axis(0), FEW_ROWS);
        let blocks = self.factor.axis_chunks_iter(Axis(0), FEW_ROWS).zip(rows).collect();
        in_parallel(self.threads, blocks, |(block, mut divided)| {
            divided -= &block.mapv(f64::from).dot(&along);
            divided /= self.shift;
        });
        Ok(divided)
    }
}

/// The sum over blocks of rows of what `fill` makes of each, in order.
fn summed(
    factor: &Array2<f32>,
    block_rows: usize,
    threads: usize,
    shape: (usize, usize),
    fill: impl Fn(usize, ArrayView2<f32>, &mut Array2<f64>) + Sync,
) -> Result<Array2<f64>, SolveError> {
    let n = factor.nrows();
    let sum = in_order(
        threads,
        n.div_ceil(block_rows),
        || Array2::zeros(shape),
        |index, sums| -> Result<(), Infallible> {
            let rows = index * block_rows..n.min((index + 1) * block_rows);
            fill(index, factor.slice(s![rows, ..]), sums);
            Ok(())
        },
        Array2::zeros(shape),
        |_, sums, total| {
            *total += sums;
            Ok(())
        },
    );
    sum.map_err(|_| SolveError::Panicked)
}
