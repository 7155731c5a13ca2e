//! Σ ψψᵀ over blocks of rows, where training spends most of its time.
//!
//! Rows are packed into panels of columns, the order in which a tile of the sum reads them; a tile stays in registers for
//! all rows of a block. `?syrk` does the same multiplications (`benches/parts.rs` compares the two). This goes straight
//! from a row in the first-level cache to the sum, without a block of products in between.
//!
//! The sum counts multiples of a unit in integers: its bits depend neither on the number of threads nor on the order of the
//! blocks, as long as the same blocks are summed together.

use super::{Aligned, Real, bulk_instructions, in_parallel};
use crate::sums::{GridInt, power_of_two};
use ndarray::{Array2, ArrayViewMut2, Axis, s};
use pulp::{Arch, Simd, WithSimd};
use std::sync::atomic::{AtomicBool, Ordering};

/// Columns of a panel: a multiple of three vectors, for vectors of 1 to 16 numbers.
const PANEL: usize = 48;

/// Vectors in a row of a tile: four rows fill the 16 registers of AVX2, eight rows the 32 of AVX-512.
const VECTORS: usize = 3;

/// Rows summed in registers before they are added to the tile: sums of sums have far less rounding error than one long
/// sum, and this much of two panels fits the first-level cache.
const DEPTH: usize = 128;

/// Blocks summed in the precision of their rows before the sum is rounded to multiples of the unit. A constant, so that
/// the bits do not depend on the number of threads.
pub const BLOCKS_TOGETHER: usize = 4;

/// A block of rows in panels of columns; the last panel is padded with zeros.
pub struct PackedRows<T> {
    /// Panel by panel, row by row.
    cells: Aligned<T>,
    column_count: usize,
    row_count: usize,
    row_capacity: usize,
}

impl<T: Real> PackedRows<T> {
    /// An empty block with room for `row_capacity` rows.
    pub fn new(row_capacity: usize, column_count: usize) -> Self {
        let cells = Aligned::zeros(column_count.div_ceil(PANEL) * row_capacity * PANEL);
        Self { cells, column_count, row_count: 0, row_capacity }
    }

    /// Removes all rows and keeps the memory.
    pub fn clear(&mut self) {
        self.row_count = 0;
    }

    /// Appends a row; the block must have room.
    pub fn push(&mut self, row: &[T]) {
        assert!(row.len() == self.column_count && self.row_count < self.row_capacity);
        let panels = self.cells.chunks_exact_mut(self.row_capacity * PANEL);
        for (panel, values) in panels.zip(row.chunks(PANEL)) {
            panel[self.row_count * PANEL..][..values.len()].copy_from_slice(values);
        }
        self.row_count += 1;
    }

    fn panel(&self, index: usize) -> &[T] {
        &self.cells[index * self.row_capacity * PANEL..][..self.row_count * PANEL]
    }
}

/// Adds Σ ψψᵀ over the rows of all blocks to the lower triangle of `sums` (s×s), which counts multiples of 1/`scale`. Every
/// [`BLOCKS_TOGETHER`] blocks are rounded to such a multiple once. False where a sum is beyond the limit of its integers
/// or not a number; the sums are then of no use.
#[must_use]
pub fn add_outer_products<T: Real, I: GridInt>(
    blocks: &[&PackedRows<T>],
    sums: &mut Array2<I>,
    scale: f64,
    threads: usize,
) -> bool {
    add_with(bulk_instructions(), blocks, sums, scale, threads)
}

/// The same with the instructions given, which do not show in the bits.
fn add_with<T: Real, I: GridInt>(
    arch: Arch,
    blocks: &[&PackedRows<T>],
    sums: &mut Array2<I>,
    scale: f64,
    threads: usize,
) -> bool {
    assert!(blocks.iter().all(|block| sums.dim() == (block.column_count, block.column_count)));
    let fits = AtomicBool::new(true);
    let strips = sums.axis_chunks_iter_mut(Axis(0), PANEL).enumerate();
    // The longest strips first, so that threads finish at about the same time.
    in_parallel(threads, strips.rev().collect(), |(index, sums)| {
        if !arch.dispatch(Strip { blocks, index, scale, sums }) {
            fits.store(false, Ordering::Relaxed);
        }
    });
    fits.into_inner()
}

/// The rows of the sum that belong to one panel, up to the diagonal.
struct Strip<'a, 'b, T, I> {
    blocks: &'a [&'a PackedRows<T>],
    index: usize,
    scale: f64,
    sums: ArrayViewMut2<'b, I>,
}

#[allow(clippy::inline_always)] // must take on the vector instructions of its caller
impl<T: Real, I: GridInt> WithSimd for Strip<'_, '_, T, I> {
    /// Whether all sums are within the limit.
    type Output = bool;

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, simd: S) -> bool {
        let mut fits = true;
        for column in 0..=self.index {
            for blocks in self.blocks.chunks(BLOCKS_TOGETHER) {
                let mut tile = [[T::zero(); PANEL]; PANEL];
                let panels = blocks.iter().flat_map(|block| {
                    let (rows, columns) = (block.panel(self.index), block.panel(column));
                    rows.chunks(DEPTH * PANEL).zip(columns.chunks(DEPTH * PANEL))
                });
                for (rows, columns) in panels {
                    if size_of::<S::f32s>() == 64 {
                        add_product::<T, S, 8>(simd, rows, columns, &mut tile);
                    } else {
                        add_product::<T, S, 4>(simd, rows, columns, &mut tile);
                    }
                }
                let (first, end) = (column * PANEL, self.sums.ncols().min((column + 1) * PANEL));
                for (mut sums, tile) in self.sums.slice_mut(s![.., first..end]).rows_mut().into_iter().zip(&tile) {
                    let sums = sums.as_slice_mut().expect("a row is contiguous");
                    for (sum, value) in sums.iter_mut().zip(tile) {
                        *sum = sum.plus(I::rounded(value.to_f64() * self.scale));
                    }
                }
                if column == self.index {
                    fits &= self.diagonal_fits(&tile);
                }
            }
        }
        fits
    }
}

impl<T: Real, I: GridInt> Strip<'_, '_, T, I> {
    /// Whether the diagonal is within the limit after `tile` was added. No other entry is larger than the largest of it,
    /// and a feature that is not a number shows there too.
    fn diagonal_fits(&self, tile: &[[T; PANEL]; PANEL]) -> bool {
        let limit = power_of_two(I::LIMIT);
        let sums = self.sums.rows().into_iter().enumerate().map(|(row, sums)| sums[self.index * PANEL + row]);
        let added = tile.iter().enumerate().map(|(row, tile)| tile[row].to_f64() * self.scale);
        sums.zip(added).all(|(sum, added)| added <= limit && sum.fits())
    }
}

/// tile += AᵀB for two panels A and B, R rows of the tile at a time.
#[inline(always)]
#[allow(clippy::inline_always)] // must take on the vector instructions of its caller
#[allow(clippy::needless_range_loop)] // constant bounds keep the sums in registers
fn add_product<T: Real, S: Simd, const R: usize>(simd: S, a: &[T], b: &[T], tile: &mut [[T; PANEL]; PANEL]) {
    let width = VECTORS * size_of::<T::Vector<S>>() / size_of::<T>();
    for first in (0..PANEL).step_by(R) {
        for place in (0..PANEL).step_by(width) {
            let mut sums = [[T::splat(simd, T::zero()); VECTORS]; R];
            for (a, b) in a.chunks_exact(PANEL).zip(b.chunks_exact(PANEL)) {
                let a = &a[first..first + R];
                let b = &T::vectors::<S>(&b[place..place + width])[..VECTORS];
                for row in 0..R {
                    let value = T::splat(simd, a[row]);
                    for vector in 0..VECTORS {
                        sums[row][vector] = T::multiply_add(simd, value, b[vector], sums[row][vector]);
                    }
                }
            }
            for row in 0..R {
                let tile = &mut T::vectors_mut::<S>(&mut tile[first + row][place..place + width])[..VECTORS];
                for vector in 0..VECTORS {
                    tile[vector] = T::sum_of(simd, tile[vector], sums[row][vector]);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::InstructionSet;

    fn noise(rows: usize, columns: usize, seed: usize) -> Array2<f64> {
        Array2::from_shape_fn((rows, columns), |(i, j)| (((i + seed) * columns + j) as f64 * 0.37).sin())
    }

    fn packed<T: Real>(rows: &Array2<f64>) -> PackedRows<T> {
        let mut packed = PackedRows::new(rows.nrows() + 3, rows.ncols());
        for pass in 0..2 {
            packed.clear(); // the second pass overwrites the first
            for row in rows.rows() {
                packed.push(&row.iter().map(|value| T::from_f64(value + f64::from(1 - pass))).collect::<Vec<_>>());
            }
        }
        packed
    }

    /// 1 + Σ ψψᵀ, which is below 2^10, in both integers.
    fn sums<T: Real>(blocks: &[Array2<f64>], threads: usize) -> Array2<f64> {
        let blocks: Vec<_> = blocks.iter().map(packed::<T>).collect();
        let order = blocks[0].column_count;
        let in_integers = |narrow: bool| {
            if narrow { of::<T, i64>(&blocks, order, threads) } else { of::<T, i128>(&blocks, order, threads) }
        };
        assert_eq!(in_integers(true), in_integers(false));
        in_integers(true)
    }

    fn of<T: Real, I: GridInt>(blocks: &[PackedRows<T>], order: usize, threads: usize) -> Array2<f64> {
        let scale = power_of_two(52);
        let before = Array2::from_elem((order, order), I::rounded(scale));
        let (blocks, mut sums) = (blocks.iter().collect::<Vec<_>>(), before.clone());
        assert!(add_outer_products(&blocks, &mut sums, scale, threads));
        for set in InstructionSet::ALL.into_iter().filter_map(InstructionSet::arch) {
            let mut again = before.clone();
            assert!(add_with(set, &blocks, &mut again, scale, threads));
            assert!(again == sums, "the instructions show in the bits");
        }
        sums.mapv(|sum| sum.to_f64() / scale)
    }

    /// Rows and columns that come out even and that do not, more blocks than are summed together.
    #[test]
    fn it_is_the_product_at_any_shape_on_any_number_of_threads() {
        for (row_counts, columns) in [(&[1][..], 1), (&[7, 0, 5], 47), (&[64, 3, 1, 9, 20, 8], 48), (&[33, 40], 150)] {
            let blocks: Vec<_> = row_counts.iter().enumerate().map(|(b, rows)| noise(*rows, columns, 97 * b)).collect();
            let expected =
                blocks.iter().fold(Array2::<f64>::ones((columns, columns)), |sum, block| sum + block.t().dot(block));
            let (double, single) = (sums::<f64>(&blocks, 1), sums::<f32>(&blocks, 1));
            assert_eq!((&double, &single), (&sums::<f64>(&blocks, 3), &sums::<f32>(&blocks, 3)));
            for (i, j) in (0..columns).flat_map(|i| (0..=i).map(move |j| (i, j))) {
                assert!((double[[i, j]] - expected[[i, j]]).abs() < 1e-12);
                assert!((single[[i, j]] - expected[[i, j]]).abs() < 1e-4);
            }
        }
    }

    #[test]
    fn sums_that_exceed_their_integers_or_are_no_numbers_are_refused() {
        let add = |value: f64, scale: f64| {
            let mut rows = noise(9, 50, 0);
            rows[[8, 49]] = value;
            let mut sums = Array2::<i64>::zeros((50, 50));
            add_outer_products(&[&packed::<f64>(&rows)], &mut sums, scale, 2)
        };
        assert!(add(1.0, power_of_two(58)));
        assert!(!add(1.0, power_of_two(62)) && !add(1e9, power_of_two(40)) && !add(f64::INFINITY, 1.0));
        assert!(!add(f64::NAN, 1.0));
    }
}
