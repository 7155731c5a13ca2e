//! Products with the kernel matrix, which is never held: tiles of it are made, used and forgotten.

use crate::features::{Exponential, Kernel, KernelPoints};
use crate::linalg::{add_transposed_product, in_parallel, product};
use crate::solver::{Interrupted, in_order};
use ndarray::{Array2, ArrayView2, ArrayViewMut2, Axis, s};
use std::ops::Range;

/// Rows and columns of a tile: it stays in the second cache between being made and being used.
const TILE_ROWS: usize = 128;
const TILE_COLUMNS: usize = 1024;

/// Asked between tiles; false stops the work.
pub(super) type GoOn<'a> = &'a (dyn Fn() -> bool + Sync);

/// The work was stopped from outside.
pub(super) struct Stopped;

/// K of a set of points, its tiles in one precision.
pub(super) struct KernelMatrix<T> {
    points: KernelPoints<T>,
    threads: usize,
}

impl<T: Exponential> KernelMatrix<T> {
    pub(super) fn new(kernel: Kernel, inputs: ArrayView2<f64>, threads: usize) -> Self {
        Self { points: KernelPoints::new(kernel, inputs), threads }
    }

    pub(super) fn points(&self) -> &KernelPoints<T> {
        &self.points
    }

    pub(super) fn threads(&self) -> usize {
        self.threads
    }

    /// K·V for V (n×k). Each tile below the diagonal serves twice, as it is and transposed. Sums within a
    /// tile are in the precision of the tiles, sums over tiles in f64.
    pub(super) fn product(&self, v: ArrayView2<f64>, go_on: GoOn) -> Result<Array2<f64>, Interrupted<Stopped>> {
        let (n, k) = v.dim();
        assert_eq!(n, self.points.count());
        let columns = v.t().mapv(T::from_f64); // k×n, wherever its rows lie
        let columns = columns.as_standard_layout();
        in_order(
            self.threads,
            n.div_ceil(TILE_ROWS),
            || (Array2::<f64>::zeros((n, k)), Vec::new()),
            |panel, (sums, tile)| {
                let rows = panel * TILE_ROWS..n.min((panel + 1) * TILE_ROWS);
                let mut sums = sums.slice_mut(s![..rows.end, ..]);
                sums.fill(0.0);
                let own = columns.slice(s![.., rows.clone()]).t().as_standard_layout().into_owned(); // rows×k
                for start in (0..rows.start).step_by(TILE_COLUMNS) {
                    let left = start..rows.start.min(start + TILE_COLUMNS);
                    let tile = self.tile(rows.clone(), &self.points, left.clone(), tile);
                    add_product(tile, columns.view(), left.clone(), sums.slice_mut(s![rows.clone(), ..]));
                    let mut transposed = Array2::zeros((k, left.len()));
                    add_transposed_product(tile, own.view(), transposed.view_mut());
                    add_widened(transposed.t(), sums.slice_mut(s![left, ..]));
                }
                let tile = self.tile(rows.clone(), &self.points, rows.clone(), tile);
                add_product(tile, columns.view(), rows.clone(), sums.slice_mut(s![rows.clone(), ..]));
                if go_on() { Ok(()) } else { Err(Stopped) }
            },
            Array2::zeros((n, k)),
            |panel, (sums, _), total: &mut Array2<f64>| {
                let end = n.min((panel + 1) * TILE_ROWS);
                let mut total = total.slice_mut(s![..end, ..]);
                total += &sums.slice(s![..end, ..]);
                Ok(())
            },
        )
    }

    /// K + θI, of which only the lower triangle is made.
    pub(super) fn lower_triangle(&self, shift: f64, go_on: GoOn) -> Result<Array2<T>, Interrupted<Stopped>> {
        let n = self.points.count();
        let mut matrix = Array2::<T>::zeros((n, n));
        let panels = matrix.axis_chunks_iter_mut(Axis(0), TILE_ROWS).enumerate().rev().collect();
        in_parallel(self.threads, panels, |(panel, mut values): (usize, ArrayViewMut2<T>)| {
            let rows = panel * TILE_ROWS..panel * TILE_ROWS + values.nrows();
            let mut memory = Vec::new();
            for start in (0..rows.end).step_by(TILE_COLUMNS) {
                let columns = start..rows.end.min(start + TILE_COLUMNS);
                if go_on() {
                    let tile = self.tile(rows.clone(), &self.points, columns.clone(), &mut memory);
                    values.slice_mut(s![.., columns]).assign(&tile);
                }
            }
        });
        if !go_on() {
            return Err(Interrupted::Failed(Stopped));
        }
        matrix.diag_mut().mapv_inplace(|value| T::from_f64(value.to_f64() + shift));
        Ok(matrix)
    }

    /// k(z, ·)·V for every row z of `inputs`, rows×k.
    pub(super) fn product_from(&self, kernel: Kernel, inputs: ArrayView2<f64>, v: ArrayView2<f64>) -> Array2<f64> {
        let others = KernelPoints::<T>::new(kernel, inputs);
        let columns = v.t().mapv(T::from_f64);
        let columns = columns.as_standard_layout();
        let mut values = Array2::zeros((inputs.nrows(), v.ncols()));
        let mut memory = Vec::new();
        for (panel, mut values) in values.axis_chunks_iter_mut(Axis(0), TILE_ROWS).enumerate() {
            let rows = panel * TILE_ROWS..panel * TILE_ROWS + values.nrows();
            for start in (0..self.points.count()).step_by(TILE_COLUMNS) {
                let range = start..self.points.count().min(start + TILE_COLUMNS);
                let shape = (rows.len(), range.len());
                memory.resize(shape.0 * shape.1, T::zero());
                others.fill_tile(rows.clone(), &self.points, range.clone(), &mut memory);
                let tile = ArrayView2::from_shape(shape, &memory).expect("as many values");
                add_product(tile, columns.view(), range, values.view_mut());
            }
        }
        values
    }

    /// A tile in memory that is used again.
    fn tile<'a>(
        &self,
        rows: Range<usize>,
        others: &KernelPoints<T>,
        columns: Range<usize>,
        memory: &'a mut Vec<T>,
    ) -> ArrayView2<'a, T> {
        let shape = (rows.len(), columns.len());
        memory.resize(shape.0 * shape.1, T::zero());
        self.points.fill_tile(rows, others, columns, memory);
        ArrayView2::from_shape(shape, memory.as_slice()).expect("as many values")
    }
}

/// sums += tile·V, for the columns of V (k×n) that the tile has.
fn add_product<T: Exponential>(tile: ArrayView2<T>, v: ArrayView2<T>, range: Range<usize>, sums: ArrayViewMut2<f64>) {
    let few = v.slice(s![.., range]).as_standard_layout().into_owned(); // k×columns
    let mut values = Array2::zeros((tile.nrows(), few.nrows()));
    product(tile, few.view(), values.view_mut());
    add_widened(values.view(), sums);
}

fn add_widened<T: Exponential>(values: ArrayView2<T>, mut sums: ArrayViewMut2<f64>) {
    sums.zip_mut_with(&values, |sum, value| *sum += value.to_f64());
}
