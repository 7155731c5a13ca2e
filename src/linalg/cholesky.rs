//! Cholesky factorisation in tiles on several threads. LAPACK factors the diagonal tiles, through ndarray-linalg. Of a
//! whole matrix LAPACK is parallel only through BLAS threads, whose number may change the bits of L; tiles change none.

use super::{FactorError, Real, Triangle, checkpoint, in_parallel};
use ndarray::linalg::general_mat_mul;
use ndarray::{Array1, Array2, ArrayView2, ArrayViewMut2, Axis, s};
use ndarray_linalg::{FactorizeCInto, Lapack, UPLO};
use std::sync::{Mutex, PoisonError};

/// Rows and columns of a tile.
const TILE: usize = 256;

/// Rows that a triangular system is solved for at once.
const STRIP: usize = 1_024;

/// What it means when LAPACK refuses a diagonal tile.
const NOT_DEFINITE: &str = "the matrix is not positive definite to rounding";

/// Overwrites the lower triangle of `matrix`, the only one read, with L.
pub fn lower_factor<T: Real>(matrix: Array2<T>, threads: usize) -> Result<Array2<T>, FactorError> {
    let factor = lower_factor_while(matrix, threads, |_| true)?;
    Ok(factor.expect("it was not asked to stop"))
}

/// The same, but `go_on` is asked after each column of tiles, with the share of the work that is done, and ends the work
/// with none. Right-looking: each column of tiles is divided by its diagonal tile, then its product is subtracted from
/// everything to its right.
pub fn lower_factor_while<T: Real>(
    mut matrix: Array2<T>,
    threads: usize,
    go_on: impl Fn(f64) -> bool,
) -> Result<Option<Array2<T>>, FactorError> {
    let order = matrix.nrows();
    assert!(matrix.is_standard_layout() && matrix.ncols() == order);
    for start in (0..order).step_by(TILE) {
        let end = order.min(start + TILE);
        let diagonal = T::factor_tile(dense(matrix.slice(s![start..end, start..end])))?;
        matrix.slice_mut(s![start..end, start..end]).assign(&diagonal);

        let mut panel = matrix.slice(s![end.., start..end]).to_owned();
        in_parallel(threads, tiles(panel.view_mut()), |rows| {
            T::solve_triangle(Triangle::TransposedFromTheRight, diagonal.view(), rows);
        });
        matrix.slice_mut(s![end.., start..end]).assign(&panel);

        let trailing = tiles(matrix.slice_mut(s![end.., end..])).into_iter().enumerate().rev().collect();
        in_parallel(threads, trailing, |(index, mut rows): (usize, ArrayViewMut2<T>)| {
            let (above, below) = (index * TILE, index * TILE + rows.nrows());
            let mut lower = rows.slice_mut(s![.., ..below]);
            let (own, left) = (panel.slice(s![above..below, ..]), panel.slice(s![..below, ..]));
            general_mat_mul(T::from_f64(-1.0), &own, &left.t(), T::one(), &mut lower);
        });
        let left = (order - end) as f64 / order as f64;
        if !go_on(1.0 - left.powi(3)) {
            return Ok(None);
        }
    }
    Ok(Some(matrix))
}

/// A copy with the strides of a dense matrix, which ndarray-linalg requires even of a single element.
fn dense<T: Copy>(tile: ArrayView2<T>) -> Array2<T> {
    Array2::from_shape_vec(tile.dim(), tile.iter().copied().collect()).expect("as many elements")
}

fn tiles<T>(matrix: ArrayViewMut2<T>) -> Vec<ArrayViewMut2<T>> {
    let mut rest = matrix;
    let mut tiles = Vec::with_capacity(rest.nrows().div_ceil(TILE));
    while rest.nrows() > TILE {
        let (tile, below) = rest.split_at(Axis(0), TILE);
        tiles.push(tile);
        rest = below;
    }
    if rest.nrows() > 0 {
        tiles.push(rest);
    }
    tiles
}

/// L of a small matrix; what is above its diagonal is unspecified.
pub(super) fn factor_tile<T: Lapack>(tile: Array2<T>) -> Result<Array2<T>, FactorError> {
    // A row-major lower triangle is a column-major upper one: LAPACK works in place on it.
    let factor = tile.reversed_axes().factorizec_into(UPLO::Upper);
    let factor = factor.map_err(|_| FactorError::new("the Cholesky factorisation", NOT_DEFINITE))?;
    Ok(factor.factor.reversed_axes())
}

/// Overwrites `columns` (order×k) with X, where L·Lᵀ·X = `columns`.
pub fn solve_factored<T: Real>(lower: &Array2<T>, columns: &mut Array2<T>) {
    T::solve_triangle(Triangle::Lower, lower.view(), columns.view_mut());
    checkpoint();
    T::solve_triangle(Triangle::Transposed, lower.view(), columns.view_mut());
}

/// A = L·Lᵀ of a symmetric positive definite matrix, ready to solve with.
pub struct Cholesky {
    lower: Array2<f64>,
}

impl Cholesky {
    /// Factors `matrix`, of which only the lower triangle is read.
    pub fn factor(matrix: Array2<f64>, threads: usize) -> Result<Self, FactorError> {
        Ok(Self { lower: lower_factor(matrix, threads)? })
    }

    /// The same, asking now and then whether to go on, with the share of the work that is done; none if not.
    pub fn factor_while(
        matrix: Array2<f64>,
        threads: usize,
        go_on: impl Fn(f64) -> bool,
    ) -> Result<Option<Self>, FactorError> {
        Ok(lower_factor_while(matrix, threads, go_on)?.map(|lower| Self { lower }))
    }

    /// L, the lower triangle row by row.
    pub fn lower_rows(&self) -> Vec<f64> {
        let rows = self.lower.rows().into_iter().enumerate();
        rows.flat_map(|(i, row)| row.to_slice().expect("a row is contiguous")[..=i].iter().copied()).collect()
    }

    /// tr A⁻¹.
    pub fn inverse_trace(&self) -> f64 {
        self.inverse_trace_while(1, |_| true).expect("it was not asked to stop")
    }

    /// The same, asking now and then whether to go on, with the share of the work that is done; none if not. It is
    /// ‖L⁻¹‖², summed over groups of columns: they are zero above their first row.
    pub fn inverse_trace_while(&self, threads: usize, go_on: impl Fn(f64) -> bool + Sync) -> Option<f64> {
        let square = |columns: ArrayView2<f64>| columns.iter().map(|value| value * value).sum::<f64>();
        Some(self.inverse_norms_while(threads, go_on, square)?.into_iter().sum())
    }

    /// The diagonal of A⁻¹, asking now and then whether to go on, with the share of the work that is done; none if not.
    pub fn inverse_diagonal_while(&self, threads: usize, go_on: impl Fn(f64) -> bool + Sync) -> Option<Array1<f64>> {
        let squares = |columns: ArrayView2<f64>| {
            let mut sums = Array1::<f64>::zeros(columns.ncols());
            for row in columns.rows() {
                sums.zip_mut_with(&row, |sum, value| *sum += value * value);
            }
            sums
        };
        let groups: Vec<Array1<f64>> = self.inverse_norms_while(threads, go_on, squares)?;
        Some(groups.iter().flatten().copied().collect())
    }

    /// What `measure` says of each group of columns of L⁻¹, without the zeros above its first row.
    fn inverse_norms_while<V: Clone + Send>(
        &self,
        threads: usize,
        go_on: impl Fn(f64) -> bool + Sync,
        measure: impl Fn(ArrayView2<f64>) -> V + Sync,
    ) -> Option<Vec<V>> {
        let order = self.lower.nrows();
        let mut sums = vec![None; order.div_ceil(TILE)];
        let work = |group: usize| ((order - group * TILE) as f64).powi(2);
        let whole: f64 = (0..sums.len()).map(work).sum();
        let done = Mutex::new(0.0);
        in_parallel(threads, sums.iter_mut().enumerate().collect(), |(group, sum): (usize, &mut Option<V>)| {
            let so_far = *done.lock().unwrap_or_else(PoisonError::into_inner);
            if !go_on(so_far / whole) {
                return;
            }
            let first = group * TILE;
            let mut columns = Array2::<f64>::zeros((order - first, TILE.min(order - first)));
            columns.diag_mut().fill(1.0);
            forward_substitution(self.lower.slice(s![first.., first..]), columns.view_mut());
            *sum = Some(measure(columns.view()));
            *done.lock().unwrap_or_else(PoisonError::into_inner) += work(group);
        });
        sums.into_iter().collect()
    }

    /// Solves A·x = b.
    pub fn solve(&self, b: &Array1<f64>) -> Array1<f64> {
        self.solve_columns(b.view().insert_axis(Axis(1)).to_owned()).remove_axis(Axis(1))
    }

    /// Solves A·X = B.
    pub fn solve_columns(&self, b: Array2<f64>) -> Array2<f64> {
        let mut b = if b.is_standard_layout() { b } else { b.as_standard_layout().into_owned() };
        solve_factored(&self.lower, &mut b);
        b
    }
}

/// Overwrites `columns` with L⁻¹·`columns`, in strips of rows: a system of 20,000 rows takes seconds as a whole.
fn forward_substitution(lower: ArrayView2<f64>, mut columns: ArrayViewMut2<f64>) {
    for start in (0..lower.nrows()).step_by(STRIP) {
        checkpoint();
        let end = lower.nrows().min(start + STRIP);
        let (above, mut below) = columns.view_mut().split_at(Axis(0), start);
        let mut strip = below.slice_mut(s![..end - start, ..]);
        general_mat_mul(-1.0, &lower.slice(s![start..end, ..start]), &above, 1.0, &mut strip);
        f64::solve_triangle(Triangle::Lower, lower.slice(s![start..end, start..end]), strip);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::mirror_lower;
    use ndarray::array;

    #[test]
    fn only_the_lower_triangle_is_read() {
        let matrix = array![[4.0, f64::NAN, f64::NAN], [2.0, 5.0, f64::NAN], [1.0, -1.0, 3.0]];
        let mut full = matrix.clone();
        mirror_lower(&mut full);
        let b = array![1.0, -2.0, 0.5];
        let x = Cholesky::factor(matrix, 1).unwrap().solve(&b);
        assert!((&full.dot(&x) - &b).iter().all(|difference| difference.abs() < 1e-14));
    }

    /// Several tiles, the last of them partial: L·Lᵀ is the matrix, and threads change no bit.
    #[test]
    fn tiles_give_the_factor_on_any_number_of_threads() {
        for order in [1, 255, 256, 257, 700] {
            let noise = Array2::from_shape_fn((order, order), |(i, j)| ((i * 31 + j * 17) as f64 * 0.7).sin());
            let full = noise.t().dot(&noise) / order as f64 + Array2::<f64>::eye(order);
            let mut lower = lower_factor(full.clone(), 1).unwrap();
            let on_three = lower_factor(full.clone(), 3).unwrap();
            for (i, j) in (0..order).flat_map(|i| (0..order).map(move |j| (i, j))) {
                assert!(j > i || lower[[i, j]] == on_three[[i, j]]);
                lower[[i, j]] *= f64::from(u8::from(j <= i));
            }
            assert!((&lower.dot(&lower.t()) - &full).iter().all(|gap| gap.abs() < 1e-12), "{order}");
        }
    }

    /// Several groups of columns, the last of them partial, against the inverse; and nothing where it was stopped.
    #[test]
    fn the_trace_of_the_inverse_is_summed_over_groups() {
        for order in [1, 256, 300, 700, STRIP + 300] {
            let noise = Array2::from_shape_fn((order, order), |(i, j)| ((i * 31 + j * 17) as f64 * 0.7).sin());
            let factor = Cholesky::factor(noise.t().dot(&noise) / order as f64 + Array2::<f64>::eye(order), 2).unwrap();
            let expected = factor.solve_columns(Array2::eye(order)).diag().sum();
            let found = factor.inverse_trace_while(2, |done| (0.0..=1.0).contains(&done)).unwrap();
            assert!((found / expected - 1.0).abs() < 1e-12, "{order}: {found} {expected}");
            assert_eq!(found.to_bits(), factor.inverse_trace().to_bits(), "threads change no bit");
            assert_eq!(factor.inverse_trace_while(2, |_| false), None);
        }
    }

    #[test]
    fn a_factorisation_stops_between_columns_of_tiles() {
        let asked = std::cell::Cell::new(0);
        let go_on = |_: f64| asked.replace(asked.get() + 1) == 0;
        let stopped = Cholesky::factor_while(Array2::eye(1_000), 1, go_on).unwrap();
        assert!(stopped.is_none() && asked.get() == 2, "{}", asked.get());
    }

    #[test]
    fn all_columns_are_solved_at_once() {
        let full = array![[4.0, 2.0, 1.0], [2.0, 5.0, -1.0], [1.0, -1.0, 3.0]];
        let b = array![[1.0, 0.0], [-2.0, 3.0], [0.5, 7.0]];
        let x = Cholesky::factor(full.clone(), 2).unwrap().solve_columns(b.clone());
        assert!((&full.dot(&x) - &b).iter().all(|difference| difference.abs() < 1e-14));
        let (full, mut single) = (full.mapv(|value| value as f32), b.mapv(|value| value as f32));
        solve_factored(&lower_factor(full, 2).unwrap(), &mut single);
        assert!((&single.mapv(f64::from) - &x).iter().all(|difference| difference.abs() < 1e-5));
    }

    #[test]
    fn the_factor_and_the_trace_of_the_inverse_by_hand() {
        // [[4, 2], [2, 5]] = L·Lᵀ with L = [[2, 0], [1, 2]]; its inverse is [[5, −2], [−2, 4]]/16.
        let factor = Cholesky::factor(array![[4.0, 0.0], [2.0, 5.0]], 1).unwrap();
        assert_eq!(factor.lower_rows(), [2.0, 1.0, 2.0]);
        assert!((factor.inverse_trace() - 9.0 / 16.0).abs() < 1e-15);
        assert!(Cholesky::factor(array![[1.0, 0.0], [2.0, 1.0]], 1).is_err(), "an indefinite matrix");
    }
}
