//! Products of a long matrix with one of a few columns, as classifiers of several classes need them. BLAS
//! is made for square ones: with ten columns it reached a tenth of the speed of these.

use super::Real;
use ndarray::{ArrayView2, ArrayViewMut2};
use pulp::{Arch, Simd, WithSimd};

/// Columns worked on together; with three rows, or three vectors, twelve sums fill the registers of AVX2.
const COLUMNS: usize = 4;
const ROWS: usize = 3;
const VECTORS: usize = 3;

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
        Arch::new().dispatch(TransposedProduct { long, values, sums, depth });
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
        let k = self.few.len() / self.depth;
        let tiles = self.long.chunks(ROWS * self.depth).zip(self.values.chunks_mut(ROWS * k));
        for (long, values) in tiles {
            for (tile, few) in self.few.chunks(COLUMNS * self.depth).enumerate() {
                let first = tile * COLUMNS;
                if long.len() < ROWS * self.depth {
                    for (long, values) in long.chunks_exact(self.depth).zip(values.chunks_exact_mut(k)) {
                        dot_columns::<S, T, 1>(simd, [long], few, &mut [&mut values[first..]]);
                    }
                } else {
                    let rows: [&[T]; ROWS] = std::array::from_fn(|row| &long[row * self.depth..][..self.depth]);
                    let mut outputs = values.chunks_exact_mut(k).map(|values| &mut values[first..]);
                    let mut outputs: [&mut [T]; ROWS] =
                        std::array::from_fn(|_| outputs.next().expect("as many rows of values"));
                    dot_columns::<S, T, ROWS>(simd, rows, few, &mut outputs);
                }
            }
        }
    }
}

/// Products of R rows with up to `COLUMNS` others.
#[inline(always)]
#[allow(clippy::inline_always)] // must take on the vector instructions of its caller
fn dot_columns<S: Simd, T: Real, const R: usize>(simd: S, rows: [&[T]; R], few: &[T], outputs: &mut [&mut [T]; R]) {
    match few.len() / rows[0].len() {
        1 => dot::<S, T, R, 1>(simd, rows, few, outputs),
        2 => dot::<S, T, R, 2>(simd, rows, few, outputs),
        3 => dot::<S, T, R, 3>(simd, rows, few, outputs),
        _ => dot::<S, T, R, COLUMNS>(simd, rows, few, outputs),
    }
}

#[inline(always)]
#[allow(clippy::inline_always)] // must take on the vector instructions of its caller
fn dot<S: Simd, T: Real, const R: usize, const K: usize>(
    simd: S,
    rows: [&[T]; R],
    few: &[T],
    outputs: &mut [&mut [T]; R],
) {
    let depth = rows[0].len();
    let columns: [&[T]; K] = std::array::from_fn(|column| &few[column * depth..][..depth]);
    let row_vectors = rows.map(T::vectors::<S>);
    let column_vectors = columns.map(T::vectors::<S>);
    let mut sums = [[T::splat(simd, T::zero()); K]; R];
    let vector_count = row_vectors[0].len();
    for at in 0..vector_count {
        let weights: [T::Vector<S>; K] = std::array::from_fn(|column| column_vectors[column][at]);
        for (sums, row) in sums.iter_mut().zip(&row_vectors) {
            let value = row[at];
            for (sum, weight) in sums.iter_mut().zip(weights) {
                *sum = T::multiply_add(simd, value, weight, *sum);
            }
        }
    }
    let whole = vector_count * lanes::<S, T>();
    for ((sums, row), output) in sums.iter().zip(rows).zip(outputs) {
        for ((sum, column), output) in sums.iter().zip(columns).zip(output.iter_mut()) {
            let rest = row[whole..].iter().zip(&column[whole..]).fold(T::zero(), |sum, (a, b)| sum + *a * *b);
            *output = T::sum(simd, *sum) + rest;
        }
    }
}

struct TransposedProduct<'a, T> {
    long: &'a [T],
    values: &'a [T],
    sums: &'a mut [T],
    depth: usize,
}

#[allow(clippy::inline_always)] // must take on the vector instructions of its caller
impl<T: Real> WithSimd for TransposedProduct<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let rows = self.long.len() / self.depth;
        let k = self.values.len() / rows;
        for (tile, sums) in self.sums.chunks_mut(COLUMNS * self.depth).enumerate() {
            let part = Part { long: self.long, values: self.values, first: tile * COLUMNS, k, depth: self.depth };
            match sums.len() / self.depth {
                1 => part.add::<S, 1>(simd, sums),
                2 => part.add::<S, 2>(simd, sums),
                3 => part.add::<S, 3>(simd, sums),
                _ => part.add::<S, COLUMNS>(simd, sums),
            }
        }
    }
}

/// The columns of V from `first` on.
struct Part<'a, T> {
    long: &'a [T],
    values: &'a [T],
    first: usize,
    k: usize,
    depth: usize,
}

#[allow(clippy::inline_always)] // must take on the vector instructions of its caller
impl<T: Real> Part<'_, T> {
    #[inline(always)]
    fn add<S: Simd, const K: usize>(&self, simd: S, sums: &mut [T]) {
        let vector_count = self.depth / lanes::<S, T>();
        let wide = vector_count - vector_count % VECTORS;
        for at in (0..wide).step_by(VECTORS) {
            self.add_vectors::<S, K, VECTORS>(simd, sums, at);
        }
        for at in wide..vector_count {
            self.add_vectors::<S, K, 1>(simd, sums, at);
        }
        let whole = vector_count * lanes::<S, T>();
        for (row, values) in self.long.chunks_exact(self.depth).zip(self.values.chunks_exact(self.k)) {
            for (sums, value) in sums.chunks_exact_mut(self.depth).zip(&values[self.first..]) {
                for (sum, feature) in sums[whole..].iter_mut().zip(&row[whole..]) {
                    *sum = *sum + *value * *feature;
                }
            }
        }
    }

    /// V vectors of every column, over all rows.
    #[inline(always)]
    fn add_vectors<S: Simd, const K: usize, const V: usize>(&self, simd: S, sums: &mut [T], at: usize) {
        let place = at * lanes::<S, T>();
        let mut totals = [[T::splat(simd, T::zero()); V]; K];
        for (totals, sums) in totals.iter_mut().zip(sums.chunks_exact(self.depth)) {
            totals.copy_from_slice(&T::vectors::<S>(&sums[place..])[..V]);
        }
        for (row, values) in self.long.chunks_exact(self.depth).zip(self.values.chunks_exact(self.k)) {
            let features = T::vectors::<S>(&row[place..]);
            let features: [T::Vector<S>; V] = std::array::from_fn(|vector| features[vector]);
            for (totals, value) in totals.iter_mut().zip(&values[self.first..]) {
                let value = T::splat(simd, *value);
                for (total, feature) in totals.iter_mut().zip(features) {
                    *total = T::multiply_add(simd, value, feature, *total);
                }
            }
        }
        for (totals, sums) in totals.iter().zip(sums.chunks_exact_mut(self.depth)) {
            T::vectors_mut::<S>(&mut sums[place..])[..V].copy_from_slice(totals);
        }
    }
}

/// Numbers in a vector.
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
