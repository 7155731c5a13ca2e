//! The statistics of blocks of rows, and their sum.

use super::gram::Sums;
use super::gram_sums::{GramSums, OffGrid};
use crate::linalg::{BLOCKS_TOGETHER, PackedRows, Real, bulk_instructions, in_parallel};
use ndarray::{Array2, ArrayView2, ArrayViewMut1, Axis, s};

/// Rows added to a sum at once, so that the sum is read and written once for all of them.
const AT_ONCE: usize = 4;

/// The rows of one block, ready for the sum of their outer products, and all other sums over them.
pub struct BlockGram<T> {
    /// √c ψ of every row.
    rows: PackedRows<T>,
    /// In f64, since their cost is negligible.
    sums: Sums,
}

impl<T: Real> BlockGram<T> {
    /// The most rows to push at once.
    pub const AT_ONCE: usize = AT_ONCE;

    /// Room for `row_capacity` rows of `feature_count` columns and `target_count` targets.
    pub fn new(row_capacity: usize, feature_count: usize, target_count: usize) -> Self {
        Self { rows: PackedRows::new(row_capacity, feature_count), sums: Sums::new(feature_count, target_count) }
    }

    /// The statistics of these rows: features rows×s, targets rows×k, and one weight a row unless all count the same.
    pub fn of(mut features: Array2<T>, targets: ArrayView2<f64>, weights: Option<&[f64]>) -> Self {
        let mut block = Self::new(features.nrows(), features.ncols(), targets.ncols());
        for (index, mut rows) in features.axis_chunks_iter_mut(Axis(0), Self::AT_ONCE).enumerate() {
            let range = index * Self::AT_ONCE..index * Self::AT_ONCE + rows.nrows();
            let weights = weights.map(|weights| &weights[range.clone()]);
            block.push(rows.as_slice_mut().expect("row-major"), targets.slice(s![range, ..]), weights);
        }
        block
    }

    /// Forgets its rows.
    pub fn clear(&mut self) {
        self.rows.clear();
        self.sums = Sums::new(self.sums.features.len(), self.sums.targets.len());
    }

    /// Adds up to [`AT_ONCE`](Self::AT_ONCE) rows, their features one after the other. Weighted features are multiplied
    /// by √c in place, so that their outer products sum to Σ c ψψᵀ.
    pub fn push(&mut self, features: &mut [T], targets: ArrayView2<f64>, weights: Option<&[f64]>) {
        let (count, s) = (targets.nrows(), self.sums.features.len());
        assert!((1..=Self::AT_ONCE).contains(&count) && features.len() == count * s);
        let weight = |row: usize| weights.map_or(1.0, |weights| weights[row]);
        for (row, features) in features.chunks_exact_mut(s).enumerate() {
            if weights.is_some() {
                let root = T::from_f64(weight(row).sqrt());
                for value in &mut *features {
                    *value = *value * root;
                }
            }
            self.rows.push(features);
        }
        // Rows beyond the last are the last again, times zero.
        let rows: [&[T]; AT_ONCE] = std::array::from_fn(|at| &features[at.min(count - 1) * s..][..s]);
        let root = |at: usize| if at < count { weight(at).sqrt() } else { 0.0 };
        add_scaled(self.sums.features.view_mut(), std::array::from_fn(root), rows);
        for (moments, targets) in self.sums.moments.rows_mut().into_iter().zip(targets.columns()) {
            add_scaled(moments, std::array::from_fn(|at| root(at) * targets[at.min(count - 1)]), rows);
        }
        for (row, targets) in targets.rows().into_iter().enumerate().filter(|(row, _)| weight(*row) > 0.0) {
            self.sums.targets.scaled_add(weight(row), &targets);
            self.sums.target_squares.zip_mut_with(&targets, |sum, target| *sum += weight(row) * target * target);
            self.sums.weight += weight(row);
            self.sums.sample_count += 1; // a weight of zero is no row
        }
    }

    pub(crate) fn rows(&self) -> &PackedRows<T> {
        &self.rows
    }

    pub(crate) fn sums(&self) -> &Sums {
        &self.sums
    }
}

/// sums += Σ factor·row.
fn add_scaled<T: Real>(mut sums: ArrayViewMut1<f64>, factors: [f64; AT_ONCE], rows: [&[T]; AT_ONCE]) {
    let sums = sums.as_slice_mut().expect("sums are contiguous");
    bulk_instructions().dispatch(|| {
        let [first, second, third, fourth] = rows;
        for ((((sum, a), b), c), d) in sums.iter_mut().zip(first).zip(second).zip(third).zip(fourth) {
            let early = factors[0] * a.to_f64() + factors[1] * b.to_f64();
            *sum += early + (factors[2] * c.to_f64() + factors[3] * d.to_f64());
        }
    });
}

/// Blocks that are held at once by a sum on so many threads.
pub fn blocks_at_once(threads: usize) -> usize {
    threads.max(1).next_multiple_of(BLOCKS_TOGETHER)
}

/// Blocks of one size and how they are filled.
pub struct BlockPlan<F> {
    /// Blocks.
    pub count: usize,
    /// The most rows that one has.
    pub row_capacity: usize,
    /// Fills the block of a number with its rows.
    pub fill: F,
}

impl<F> BlockPlan<F> {
    /// Adds all blocks to sums: a few are filled side by side, then the pieces of their sum are computed side by side, so
    /// that all threads work on one matrix. `done` is called with the number of finished blocks, and may stop the work.
    pub fn add_to<T: Real, S: Send, E: Send + From<OffGrid>>(
        &self,
        mut sums: GramSums,
        threads: usize,
        scratch: impl Fn() -> S,
        done: impl Fn(usize) -> Result<(), E>,
    ) -> Result<GramSums, E>
    where
        F: Fn(usize, &mut S, &mut BlockGram<T>) -> Result<(), E> + Sync,
    {
        let at_once = blocks_at_once(threads).min(self.count);
        let (feature_count, target_count) = (sums.feature_count(), sums.grid().target_count());
        let mut blocks: Vec<_> =
            (0..at_once).map(|_| BlockGram::new(self.row_capacity, feature_count, target_count)).collect();
        let mut scratches: Vec<_> = (0..at_once).map(|_| (scratch(), Ok(()))).collect();
        for first in (0..self.count).step_by(at_once.max(1)) {
            let count = at_once.min(self.count - first);
            let items = blocks.iter_mut().zip(&mut scratches).take(count).enumerate();
            in_parallel(threads, items.collect(), |(index, (block, (scratch, outcome)))| {
                block.clear();
                *outcome = (self.fill)(first + index, scratch, block);
            });
            for (_, outcome) in &mut scratches[..count] {
                std::mem::replace(outcome, Ok(()))?;
            }
            sums.add(&blocks[..count], threads)?;
            done(first + count)?;
        }
        Ok(sums)
    }
}
