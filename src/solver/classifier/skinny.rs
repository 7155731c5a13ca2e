//! Products of features with a few columns. BLAS packs the large factor for a kernel that is wider
//! than our columns and ends up several times slower than memory; these loops read it once.
#![allow(clippy::inline_always)] // what is not inlined loses the vector instructions chosen for its caller

use crate::linalg::Real;
use ndarray::linalg::{general_mat_mul, general_mat_vec_mul};
use ndarray::{ArrayView2, ArrayViewMut2, s};

/// From here on `gemm` is the faster one.
const WIDE: usize = 48;

/// Numbers added side by side, so that the compiler can use vector instructions.
const LANES: usize = 8;

/// Rows taken together going back, and the columns of them that stay in the nearest cache.
const BACK_ROWS: usize = 8;
const BACK_COLUMNS: usize = 512;

/// `values` (rows×k) ← Ψ·Wᵀ for Ψ (rows×s) and W (k×s).
pub(super) fn forward<T: Real>(features: ArrayView2<T>, weights: ArrayView2<T>, mut values: ArrayViewMut2<T>) {
    let k = weights.nrows();
    if k == 1 {
        general_mat_vec_mul(T::one(), &features, &weights.row(0), T::zero(), &mut values.column_mut(0));
    } else if k >= WIDE {
        general_mat_mul(T::one(), &features, &weights.t(), T::zero(), &mut values);
    } else {
        pulp::Arch::new().dispatch(|| {
            for first in (0..features.nrows()).step_by(4) {
                for column in (0..k).step_by(3) {
                    match (features.nrows() - first, k - column) {
                        (4.., 3..) => dots::<T, 4, 3>(features, weights, first, column, &mut values),
                        (4.., _) => {
                            for column in column..k {
                                dots::<T, 4, 1>(features, weights, first, column, &mut values);
                            }
                        }
                        (rows, columns) => {
                            for row in first..first + rows {
                                for column in column..column + columns.min(3) {
                                    dots::<T, 1, 1>(features, weights, row, column, &mut values);
                                }
                            }
                        }
                    }
                }
            }
        });
    }
}

/// The inner products of R rows with J columns, in registers.
#[inline(always)]
fn dots<T: Real, const R: usize, const J: usize>(
    features: ArrayView2<T>,
    weights: ArrayView2<T>,
    row: usize,
    column: usize,
    values: &mut ArrayViewMut2<T>,
) {
    let rows: [&[T]; R] = std::array::from_fn(|r| slice(features, row + r));
    let columns: [&[T]; J] = std::array::from_fn(|j| slice(weights, column + j));
    let rows: [&[[T; LANES]]; R] = rows.map(|row| row.as_chunks().0);
    let columns: [&[[T; LANES]]; J] = columns.map(|column| column.as_chunks().0);
    let mut sums = [[[T::zero(); LANES]; J]; R];
    for chunk in 0..columns[0].len() {
        for r in 0..R {
            for j in 0..J {
                for lane in 0..LANES {
                    sums[r][j][lane] = sums[r][j][lane] + rows[r][chunk][lane] * columns[j][chunk][lane];
                }
            }
        }
    }
    let rest = columns[0].len() * LANES;
    for r in 0..R {
        for j in 0..J {
            let tail = slice(features, row + r)[rest..].iter().zip(&slice(weights, column + j)[rest..]);
            let tail = tail.fold(T::zero(), |sum, (&a, &b)| sum + a * b);
            values[[row + r, column + j]] = sums[r][j].into_iter().fold(tail, |sum, lane| sum + lane);
        }
    }
}

/// `sums` (k×s) += Vᵀ·Ψ for V (rows×k) and Ψ (rows×s).
pub(super) fn back<T: Real>(features: ArrayView2<T>, values: ArrayView2<T>, mut sums: ArrayViewMut2<T>) {
    let k = values.ncols();
    if k == 1 {
        general_mat_vec_mul(T::one(), &features.t(), &values.column(0), T::one(), &mut sums.row_mut(0));
    } else if k >= WIDE {
        general_mat_mul(T::one(), &values.t(), &features, T::one(), &mut sums);
    } else {
        let whole = features.nrows() / BACK_ROWS * BACK_ROWS;
        pulp::Arch::new().dispatch(|| {
            for first in (0..whole).step_by(BACK_ROWS) {
                add_rows::<T, BACK_ROWS>(features, values, first, &mut sums);
            }
            for row in whole..features.nrows() {
                add_rows::<T, 1>(features, values, row, &mut sums);
            }
        });
    }
}

/// Adds R rows to every column's sum.
#[inline(always)]
fn add_rows<T: Real, const R: usize>(
    features: ArrayView2<T>,
    values: ArrayView2<T>,
    first: usize,
    sums: &mut ArrayViewMut2<T>,
) {
    let s = features.ncols();
    for start in (0..s).step_by(BACK_COLUMNS) {
        let panel = start..(start + BACK_COLUMNS).min(s);
        let rows: [&[T]; R] = std::array::from_fn(|r| &slice(features, first + r)[panel.clone()]);
        for j in 0..values.ncols() {
            let factors: [T; R] = std::array::from_fn(|r| values[[first + r, j]]);
            let mut sums = sums.slice_mut(s![j, panel.clone()]);
            let sums = sums.as_slice_mut().expect("a row is contiguous");
            for (i, sum) in sums.iter_mut().enumerate() {
                let mut total = *sum;
                for r in 0..R {
                    total = total + factors[r] * rows[r][i];
                }
                *sum = total;
            }
        }
    }
}

#[inline(always)]
fn slice<T>(matrix: ArrayView2<'_, T>, row: usize) -> &[T] {
    matrix.index_axis_move(ndarray::Axis(0), row).to_slice().expect("a row is contiguous")
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::Array2;

    #[test]
    fn both_products_are_those_of_the_definition() {
        for (rows, s, k) in [(1, 3, 2), (4, 16, 3), (13, 29, 10), (64, 1030, 7), (5, 9, 1), (9, 20, 50)] {
            let features = Array2::from_shape_fn((rows, s), |(i, j)| ((i * 31 + j * 17) as f64).sin());
            let weights = Array2::from_shape_fn((k, s), |(i, j)| ((i * 7 + j * 3) as f64).cos());
            let mut values = Array2::from_elem((rows, k), f64::NAN);
            forward(features.view(), weights.view(), values.view_mut());
            for ((i, j), value) in values.indexed_iter() {
                assert!((value - features.row(i).dot(&weights.row(j))).abs() < 1e-12);
            }
            let mut sums = Array2::ones((k, s));
            back(features.view(), values.view(), sums.view_mut());
            for ((j, i), sum) in sums.indexed_iter() {
                assert!((sum - 1.0 - values.column(j).dot(&features.column(i))).abs() < 1e-9);
            }
        }
    }
}
