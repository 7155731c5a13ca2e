//! One pass over the features: forward to the rows' values, work on each row, back to the features.
//!
//! The gradient and the product with the Hessian both have this form, Ψᵀ·work(Ψ·W). Blocks are
//! swept in parallel and committed in order, so the sums are the same bits for any thread count.

use super::class_rows::FeatureBlocks;
use crate::linalg::{Real, add_transposed_product, product};
use crate::solver::{Interrupted, in_order};
use ndarray::linalg::{general_mat_mul, general_mat_vec_mul};
use ndarray::{Array1, Array2, ArrayView2, ArrayViewMut2, Axis, s};
use std::ops::Range;

/// Rows that go forward and back together, while their features are still in the cache.
const CACHED_ROWS: usize = 64;

/// The work on one row between forward and back.
pub(super) struct RowWork<'a> {
    /// Number of the row.
    pub(super) row: usize,
    /// Wᵀψ + b, one value per column.
    pub(super) forward: &'a [f64],
    /// To be filled with what this row sends back, per column.
    pub(super) back: &'a mut [f64],
    /// A number per column to keep for this row.
    pub(super) kept: &'a mut [f64],
    /// Sums over the rows, per column, to be added to.
    pub(super) sums: &'a mut [f64],
}

/// The result of a sweep.
pub(super) struct Swept {
    /// Wᵀψ + b of every row, n×k.
    pub(super) forward: Array2<f64>,
    /// What the work kept of every row, n×k.
    pub(super) kept: Array2<f64>,
    /// Σ of the rows' sums, k.
    pub(super) sums: Vec<f64>,
    /// Ψᵀ·back, and Σ back in the last row: (s+1)×k.
    pub(super) back: Array2<f64>,
}

/// Sweeps all blocks with `parameters` (s+1)×k, weights above intercepts.
pub(super) fn sweep<T: Real, B: FeatureBlocks<T>>(
    blocks: &B,
    threads: usize,
    row_count: usize,
    parameters: &Array2<f64>,
    work: impl Fn(RowWork) + Sync,
) -> Result<Swept, Interrupted<B::Error>> {
    let k = parameters.ncols();
    let feature_count = blocks.feature_count();
    let weights = parameters.slice(s![..feature_count, ..]).t().mapv(T::from_f64).as_standard_layout().into_owned(); // k×s
    let intercepts = parameters.row(feature_count).to_owned();
    let total = Swept {
        forward: Array2::zeros((row_count, k)),
        kept: Array2::zeros((row_count, k)),
        sums: vec![0.0; k],
        back: Array2::zeros(parameters.dim()),
    };
    in_order(
        threads,
        blocks.block_count(),
        || BlockSweep::<T>::new(feature_count, k),
        |block, scratch| {
            let rows = blocks.rows(block);
            blocks.visit(block, &mut |features| scratch.fill(features, rows.clone(), &weights, &intercepts, &work))
        },
        total,
        |block, swept, total| {
            let rows = blocks.rows(block);
            total.forward.slice_mut(s![rows.clone(), ..]).assign(&swept.forward);
            total.kept.slice_mut(s![rows, ..]).assign(&swept.kept);
            total.sums.iter_mut().zip(&swept.sums).for_each(|(sum, value)| *sum += value);
            let (mut back, mut last) = total.back.view_mut().split_at(Axis(0), feature_count);
            back.zip_mut_with(&swept.back.t(), |sum, value| *sum += value.to_f64());
            last.row_mut(0).zip_mut_with(&swept.intercepts, |sum, value| *sum += value);
            Ok(())
        },
    )
}

/// The part of a [`Swept`] from one block, its products in the precision of the features.
struct BlockSweep<T> {
    forward: Array2<f64>,
    kept: Array2<f64>,
    sums: Vec<f64>,
    back: Array2<T>,
    intercepts: Array1<f64>,
}

impl<T: Real> BlockSweep<T> {
    fn new(feature_count: usize, column_count: usize) -> Self {
        Self {
            forward: Array2::zeros((0, column_count)),
            kept: Array2::zeros((0, column_count)),
            sums: vec![0.0; column_count],
            back: Array2::zeros((column_count, feature_count)),
            intercepts: Array1::zeros(column_count),
        }
    }

    fn fill(
        &mut self,
        features: ArrayView2<T>,
        rows: Range<usize>,
        weights: &Array2<T>,
        intercepts: &Array1<f64>,
        work: &impl Fn(RowWork),
    ) {
        let k = weights.nrows();
        self.forward = Array2::zeros((rows.len(), k));
        self.kept = Array2::zeros((rows.len(), k));
        self.sums.fill(0.0);
        self.back.fill(T::zero());
        self.intercepts.fill(0.0);
        let mut values = Array2::<T>::zeros((CACHED_ROWS, k));
        let mut back = vec![0.0; k];
        for (chunk, features) in features.axis_chunks_iter(Axis(0), CACHED_ROWS).enumerate() {
            let mut values = values.slice_mut(s![..features.nrows(), ..]);
            forward_product(features, weights.view(), values.view_mut());
            for (i, mut values) in values.rows_mut().into_iter().enumerate() {
                let local = chunk * CACHED_ROWS + i;
                let mut forward = self.forward.row_mut(local);
                for ((forward, value), intercept) in forward.iter_mut().zip(&values).zip(intercepts) {
                    *forward = value.to_f64() + intercept;
                }
                let forward = forward.into_slice().expect("a row is contiguous");
                let mut kept = self.kept.row_mut(local);
                let kept = kept.as_slice_mut().expect("a row is contiguous");
                work(RowWork { row: rows.start + local, forward, back: &mut back, kept, sums: &mut self.sums });
                for ((value, intercept), &back) in values.iter_mut().zip(&mut self.intercepts).zip(&back) {
                    *value = T::from_f64(back);
                    *intercept += back;
                }
            }
            back_product(features, values.view(), self.back.view_mut());
        }
    }
}

/// Up to this many columns our own products are faster than those of BLAS; see `benches/skinny.rs`.
const FEW: usize = 12;

/// `values` (rows×k) ← Ψ·Wᵀ for W (k×s); one column goes to `gemv`, which is limited by memory bandwidth.
fn forward_product<T: Real>(features: ArrayView2<T>, weights: ArrayView2<T>, mut values: ArrayViewMut2<T>) {
    match weights.nrows() {
        1 => general_mat_vec_mul(T::one(), &features, &weights.row(0), T::zero(), &mut values.column_mut(0)),
        2..=FEW => product(features, weights, values),
        _ => general_mat_mul(T::one(), &features, &weights.t(), T::zero(), &mut values),
    }
}

/// `sums` (k×s) += Vᵀ·Ψ for V (rows×k).
fn back_product<T: Real>(features: ArrayView2<T>, values: ArrayView2<T>, mut sums: ArrayViewMut2<T>) {
    match values.ncols() {
        1 => general_mat_vec_mul(T::one(), &features.t(), &values.column(0), T::one(), &mut sums.row_mut(0)),
        2..=FEW => add_transposed_product(features, values, sums),
        _ => general_mat_mul(T::one(), &values.t(), &features, T::one(), &mut sums),
    }
}
