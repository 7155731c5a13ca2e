//! Products of a long matrix with one of few columns, for classifiers of several classes. BLAS, tuned for square
//! matrices, is slower at these shapes (`benches/skinny.rs`).

use super::Real;
use ndarray::{ArrayView2, ArrayViewMut2};
use pulp::{Arch, Simd, WithSimd};
use std::ops::Range;

/// Columns of a tile. With three rows, or three vectors, its twelve sums fill the registers of AVX2.
const COLUMNS: usize = 4;
const ROWS: usize = 3;
const VECTORS: usize = 3;

/// Numbers of each row and column that a tile multiplies before the next tile.
const DEPTH: usize = 1024;

/// `values` (rows×k) ← Ψ·Wᵀ for Ψ (rows×s) and W (k×s), all row-major.
pub fn product<T: Real>(long: ArrayView2<T>, few: ArrayView2<T>, mut values: ArrayViewMut2<T>) {
    assert!(long.ncols() == few.ncols() && values.dim() == (long.nrows(), few.nrows()));
    let depth = long.ncols();
    let (long, few) = (dense(&long), dense(&few));
    let values = values.as_slice_mut().expect("row-major");
    if depth > 0 && !values.is_empty() {
        Arch::new().dispatch(Product { long, few, values, depth });
    }
}

/// `sums` (k×s) += Vᵀ·Ψ for V (rows×k) and Ψ (rows×s), all row-major.
pub fn add_transposed_product<T: Real>(long: ArrayView2<T>, values: ArrayView2<T>, mut sums: ArrayViewMut2<T>) {
    assert!(long.nrows() == values.nrows() && sums.dim() == (values.ncols(), long.ncols()));
    let depth = long.ncols();
    let (long, values) = (dense(&long), dense(&values));
    let sums = sums.as_slice_mut().expect("row-major");
    if depth > 0 && !values.is_empty() {
        let k = values.len() / (long.len() / depth);
        Arch::new().dispatch(TransposedProduct { factors: Factors { long, values, k, depth }, sums });
    }
}

fn dense<'a, T>(matrix: &'a ArrayView2<T>) -> &'a [T] {
    matrix.as_slice().expect("row-major")
}

struct Product<'a, T> {
    long: &'a [T],
    few: &'a [T],
    values: &'a mut [T],
    depth: usize,
}

#[allow(clippy::inline_always)] // must take on the vector instructions of its caller
impl<T: Real> WithSimd for Product<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let depth = self.depth;
        let k = self.few.len() / depth;
        self.values.fill(T::zero());
        // This part of the columns stays in the first-level cache while all rows pass.
        for start in (0..depth).step_by(DEPTH) {
            let stretch = start..depth.min(start + DEPTH);
            for (tile, few) in self.few.chunks(COLUMNS * depth).enumerate() {
                for (long, values) in self.long.chunks(ROWS * depth).zip(self.values.chunks_mut(ROWS * k)) {
                    let tile = Tile { long, few, depth, stretch: stretch.clone(), first: tile * COLUMNS, k };
                    match (long.len() / depth, few.len() / depth) {
                        (ROWS, COLUMNS) => tile.add::<S, ROWS, COLUMNS>(simd, values),
                        (ROWS, 3) => tile.add::<S, ROWS, 3>(simd, values),
                        (ROWS, 2) => tile.add::<S, ROWS, 2>(simd, values),
                        (ROWS, _) => tile.add::<S, ROWS, 1>(simd, values),
                        (rows, columns) => tile.add_one_by_one(simd, rows, columns, values),
                    }
                }
            }
        }
    }
}

/// A few rows times a few columns, over a part of their depth.
struct Tile<'a, T> {
    long: &'a [T],
    few: &'a [T],
    depth: usize,
    stretch: Range<usize>,
    /// Index of the first column.
    first: usize,
    k: usize,
}

#[allow(clippy::inline_always)] // must take on the vector instructions of its caller
impl<T: Real> Tile<'_, T> {
    #[inline(always)]
    #[allow(clippy::needless_range_loop)] // constant bounds keep the sums in registers; iterators did not
    fn add<S: Simd, const R: usize, const K: usize>(&self, simd: S, values: &mut [T]) {
        let rows: [&[T]; R] = std::array::from_fn(|row| &self.long[row * self.depth..][self.stretch.clone()]);
        let columns: [&[T]; K] = std::array::from_fn(|column| &self.few[column * self.depth..][self.stretch.clone()]);
        let count = self.stretch.len() / lanes::<S, T>();
        let row_vectors: [&[T::Vector<S>]; R] = std::array::from_fn(|row| &T::vectors::<S>(rows[row])[..count]);
        let column_vectors: [&[T::Vector<S>]; K] =
            std::array::from_fn(|column| &T::vectors::<S>(columns[column])[..count]);
        let mut sums = [[T::splat(simd, T::zero()); K]; R];
        for at in 0..count {
            for row in 0..R {
                let value = row_vectors[row][at];
                for column in 0..K {
                    sums[row][column] = T::multiply_add(simd, value, column_vectors[column][at], sums[row][column]);
                }
            }
        }
        let whole = count * lanes::<S, T>();
        for row in 0..R {
            for column in 0..K {
                let pairs = rows[row][whole..].iter().zip(&columns[column][whole..]);
                let rest = pairs.fold(T::zero(), |sum, (a, b)| sum + *a * *b);
                let value = &mut values[row * self.k + self.first + column];
                *value = *value + (T::sum(simd, sums[row][column]) + rest);
            }
        }
    }

    /// The rows after the last whole tile, with the same sums in the same order.
    #[inline(always)]
    fn add_one_by_one<S: Simd>(&self, simd: S, rows: usize, columns: usize, values: &mut [T]) {
        for row in 0..rows {
            for column in 0..columns {
                let one = Tile {
                    long: &self.long[row * self.depth..],
                    few: &self.few[column * self.depth..],
                    stretch: self.stretch.clone(),
                    first: self.first + column,
                    ..*self
                };
                one.add::<S, 1, 1>(simd, &mut values[row * self.k..]);
            }
        }
    }
}

struct TransposedProduct<'a, T> {
    factors: Factors<'a, T>,
    sums: &'a mut [T],
}

#[allow(clippy::inline_always)] // must take on the vector instructions of its caller
impl<T: Real> WithSimd for TransposedProduct<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { factors, sums } = self;
        for (tile, sums) in sums.chunks_mut(COLUMNS * factors.depth).enumerate() {
            let first = tile * COLUMNS;
            match sums.len() / factors.depth {
                1 => factors.add::<S, 1>(simd, first, sums),
                2 => factors.add::<S, 2>(simd, first, sums),
                3 => factors.add::<S, 3>(simd, first, sums),
                _ => factors.add::<S, COLUMNS>(simd, first, sums),
            }
        }
    }
}

/// Ψ and V.
struct Factors<'a, T> {
    long: &'a [T],
    values: &'a [T],
    k: usize,
    depth: usize,
}

#[allow(clippy::inline_always)] // must take on the vector instructions of its caller
impl<T: Real> Factors<'_, T> {
    /// The product with K columns of V from `first` on.
    #[inline(always)]
    fn add<S: Simd, const K: usize>(&self, simd: S, first: usize, sums: &mut [T]) {
        let vector_count = self.depth / lanes::<S, T>();
        let wide = vector_count - vector_count % VECTORS;
        for at in (0..wide).step_by(VECTORS) {
            self.add_vectors::<S, K, VECTORS>(simd, first, sums, at);
        }
        for at in wide..vector_count {
            self.add_vectors::<S, K, 1>(simd, first, sums, at);
        }
        let whole = vector_count * lanes::<S, T>();
        for (row, values) in self.long.chunks_exact(self.depth).zip(self.values.chunks_exact(self.k)) {
            for (sums, value) in sums.chunks_exact_mut(self.depth).zip(&values[first..]) {
                for (sum, feature) in sums[whole..].iter_mut().zip(&row[whole..]) {
                    *sum = *sum + *value * *feature;
                }
            }
        }
    }

    /// V vectors of every column, over all rows.
    #[inline(always)]
    #[allow(clippy::needless_range_loop)] // as above
    fn add_vectors<S: Simd, const K: usize, const V: usize>(&self, simd: S, first: usize, sums: &mut [T], at: usize) {
        let place = at * lanes::<S, T>();
        let mut totals = [[T::splat(simd, T::zero()); V]; K];
        for column in 0..K {
            totals[column].copy_from_slice(&T::vectors::<S>(&sums[column * self.depth + place..])[..V]);
        }
        for (row, values) in self.long.chunks_exact(self.depth).zip(self.values.chunks_exact(self.k)) {
            let features = &T::vectors::<S>(&row[place..])[..V];
            let values = &values[first..first + K];
            for column in 0..K {
                let value = T::splat(simd, values[column]);
                for vector in 0..V {
                    totals[column][vector] = T::multiply_add(simd, value, features[vector], totals[column][vector]);
                }
            }
        }
        for column in 0..K {
            T::vectors_mut::<S>(&mut sums[column * self.depth + place..])[..V].copy_from_slice(&totals[column]);
        }
    }
}

/// The number of lanes of a vector.
fn lanes<S: Simd, T: Real>() -> usize {
    size_of::<T::Vector<S>>() / size_of::<T>()
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::Array2;

    fn noise<T: Real>(rows: usize, columns: usize, factor: f64) -> Array2<T> {
        Array2::from_shape_fn((rows, columns), |(i, j)| T::from_f64(((i * columns + j) as f64 * factor).sin()))
    }

    fn check<T: Real>(tolerance: f64) {
        for (rows, depth, k) in [(1, 1, 2), (7, 5, 3), (64, 257, 10), (13, 64, 4), (3, 100, 1), (0, 8, 2), (5, 48, 9)] {
            let long: Array2<T> = noise(rows, depth, 0.37);
            let few: Array2<T> = noise(k, depth, 0.73);
            let mut values = Array2::zeros((rows, k));
            product(long.view(), few.view(), values.view_mut());
            let wide = |matrix: &Array2<T>| matrix.mapv(T::to_f64);
            let expected = wide(&long).dot(&wide(&few).t());
            assert!((&wide(&values) - &expected).iter().all(|gap| gap.abs() < tolerance), "{rows} {depth} {k}");

            let start: Array2<T> = noise(k, depth, 0.11);
            let mut sums = start.clone();
            add_transposed_product(long.view(), values.view(), sums.view_mut());
            let expected = wide(&start) + wide(&values).t().dot(&wide(&long));
            let scale = 1.0 + depth as f64;
            assert!((&wide(&sums) - &expected).iter().all(|gap| gap.abs() < tolerance * scale), "{rows} {depth} {k}");
        }
    }

    #[test]
    fn products_of_any_shape_are_those_of_ndarray() {
        check::<f64>(1e-11);
        check::<f32>(2e-4);
    }
}
